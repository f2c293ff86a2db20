// Contiguous copies and fills on the cores of a CPU.
#pragma once
#include "backends/loop_nest.hpp"
#include "backends/sycl/native.hpp"

#include <optional>

namespace entrepot::backends::sycl {

// Kernels that copy and fill a block in the queue's device. None if the runtime does so itself: the
// device is not an OpenCL CPU, cannot read ordinary host memory, or fails to build the kernels.
//
// Requires: the caller does not hold a SubmitLock, since the first call builds the kernels.
std::optional<::sycl::kernel> block_copy(Queue &queue);
std::optional<::sycl::kernel> block_fill(Queue &queue);

void submit_block_copy(::sycl::queue &native, const ::sycl::kernel &kernel, void *to,
                       const void *from, std::size_t bytes);
// Repeats the value's 16 bytes.
void submit_block_fill(::sycl::queue &native, const ::sycl::kernel &kernel, void *to,
                       const Fill::Value &value, std::size_t bytes);

}  // namespace entrepot::backends::sycl
