#include "attribute.hpp"

namespace entrepot::python {
namespace {

// A missing attribute raises no exception, which would take thirty times as long as the lookup.
int look_up(PyObject *object, PyObject *name, PyObject **value) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_GetOptionalAttr(object, name, value);
#else
    return _PyObject_LookupAttr(object, name, value);
#endif
}

}  // namespace

Reference find_attribute(PyObject *object, PyObject *name) {
    PyObject *value = nullptr;
    if (look_up(object, name, &value) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_NotImplementedError))
            throw PythonError{};
        PyErr_Clear();
    }
    return Reference(value);
}

}  // namespace entrepot::python
