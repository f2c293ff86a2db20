// Conversion of Python arguments that are sizes or counts.
#pragma once
#include <Python.h>

#include <cstddef>

namespace entrepot::python {

// Converts an int or an object with __index__; `what` names the argument in messages.
//
// Throws: TypeError for any other object, ValueError if it is negative or has more than 64 bits,
//         PythonError if __index__ raises.
// GIL: required.
std::size_t size_from(PyObject *object, const char *what);

}  // namespace entrepot::python
