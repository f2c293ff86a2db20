// Ranges: what stands in the brackets of kernel[…], as a backend takes it.
#pragma once
#include <Python.h>

#include <entrepot/device/backend.h>

namespace entrepot::python {

// kernel[global], kernel[global, local], each an int or a tuple; a Range; an NdRange. `local` may be None or empty: all 0.
// Throws TypeError or ValueError saying what was expected.
ep_range range_of(PyObject *index);

}  // namespace entrepot::python
