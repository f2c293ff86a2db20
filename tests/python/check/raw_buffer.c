// A Python type whose objects answer each buffer request in Python: they raise, or fill in the
// request.
//
// A call `answer(flags)` returns the address of a Py_buffer to copy and the object that the buffer
// owns, or None for a null one.
#include <Python.h>

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    view->obj = NULL;
    PyObject *answer = PyObject_CallMethod(self, "answer", "i", flags);
    if (!answer)
        return -1;
    const Py_buffer *filled = PyLong_AsVoidPtr(PyTuple_GetItem(answer, 0));
    PyObject *owner = PyTuple_GetItem(answer, 1);
    *view = *filled;
    view->obj = owner == Py_None ? NULL : owner;
    Py_XINCREF(view->obj);
    Py_DECREF(answer);
    return 0;
}

static PyBufferProcs procs = {.bf_getbuffer = get_buffer};

static PyTypeObject exporter = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "raw_buffer.Exporter",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_as_buffer = &procs,
    .tp_new = PyType_GenericNew,
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "raw_buffer", .m_size = -1};

PyMODINIT_FUNC PyInit_raw_buffer(void) {
    PyObject *made = PyModule_Create(&module);
    if (!made || PyType_Ready(&exporter) < 0 ||
        PyModule_AddObjectRef(made, "Exporter", (PyObject *)&exporter) < 0)
        return NULL;
    return made;
}
