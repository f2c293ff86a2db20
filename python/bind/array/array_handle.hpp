// entrepot.ArrayHandle: the result of Array.share and Memory.share.
#pragma once
#include <entrepot/array/array.hpp>

#include <Python.h>

namespace entrepot::python {

// A new reference. Waits for the array's memory with the GIL released. Throws as ArrayHandle::of().
PyObject *share_array(const Array &array, bool fabric);

}  // namespace entrepot::python
