// entrepot.Dtype, and every spelling of an element type that Python programs use.
#pragma once
#include <Python.h>

#include <entrepot/core/dtype.hpp>

namespace entrepot::python {

// A new reference to the one object of that type.
PyObject *wrap_dtype(Dtype dtype);

// A Dtype of ours; a name ("float32") or typestr ("<f4"); numpy.dtype, numpy's and ml_dtypes' scalar types; torch.dtype; Python's
// bool, int, float and complex (int64, float64, complex128). Throws TypeError naming what was given.
Dtype dtype_from(PyObject *object);

}  // namespace entrepot::python
