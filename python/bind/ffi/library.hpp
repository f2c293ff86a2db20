// The Python types of shared libraries and of their functions.
//
// GIL: required.
#pragma once
#include <Python.h>

namespace entrepot::python {

// Returns: false with a Python exception set.
bool init_library(PyObject *module);
bool init_function(PyObject *module);

}  // namespace entrepot::python
