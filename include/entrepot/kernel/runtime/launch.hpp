// Launches a specialisation with a suitable local range, ordered with all other work on its arrays.
#pragma once
#include <entrepot/kernel/frontend/syntax.hpp>
#include <entrepot/kernel/runtime/specialisation.hpp>

#include <span>

namespace entrepot::kernel {

// Chooses the local range of a launch.
//
// A given local range is used as it is. Exception: the host prefers larger pieces for a kernel that
// does not tell groups apart. If none is given (all 0), a kernel that tells groups apart gets one
// group for the whole range. If the device does not support groups of that size, it gets the
// largest one that divides the range. For other kernels the device chooses.
// Throws: KernelError if a given range does not divide the global range.
ep_range choose_local_range(const Specialisation &made, ep_range range, const Device &device);

// Submits the kernel to the queue. Arrays that the kernel does not write count as read. With debug
// checks the call waits for the kernel. `plans` may cache state for later launches of the same
// kind.
// Returns: the position in the queue.
// Throws: IndexError, before anything runs, if an index that every work-item uses is outside an
//   array for this range. With debug checks also the error that the kernel reports, with line,
//   index and work-item. KernelError as Kernel::launch does, or if the queue's device cannot access
//   an array.
Queue::Position launch(const Specialisation &made, const syntax::Function &function,
                       const Queue &queue, const ep_range &range,
                       std::span<const Argument> arguments, PlanCache *plans = nullptr);

}  // namespace entrepot::kernel
