// An extension outside of Entrepot that uses Python and entrepot::Array only; test_c_interface.py
// drives it.
#include <entrepot/python/array.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace {

// Runs the body. An entrepot exception needs no handling, for the Python exception is already set.
template <class Body> PyObject *in_python(Body body) noexcept {
    try {
        return body();
    } catch (const entrepot::python_error &) {
        return nullptr;
    }
}

PyObject *import_table(PyObject *, PyObject *) {
    const entrepot_c_api *const table = entrepot_import();
    return table ? PyLong_FromUnsignedLong(table->version) : nullptr;
}

// An Array of float; None is the current device.
PyObject *empty(PyObject *, PyObject *arguments) {
    PyObject *extents;
    const char *device;
    int kind;
    if (!PyArg_ParseTuple(arguments, "O!zi", &PyTuple_Type, &extents, &device, &kind))
        return nullptr;
    std::vector<std::int64_t> shape;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(extents); ++i)
        shape.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(extents, i)));
    return in_python([&] { return entrepot::Array::empty<float>(shape, device, kind).object(); });
}

entrepot::Array kept;

// Keeps a copy of a handle that is released when the function returns.
PyObject *keep(PyObject *, PyObject *object) {
    return in_python([&] {
        const entrepot::Array array(object);
        entrepot::Array copied = array, assigned;
        assigned = copied;
        kept = std::move(assigned);
        return PyBool_FromLong(copied.data() == kept.data() && !assigned);
    });
}

PyObject *give(PyObject *, PyObject *) {
    return in_python([] { return kept.object(); });
}

PyObject *drop(PyObject *, PyObject *) {
    kept = {};
    Py_RETURN_NONE;
}

PyObject *native_queue(PyObject *, PyObject *object) {
    return in_python([&] {
        const entrepot::Array array(object);
        void *const queue = array.native_queue();
        return PyErr_Occurred() ? nullptr : PyLong_FromVoidPtr(queue);
    });
}

PyMethodDef methods[] = {{"import_table", import_table, METH_NOARGS, nullptr},
                         {"empty", empty, METH_VARARGS, nullptr},
                         {"keep", keep, METH_O, nullptr},
                         {"give", give, METH_NOARGS, nullptr},
                         {"drop", drop, METH_NOARGS, nullptr},
                         {"native_queue", native_queue, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef module{
    PyModuleDef_HEAD_INIT, "extension", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_extension() { return PyModule_Create(&module); }
