// Strided copies and fills. A planned box (backends/loop_nest.hpp) is copied or filled by a kernel.
#pragma once
#include "backends/loop_nest.hpp"
#include "backends/sycl/native.hpp"

namespace entrepot::backends::sycl {

// Submit a loop nest that is not contiguous.
void submit_copy(Queue &queue, ::sycl::queue &native, const LoopNest &nest);
void submit_fill(Queue &queue, ::sycl::queue &native, const LoopNest &nest,
                 const Fill::Value &value);

}  // namespace entrepot::backends::sycl
