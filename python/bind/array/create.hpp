// empty, zeros, full, fill and copy, and the shape argument that they take.
#pragma once
#include <Python.h>

#include <cstdint>
#include <vector>

namespace entrepot::python {

// An int or a sequence of ints. Throws TypeError or OverflowError as Python words it.
std::vector<std::int64_t> extents_from(PyObject *shape);

}  // namespace entrepot::python
