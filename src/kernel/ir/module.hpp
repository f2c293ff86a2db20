// The list of a module's functions.
#pragma once
#include <entrepot/kernel/ir/ir.hpp>

namespace entrepot::kernel::ir {

// Drops the functions that the kernel does not reach. The front end compiles functions for types
// that are not final, and inlining leaves functions without calls.
void drop_uncalled(Module &module);
// Gives every function a name that differs from all other functions and from variables that would
// hide it.
void make_names_unique(Module &module);

}  // namespace entrepot::kernel::ir
