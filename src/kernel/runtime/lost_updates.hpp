// Checks whether several work-items of a launch change one element without an atomic.
#pragma once
#include "kernel/passes/accesses.hpp"
#include "kernel/runtime/argument.hpp"

#include <span>

namespace entrepot::kernel {

// `chosen` is the range as launched, with the group size if the kernel depends on it.
// Throws: KernelError if two work-items of the range `asked` change one element without an atomic.
void refuse_lost_updates(std::span<const LostUpdate> updates, const ep_range &asked,
                         const ep_range &chosen, std::span<const Argument> arguments);

// True if the answer depends on the value of a scalar argument.
bool depends_on_scalars(std::span<const LostUpdate> updates);

}  // namespace entrepot::kernel
