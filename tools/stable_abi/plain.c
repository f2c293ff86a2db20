// The calls of Python's C API that take most time in short functions of Entrepot. With
// Py_LIMITED_API, each is replaced by the fastest one of the stable ABI.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_LIMITED_API
#define TUPLE_SIZE PyTuple_Size
#define TUPLE_ITEM PyTuple_GetItem
#else
#define TUPLE_SIZE PyTuple_GET_SIZE
#define TUPLE_ITEM PyTuple_GET_ITEM
#endif

static PyObject *method_name;

// The product of a tuple's ints, as of a shape.
static PyObject *product(PyObject *module, PyObject *shape) {
    (void)module;
    if (!PyTuple_CheckExact(shape)) {
        PyErr_SetString(PyExc_TypeError, "a shape is a tuple of int");
        return NULL;
    }
    long result = 1;
    for (Py_ssize_t i = 0; i < TUPLE_SIZE(shape); ++i)
        result *= PyLong_AsLong(TUPLE_ITEM(shape, i));
    return PyErr_Occurred() ? NULL : PyLong_FromLong(result);
}

// True if the type of the object has a method, as for a protocol.
static PyObject *has_method(PyObject *module, PyObject *object) {
    (void)module;
#ifdef Py_LIMITED_API
    PyObject *found = PyObject_GetAttr((PyObject *)Py_TYPE(object), method_name);
    if (found == NULL)
        PyErr_Clear();
    const int has = found != NULL;
    Py_XDECREF(found);
#else
    const int has = _PyType_Lookup(Py_TYPE(object), method_name) != NULL;
#endif
    return PyBool_FromLong(has);
}

typedef struct {
    PyObject_HEAD long value;
} Number;

static PyObject *made(PyTypeObject *type, PyObject *value) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Number *number = (Number *)allocate(type, 0);
    if (number != NULL)
        number->value = PyLong_AsLong(value);
    return (PyObject *)number;
}

static PyObject *number_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)kwargs;
    return made(type, PyTuple_GetItem(args, 0));
}

static void number_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)number_new}, {Py_tp_dealloc, (void *)number_dealloc}, {0, NULL}};
static PyType_Spec spec = {"plain.Number", sizeof(Number), 0, Py_TPFLAGS_DEFAULT, slots};

#ifndef Py_LIMITED_API
static PyObject *number_vectorcall(PyObject *type, PyObject *const *args, size_t count,
                                   PyObject *names) {
    (void)count, (void)names;
    return made((PyTypeObject *)type, args[0]);
}
#endif

static PyMethodDef functions[] = {{"product", product, METH_O, NULL},
                                  {"has_method", has_method, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "plain", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC INIT(void) {
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = PyType_FromSpec(&spec);
    method_name = PyUnicode_InternFromString("__dlpack__");
    if (module == NULL || type == NULL || method_name == NULL)
        return NULL;
#ifndef Py_LIMITED_API
    ((PyTypeObject *)type)->tp_vectorcall = number_vectorcall;
#endif
    return PyModule_AddObjectRef(module, "Number", type) < 0 ? NULL : module;
}
