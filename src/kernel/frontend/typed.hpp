// Front end: from the syntax tree of a kernel and the types of its arguments to the typed form.
#pragma once
#include "kernel/frontend/syntax.hpp"
#include "kernel/ir/ir.hpp"
#include "kernel/ir/target.hpp"
#include "kernel/ir/types.hpp"

#include <memory>
#include <vector>

namespace entrepot::kernel {

// Builds the typed form.
// Throws: CompileError if the types cannot be determined.
ir::Module typed(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target);

}  // namespace entrepot::kernel
