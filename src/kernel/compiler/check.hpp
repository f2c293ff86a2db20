// Checks of a whole kernel in its typed form.
#pragma once
#include <entrepot/kernel/compiler/compiler.hpp>

#include <vector>

namespace entrepot::kernel {

// Fills in what the module tells of itself: whether it tells groups apart, has barriers, prints, and which roots are read and
// written. Callees come before callers.
void summarise(ir::Module &module);
// Device functions with barriers, group functions or local memory go in the place of their calls. Throws CompileError where a
// return is in the way.
void inline_for_groups(ir::Module &module);
// Types, atomics and sub-groups that the device has not. Throws CompileError.
void check_target(const ir::Module &module, const Target &target);
// Local memory of a kernel, that of functions in it included, beyond the device's limit. Throws CompileError.
void check_local_memory(const ir::Module &module, const Target &target);
// Private arrays that are more than a work-item has. Throws CompileError.
void check_private_memory(const ir::Module &module, const Target &target);
// Barriers and group functions that not all work-items of a group reach together. Throws CompileError.
void check_uniform(const ir::Module &module);
// Indices that every work-item uses and that are affine in its ids, of the kernel before it is optimised.
std::vector<Reach> reach_of(const ir::Module &module);
// Elements that several work-items of a launch of that many dimensions change at once without an atomic, of the kernel before it
// is optimised. Each launch decides whether several do.
std::vector<LostUpdate> lost_updates_of(const ir::Module &module, std::uint32_t dimensions);

}  // namespace entrepot::kernel
