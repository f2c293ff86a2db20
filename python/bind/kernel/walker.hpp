// Walker: a Python function, through Python's ast, as the compiler's syntax tree.
#pragma once
#include <Python.h>

#include "guards.hpp"

#include <entrepot/kernel/compiler/compiler.hpp>

#include <memory>
#include <string>

namespace entrepot::python {

struct Translated {
    std::shared_ptr<const kernel::syntax::Function> function;
    Guards guards;         // of all names that the tree was made with
    std::string captured;  // the sources and the values behind the names: equal for equal trees
};

// Of a plain function, whose names are looked up in its closure, its globals and the builtins, and of the device functions that
// it calls. Throws CompileError for what no kernel may contain, KernelError where there is no source.
Translated translate(PyObject *function);

}  // namespace entrepot::python
