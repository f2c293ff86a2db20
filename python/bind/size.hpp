// Numbers of bytes, and of things, that are given from Python.
#pragma once
#include <Python.h>

#include <cstddef>

namespace entrepot::python {

// Of an int or what has __index__; `what` names the argument. Throws TypeError for anything else, ValueError for one that is
// negative or has more than 64 bits.
std::size_t size_from(PyObject *object, const char *what);

}  // namespace entrepot::python
