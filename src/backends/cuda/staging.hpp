// Copies from and to ordinary (pageable) host memory that take their turn in a busy queue without holding the caller up.
#pragma once
#include "backends/cuda/native.hpp"

namespace entrepot::backends::cuda {

// A part at a time through pinned memory; the processor's share is done by a thread of the driver, in the stream's order. One
// side at least is pageable. The caller keeps that side until the copy is done.
void copy_in_turn(Queue &queue, void *to, bool to_is_pageable, const void *from, bool from_is_pageable, std::size_t bytes);

}  // namespace entrepot::backends::cuda
