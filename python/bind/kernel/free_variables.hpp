// Lookup of the global, built-in and captured names of a Python function.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"
#include "guards.hpp"

namespace entrepot::python {

class FreeVariables {
public:
    FreeVariables(PyObject *function, Guards &guards);

    // Current object of the name; empty if the name is undefined. Adds a guard for the result.
    Reference find(PyObject *name);
    PyObject *globals() const { return globals_.get(); }  // the dict

    // Attribute of an object that was found; empty if it has no such attribute. Adds a guard,
    // unless the object is a module that is known not to change.
    Reference attribute_of(PyObject *object, PyObject *name);

private:
    Reference find_in_closure(PyObject *name, bool &is_free);

    Reference globals_, builtins_, closure_, free_names_;
    Guards &guards_;
};

}  // namespace entrepot::python
