// entrepot.Dtype, and the conversion of every spelling of an element type that Python programs use.
#pragma once
#include <Python.h>

#include <entrepot/core/dtype.hpp>

namespace entrepot::python {

// A new reference to the only Dtype object of that type.
PyObject *wrap_dtype(Dtype dtype);

// Accepts a Dtype, a name ("float32") or typestr ("<f4"), numpy.dtype, scalar types of NumPy and
// ml_dtypes, and torch.dtype. Also Python's bool, int, float, complex (int64, float64, complex128).
// Throws: TypeError naming the object that was given.
Dtype dtype_from(PyObject *object);

}  // namespace entrepot::python
