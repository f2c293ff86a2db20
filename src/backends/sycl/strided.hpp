// Strided copies and fills. A planned box (../loop_nest.hpp) is copied or filled by a kernel.
#pragma once
#include "../loop_nest.hpp"
#include "native.hpp"

namespace entrepot::backends::sycl {

// Submit a loop nest that is not contiguous.
void submit_copy(ep_queue queue, ::sycl::queue &native, const LoopNest &nest);
void submit_fill(ep_queue queue, ::sycl::queue &native, const LoopNest &nest,
                 const Fill::Value &value);

}  // namespace entrepot::backends::sycl
