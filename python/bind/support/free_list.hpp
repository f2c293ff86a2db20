// ObjectFreeList: memory of destroyed Python objects of one layout, for reuse. Creating and
// destroying an object through it takes a third of the allocator's time.
#pragma once
#include <Python.h>

#include "gil.hpp"

#include <core/free_list.hpp>

namespace entrepot::python {

// Protected by the GIL. Without a GIL it is always empty. Such an interpreter's allocator has free
// lists for each thread.
using ObjectFreeList = FreeList<PyObject, has_gil ? 64 : 0>;

}  // namespace entrepot::python
