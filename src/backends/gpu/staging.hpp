// Asynchronous copies from, to and within host memory, in stream order.
#pragma once
#include "backends/gpu/native.hpp"

namespace entrepot::backends::gpu {

// Copies between pageable memory and the device in parts, through pinned memory. Host callbacks in
// the stream copy between pageable and pinned memory. At least one side is host memory.
//
// Lifetime: the host memory must stay valid until the copy is done.
void copy_in_order(Queue &queue, void *to, const PointerAttributes &of_to, const void *from,
                   const PointerAttributes &of_from, std::size_t bytes);

}  // namespace entrepot::backends::gpu
