// Conversion of the index in kernel[…] to a backend's range.
#pragma once
#include <Python.h>

#include <entrepot/device/backend.h>

namespace entrepot::python {

// Accepts kernel[global] and kernel[global, local], each an int or a tuple. Accepts a Range or an
// NdRange as well. `local` may be None or empty, which gives all 0.
// Returns: a range of 1 to 3 dimensions.
// Throws: TypeError or ValueError that says what was expected.
// GIL: required.
ep_range range_of(PyObject *index);

}  // namespace entrepot::python
