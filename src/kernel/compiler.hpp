// Compiler from a Python function and its arguments' types to source in a C dialect. It depends on
// neither devices nor Python.
#pragma once
#include "kernel/codegen/emit.hpp"
#include "kernel/frontend/syntax.hpp"
#include "kernel/ir/ir.hpp"
#include "kernel/ir/target.hpp"
#include "kernel/ir/types.hpp"

#include <memory>
#include <vector>

namespace entrepot::kernel {

// Calls typed(), inlines what the work-items of a group run together, and runs all checks.
// Throws: CompileError
ir::Module lower(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target);
// Calls lower(), optimize() and emit().
// Throws: CompileError
Compiled compile(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target);

}  // namespace entrepot::kernel
