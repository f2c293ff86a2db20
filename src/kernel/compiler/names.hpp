// Names: which variables of loops live in their loop only.
#pragma once
#include <entrepot/kernel/compiler/syntax.hpp>

#include <set>
#include <string>
#include <vector>

namespace entrepot::kernel {

// Names that are targets of `for`, and are neither read outside of such a loop nor assigned in another way: each loop's is a
// variable of its own.
using LoopNames = std::set<std::string>;
LoopNames loop_names_of(const syntax::Function &function);

// All names that statements assign, those of loops within them included.
std::set<std::string> assigned_in(const std::vector<syntax::NodePtr> &statements);

}  // namespace entrepot::kernel
