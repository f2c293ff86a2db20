// Checks of a whole kernel in its typed form.
#pragma once
#include <entrepot/kernel/compiler/compiler.hpp>

namespace entrepot::kernel {

// Fills in what the module tells of itself: whether it tells groups apart, has barriers, prints, and which roots are read and
// written. Callees come before callers.
void summarise(ir::Module &module);
// Types, atomics and sub-groups that the device has not, and local memory beyond its limit. Throws CompileError.
void check_target(const ir::Module &module, const Target &target);
// Barriers and group functions that not all work-items of a group reach together. Throws CompileError.
void check_uniform(const ir::Module &module);

}  // namespace entrepot::kernel
