// Checks and analyses of a whole kernel in its typed form.
#pragma once
#include <entrepot/kernel/ir/error.hpp>
#include <entrepot/kernel/ir/ir.hpp>
#include <entrepot/kernel/ir/target.hpp>
#include <entrepot/kernel/passes/accesses.hpp>

#include <cstdint>
#include <vector>

namespace entrepot::kernel {

// Sets the module's flags for groups, barriers and print, and the read and write flags of roots.
// Callees come before callers.
void summarise(ir::Module &module);
// Inlines device functions with barriers, group functions or local memory.
// Throws: CompileError if a return prevents it.
void inline_barrier_functions(ir::Module &module);
// Checks types, atomics and sub-groups against the device's capabilities.
// Throws: CompileError
void check_target(const ir::Module &module, const Target &target);
// Checks the local memory of a kernel and of its device functions against the device's limit.
// Throws: CompileError
void check_local_memory(const ir::Module &module, const Target &target);
// Checks private arrays against the memory of a work-item.
// Throws: CompileError
void check_private_memory(const ir::Module &module, const Target &target);
// Checks that all work-items of a group reach barriers and group functions together.
// Throws: CompileError
void check_uniform(const ir::Module &module);
// Finds the elements that every work-item accesses: indices that are affine in its ids, and other
// offsets that a launch can calculate. Requires the kernel before optimise().
void find_certain_accesses(const ir::Module &module, std::vector<Reach> &reach,
                           std::vector<CertainAccess> &accesses);
// Elements that several work-items of a launch of that many dimensions may change without an
// atomic. Each launch decides whether several do. Requires the kernel before optimise().
std::vector<LostUpdate> lost_updates_of(const ir::Module &module, std::uint32_t dimensions);

}  // namespace entrepot::kernel
