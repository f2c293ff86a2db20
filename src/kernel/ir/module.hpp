// The functions of a module, and names that differ from each other.
#pragma once
#include "kernel/ir/ir.hpp"

#include <set>
#include <string>

namespace entrepot::kernel::ir {

// Returns: `name`, with a number if it is in `taken`. Adds the result to `taken`.
std::string unique_name(const std::string &name, std::set<std::string> &taken);
// Drops the functions that the kernel does not reach. The front end compiles functions for types
// that are not final, and inlining leaves functions without calls.
void drop_uncalled(Module &module);
// Gives every function a name that differs from all other functions and from variables that would
// hide it.
void make_names_unique(Module &module);

}  // namespace entrepot::kernel::ir
