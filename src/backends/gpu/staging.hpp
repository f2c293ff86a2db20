// Copies from, to and within host memory that take their turn in a busy queue without holding the caller up.
#pragma once
#include "backends/gpu/native.hpp"

namespace entrepot::backends::ENTREPOT_GPU {

// Between ordinary (pageable) memory and the device a part at a time through pinned memory; the processor's share is done by a
// thread of the driver, in the stream's order. One side at least is the host's. The caller keeps that side until it is done.
void copy_in_turn(Queue &queue, void *to, const PointerAttributes &of_to, const void *from, const PointerAttributes &of_from,
                  std::size_t bytes);

}  // namespace entrepot::backends::ENTREPOT_GPU
