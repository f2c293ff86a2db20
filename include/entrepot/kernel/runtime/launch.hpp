// Launch: a specialisation run on arguments, with a local range that fits and in order with all other work on its arrays.
#pragma once
#include <entrepot/kernel/runtime/specialisation.hpp>

#include <span>

namespace entrepot::kernel {

// The local range that a launch gets. Given: that one, unless the groups know nothing of each other and the host runs them, where
// larger pieces are better. Not given (all 0): for a kernel that tells groups apart, one group of the whole range where the
// device has such groups, else the largest that divides the range; for others the device chooses. Throws KernelError where a
// given range does not divide the global one.
ep_range fitted(const Specialisation &made, ep_range range, const Device &device);

// Hands the kernel to the queue and returns the position there. Throws IndexError, before anything runs, where the range takes an
// index that every work-item uses out of an array. Arrays that the kernel does not write count as read. A kernel
// with debug checks is waited for, and what it reports is thrown: IndexError with the line, the index and the work-item. Throws
// KernelError as Kernel::launch does, and where an array cannot be reached by the queue's device. `plans` may keep what the next
// launches of the kind need not find out again.
Queue::Position launch(const Specialisation &made, const syntax::Function &function, const Queue &queue, const ep_range &range,
                       std::span<const Argument> arguments, Plans *plans = nullptr);

}  // namespace entrepot::kernel
