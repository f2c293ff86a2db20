// Finds the loop variables that are used in their loop only.
#pragma once
#include "kernel/frontend/syntax.hpp"

#include <set>
#include <string>
#include <vector>

namespace entrepot::kernel {

// Targets of `for` that are not read outside such a loop and not assigned in another way. Each loop
// gets a variable of its own.
using LoopNames = std::set<std::string>;
LoopNames loop_names_of(const syntax::Function &function);

// All names that statements assign, including nested statements.
std::set<std::string> assigned_in(const std::vector<syntax::NodePtr> &statements);
// All names of which statements assign an attribute or an element, as in `v.x = 1`.
std::set<std::string> components_assigned_in(const std::vector<syntax::NodePtr> &statements);

}  // namespace entrepot::kernel
