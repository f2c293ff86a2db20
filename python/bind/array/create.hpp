// empty, zeros, full, fill and copy; and the conversion of their shape argument.
#pragma once
#include <Python.h>

#include <cstdint>
#include <vector>

namespace entrepot::python {

// Converts an int or a sequence of ints. Throws TypeError; OverflowError in Python's words.
std::vector<std::int64_t> extents_from(PyObject *shape);

}  // namespace entrepot::python
