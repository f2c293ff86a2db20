// Checks and analyses of a whole kernel in its typed form.
#pragma once
#include "kernel/ir/error.hpp"
#include "kernel/ir/ir.hpp"
#include "kernel/ir/target.hpp"
#include "kernel/passes/accesses.hpp"

#include <cstdint>
#include <vector>

namespace entrepot::kernel {

// Sets the module's flags for groups, barriers and print, and the read and write flags of roots.
// Requires: callees precede callers in the module.
void summarize(ir::Module &module);
// Inlines device functions with barriers, group functions or local memory.
// Throws: CompileError if a return prevents it.
void inline_barrier_functions(ir::Module &module);
// Checks types, atomics and sub-groups against the device's capabilities.
// Throws: CompileError if the device lacks one of them.
void check_target(const ir::Module &module, const Target &target);
// Checks the local memory of a kernel and of its device functions against the device's limit.
// Throws: CompileError if they need more.
void check_local_memory(const ir::Module &module, const Target &target);
// Checks private arrays against the memory of a work-item.
// Throws: CompileError if they need more.
void check_private_memory(const ir::Module &module, const Target &target);
// Checks that all work-items of a group reach barriers and group functions together, and all of a
// launch its grid barriers.
// Throws: CompileError if control flow before one of them may diverge.
void check_uniform(const ir::Module &module);
// Writes `continue` as conditions in loops with barriers, if only some work-items continue.
// Requires: check_uniform() has passed.
void remove_divergent_continues(ir::Module &module);
// Finds the elements that every work-item accesses: indices that are affine in its ids, and other
// offsets that a launch can calculate.
// Requires: optimize() has not run on the module.
void find_certain_accesses(const ir::Module &module, std::vector<Reach> &reach,
                           std::vector<CertainAccess> &accesses);
// Finds updates of an element that several work-items may make without an atomic, in launches with
// that number of dimensions. Each launch evaluates the conditions of the updates.
// Requires: optimize() has not run on the module.
std::vector<LostUpdate> lost_updates_of(const ir::Module &module, std::uint32_t dimensions);

}  // namespace entrepot::kernel
