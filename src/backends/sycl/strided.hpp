// Strided copies and fills. A planned box (../walk.hpp) is walked by a kernel.
#pragma once
#include "../walk.hpp"
#include "native.hpp"

namespace entrepot::backends::sycl {

// Submit a walk that is not contiguous.
void submit_copy(ep_queue queue, ::sycl::queue &native, const Walk &walk);
void submit_fill(ep_queue queue, ::sycl::queue &native, const Walk &walk, const Fill::Value &value);

}  // namespace entrepot::backends::sycl
