// Messages for calls of nanobind's functions with arguments that they do not take.
#pragma once
#include <Python.h>

namespace entrepot::python {

// Shortens nanobind's TypeErrors to one line, for all functions and classes of the module. Call it
// after the last of them has been added.
//
// Returns: false with a Python exception set.
// GIL: required.
bool shorten_call_errors(PyObject *module);

}  // namespace entrepot::python
