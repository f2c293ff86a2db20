// NumPy's descriptors of types, which other libraries use for their arrays too.
#pragma once
#include <Python.h>

#include <entrepot/core/dtype.hpp>

namespace entrepot::python {

// Of a numpy.dtype, ml_dtypes' included; remembered by object. Throws ExchangeError for one that no Dtype is, and PythonError
// where the object is no numpy.dtype at all.
Dtype numpy_dtype(PyObject *descr);

}  // namespace entrepot::python
