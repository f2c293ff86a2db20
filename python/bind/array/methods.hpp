// The methods of entrepot.Array and the functions that create arrays, grouped by file.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>

namespace entrepot::python {

// methods.cpp
extern PyMethodDef array_methods[];
// __array__
PyObject *numpy_asks(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *array_float(PyObject *self);
PyObject *array_int(PyObject *self);
int array_bool(PyObject *self);

// index.cpp
Array selected(const Array &array, PyObject *index);  // throws TypeError, IndexError, ValueError
PyObject *array_subscript(PyObject *self, PyObject *index);
Py_ssize_t array_length(PyObject *self);

// repr.cpp
PyObject *array_repr(PyObject *self);

// asarray.cpp
PyObject *asarray(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

// from_address.cpp
PyObject *from_address(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *kwnames);

// pin.cpp
PyObject *pin(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

// type.cpp
bool init_array_type(PyObject *module);

}  // namespace entrepot::python
