// Lost updates: whether several work-items of a launch change one element at once.
#pragma once
#include <entrepot/kernel/runtime/argument.hpp>

#include <span>

namespace entrepot::kernel {

// `chosen` is the range as it is launched, with the size of groups where the kernel depends on it.
// Throws: KernelError if two work-items of the range `asked` are found that change one element at once.
void refuse_lost_updates(std::span<const LostUpdate> updates, const ep_range &asked, const ep_range &chosen,
                         std::span<const Argument> arguments);

// True if the answer depends on the value of a scalar argument.
bool depends_on_scalars(std::span<const LostUpdate> updates);

}  // namespace entrepot::kernel
