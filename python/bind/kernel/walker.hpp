// Walker: converts a Python function, as parsed by Python's ast, to the compiler's syntax tree.
#pragma once
#include <Python.h>

#include "guards.hpp"

#include <kernel/frontend/syntax.hpp>
#include <kernel/ir/error.hpp>

#include <memory>
#include <string>

namespace entrepot::python {

struct Translated {
    std::shared_ptr<const kernel::syntax::Function> function;
    Guards guards;         // for all names used in the tree
    std::string captured;  // sources and captured values: equal for equal trees
};

// Converts a plain function and the device functions that it calls. Names are looked up in its
// closure, its globals and the builtins.
// Throws: CompileError for constructs that kernels do not support, KernelError if the source is not
//         available, PythonError
// GIL: required.
Translated translate(PyObject *function);

}  // namespace entrepot::python
