// entrepot.Array as a plain CPython type: an Array inside an object from a free list, so that an exchange costs nanoseconds.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>

namespace entrepot::python {

extern PyTypeObject *array_type;  // final: an exact type check is the whole test

inline bool is_array(PyObject *object) noexcept { return Py_TYPE(object) == array_type; }

// A new reference; nullptr with MemoryError set.
PyObject *wrap(Array &&array) noexcept;

// Of an object for which is_array holds.
const Array &array_of(PyObject *object) noexcept;

}  // namespace entrepot::python
