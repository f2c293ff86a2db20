// Launches a specialization with a suitable local range, ordered with all other work on its arrays.
#pragma once
#include "kernel/frontend/syntax.hpp"
#include "kernel/runtime/specialization.hpp"

#include <span>
#include <string_view>

namespace entrepot::kernel {

// Chooses the local range of a launch, and rounds the global range up for kernels whose surplus
// work-items do nothing.
//
// A given local range is used as it is. Exception: the host prefers larger pieces for a kernel that
// does not tell groups apart. If none is given (all 0), a kernel that tells groups apart gets one
// group for the whole range. If the device does not support groups of that size, it gets the
// largest one that divides the range. For other kernels the device chooses.
// Requires: the range has 1 to 3 dimensions.
// Throws: KernelError if a given local range does not divide the global range.
ep_range choose_local_range(const Specialization &made, std::string_view name, ep_range range,
                            const Device &device);

// Submits the kernel to the queue. Arrays that the kernel does not write count as read. With debug
// checks the call waits for the kernel. `plans` may cache state for later launches of the same
// kind.
//
// Requires: `made` was compiled for these arguments and this range. All arrays outlive the call.
// Returns: the position in the queue.
// Throws: IndexError, before anything runs, if an index that every work-item uses is outside an
//         array for this range. With debug checks also the error that the kernel reports, with
//         line, index and work-item. KernelError as Kernel::launch does, if the queue's device
//         cannot access an array, or if several work-items would lose updates of an element.
// Thread safety: thread-safe.
// Blocks: with debug checks, until the kernel has finished.
Queue::Position launch(const Specialization &made, const syntax::Function &function,
                       const Queue &queue, const ep_range &range,
                       std::span<const Argument> arguments, PlanCache *plans = nullptr);

}  // namespace entrepot::kernel
