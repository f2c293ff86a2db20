// NumPy's dtype objects, which other libraries use for their arrays too.
#pragma once
#include <Python.h>

#include <entrepot/core/dtype.hpp>

namespace entrepot::python {

// Converts a numpy.dtype, including those of ml_dtypes; cached by object.
// Throws: ExchangeError if there is no such Dtype, PythonError if the object is not a numpy.dtype.
Dtype numpy_dtype(PyObject *descr);

}  // namespace entrepot::python
