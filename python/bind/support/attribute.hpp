// Look-up of an attribute that an object may lack.
#pragma once
#include "reference.hpp"

namespace entrepot::python {

// The attribute's value; empty if the object has no such attribute (AttributeError,
// NotImplementedError). Throws PythonError for any other exception of its getter.
Reference find_attribute(PyObject *object, PyObject *name);

}  // namespace entrepot::python
