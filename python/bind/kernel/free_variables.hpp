// FreeVariables: lookup of the global, built-in and captured names of a Python function.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"
#include "guards.hpp"

namespace entrepot::python {

// GIL: required by all functions.
class FreeVariables {
public:
    // Requires: `function` is a plain Python function.
    // Throws: PythonError
    // Lifetime: `guards` outlives this object.
    FreeVariables(PyObject *function, Guards &guards);

    // Current object of the name, as Python finds it: in the closure, the globals, the builtins.
    // Adds a guard for the result.
    //
    // Returns: empty if the name is undefined.
    // Throws: PythonError
    Reference find(PyObject *name);
    PyObject *globals() const { return globals_.get(); }  // the dict

    // Attribute of an object that was found. Adds a guard, unless the object is a module that is
    // known not to change.
    //
    // Returns: empty if the object has no such attribute.
    // Throws: PythonError
    Reference attribute_of(PyObject *object, PyObject *name);

private:
    Reference find_in_closure(PyObject *name, bool &is_free);

    Reference globals_, builtins_, closure_, free_names_;
    Guards &guards_;
};

}  // namespace entrepot::python
