// entrepot.ArrayHandle: what Array.share and Memory.share give.
#pragma once
#include <entrepot/array/array.hpp>

#include <Python.h>

namespace entrepot::python {

// A new reference. Waits for the array's memory with the GIL released. Throws as ArrayHandle::of does.
PyObject *share_array(const Array &array, bool fabric);

}  // namespace entrepot::python
