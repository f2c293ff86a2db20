// The Python types of shared libraries and of their functions.
#pragma once
#include <Python.h>

namespace entrepot::python {

bool init_library(PyObject *module);
bool init_function(PyObject *module);

}  // namespace entrepot::python
