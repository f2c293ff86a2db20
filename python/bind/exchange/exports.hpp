// What entrepot.Array shows under each protocol: the functions behind its attributes, methods and slots, by the file that has
// them.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>

namespace entrepot::python {

// dlpack_export.cpp: METH_FASTCALL | METH_KEYWORDS, and METH_NOARGS
PyObject *dlpack_export(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *dlpack_device(PyObject *self, PyObject *);

// c_exchange_api_export.cpp: a new reference to the capsule of our function table, for the type's dict
PyObject *c_exchange_api_capsule();

// suai.cpp, cai.cpp, array_interface.cpp: the attributes of the array interfaces. A new reference, or nullptr with AttributeError
// where the memory or the type cannot be described so, and with the runtime's error where work on the memory has failed.
PyObject *suai_export(PyObject *self);
PyObject *suai_export_of(const Array &array,
                         PyObject *queue_object);  // with a caller's own object for the array's queue; nullptr: ours
PyObject *cai_export(PyObject *self);
PyObject *array_interface_export(PyObject *self);
PyObject *array_struct_export(PyObject *self);

// buffer.cpp: the slot of PEP 3118 (nothing is made for a view, so there is none for its release)
int buffer_export(PyObject *self, Py_buffer *view, int flags);

}  // namespace entrepot::python
