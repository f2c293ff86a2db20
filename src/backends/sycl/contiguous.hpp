// Contiguous copies and fills on the cores of a CPU.
#pragma once
#include "../walk.hpp"
#include "native.hpp"

namespace entrepot::backends::sycl {

// Whether the device's cores are served by a kernel of ours instead of by the runtime.
bool is_of_cores(ep_queue queue) noexcept;

void copy_on_cores(ep_queue queue, ::sycl::queue &native, void *to, const void *from, std::size_t bytes);
// The value's 16 bytes over and over again.
void fill_on_cores(ep_queue queue, ::sycl::queue &native, void *to, const Fill::Value &value, std::size_t bytes);

}  // namespace entrepot::backends::sycl
