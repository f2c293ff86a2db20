// The exports of entrepot.Array under each protocol: functions behind attributes, methods and
// slots, grouped by file.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>

namespace entrepot::python {

// dlpack_export.cpp: METH_FASTCALL | METH_KEYWORDS, and METH_NOARGS.
PyObject *dlpack_export(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *dlpack_device(PyObject *self, PyObject *);

// c_exchange_api_export.cpp: a new reference to the capsule with the function
// table, for the type's dict.
PyObject *c_exchange_api_capsule();

// suai.cpp, cai.cpp, array_interface.cpp: attributes of the array interfaces.
// Returns: a new reference, or nullptr with an exception set.
// Throws: AttributeError if the interface cannot describe the memory or the dtype; the runtime's
//         error if work on the memory failed.
PyObject *suai_export(PyObject *self);
// `queue_object` replaces the Python object of the array's queue; nullptr: a new Queue.
PyObject *suai_export_of(const Array &array, PyObject *queue_object);
PyObject *cai_export(PyObject *self);
PyObject *array_interface_export(PyObject *self);
PyObject *array_struct_export(PyObject *self);

// buffer.cpp: bf_getbuffer. There is no bf_releasebuffer, because a view allocates nothing.
int buffer_export(PyObject *self, Py_buffer *view, int flags);

}  // namespace entrepot::python
