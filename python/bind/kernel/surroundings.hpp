// Surroundings: what the names of a Python function mean that are not its own.
#pragma once
#include <Python.h>

#include "../reference.hpp"
#include "guards.hpp"

namespace entrepot::python {

class Surroundings {
public:
    Surroundings(PyObject *function, Guards &guards);

    // The object that the name means now; empty where it means nothing. It is guarded from now on.
    Reference find(PyObject *name);
    PyObject *globals() const { return globals_.get(); }  // the dict

    // Of an object that was found; empty where it has none. Guarded too, unless the object is a module that nobody changes.
    Reference attribute_of(PyObject *object, PyObject *name);

private:
    Reference find_in_closure(PyObject *name, bool &is_free);

    Reference globals_, builtins_, closure_, free_names_;
    Guards &guards_;
};

}  // namespace entrepot::python
