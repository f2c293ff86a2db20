// Contiguous copies and fills on the cores of a CPU.
#pragma once
#include "../walk.hpp"
#include "native.hpp"

#include <optional>

namespace entrepot::backends::sycl {

// The kernels that copy and fill a block in the queue's device; none where that is the runtime's to do: the device is no CPU, is
// not OpenCL's, cannot be given ordinary host memory, or does not build them. Not with the right to submit: at first they are
// built.
std::optional<::sycl::kernel> block_copy(ep_queue queue);
std::optional<::sycl::kernel> block_fill(ep_queue queue);

void submit_block_copy(::sycl::queue &native, const ::sycl::kernel &kernel, void *to, const void *from, std::size_t bytes);
// The value's 16 bytes over and over again.
void submit_block_fill(::sycl::queue &native, const ::sycl::kernel &kernel, void *to, const Fill::Value &value,
                       std::size_t bytes);

}  // namespace entrepot::backends::sycl
