// ForeignLibrary: a shared library, opened on first use.
#include "library.hpp"

#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/reference.hpp"

#include <entrepot/core/error.hpp>
#include <ffi/library.hpp>

namespace entrepot::python {
namespace {

struct LibraryObject {
    PyObject_HEAD ffi::Library *library;
};

PyTypeObject *library_type = nullptr;

ffi::Library &library_of(PyObject *self) {
    return *reinterpret_cast<LibraryObject *>(self)->library;
}

std::vector<std::string> texts(PyObject *list) {
    const Reference items = checked(PySequence_Tuple(list));
    std::vector<std::string> out;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
        const char *text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(items.get(), i));
        if (!text)
            throw PythonError{};
        out.emplace_back(text);
    }
    return out;
}

PyObject *library_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"name",     "sonames", "directories",
                                        "variable", "advice",  nullptr};
    const char *name = nullptr, *variable = "", *advice = "";
    PyObject *sonames = nullptr, *directories = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO|Oss", const_cast<char **>(names), &name,
                                     &sonames, &directories, &variable, &advice))
        return nullptr;
    return guarded([&] {
        ffi::Search search{name, variable,
                           directories ? texts(directories) : std::vector<std::string>(),
                           texts(sonames), advice};
        Reference made = checked(type->tp_alloc(type, 0));
        reinterpret_cast<LibraryObject *>(made.get())->library =
            new ffi::Library(std::move(search));
        return made.release();
    });
}

void library_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    delete reinterpret_cast<LibraryObject *>(self)->library;
    type->tp_free(self);
    Py_DECREF(type);
}

// Releases the GIL, because loading runs the library's initialization.
PyObject *find(PyObject *self, PyObject *symbol) {
    return guarded([&]() -> PyObject * {
        const char *name = PyUnicode_AsUTF8(symbol);
        if (!name)
            throw PythonError{};
        void *found = without_gil([&] { return library_of(self).find(name); });
        return found ? PyLong_FromVoidPtr(found) : Py_NewRef(Py_None);
    });
}

PyObject *require(PyObject *self, PyObject *symbol) {
    return guarded([&] {
        const char *name = PyUnicode_AsUTF8(symbol);
        if (!name)
            throw PythonError{};
        return PyLong_FromVoidPtr(without_gil([&] { return library_of(self).require(name); }));
    });
}

PyObject *is_there(PyObject *self, PyObject *) {
    return guarded(
        [&] { return PyBool_FromLong(without_gil([&] { return library_of(self).is_there(); })); });
}

PyObject *path(PyObject *self, void *) {
    return guarded([&] {
        return PyUnicode_DecodeFSDefault(
            without_gil([&] { return library_of(self).path(); }).c_str());
    });
}

PyMethodDef methods[] = {
    {"find", find, METH_O,
     "find($self, symbol, /)\n"
     "--\n\n"
     "The address of a symbol, or None. Raises LibraryError if the library is not found."},
    {"require", require, METH_O,
     "require($self, symbol, /)\n"
     "--\n\n"
     "The address of a symbol. Raises LibraryError if it is not found."},
    {"is_there", is_there, METH_NOARGS,
     "is_there($self, /)\n--\n\nTrue if the library is found and loads."},
    {},
};
PyGetSetDef attributes[] = {
    {"path", path, nullptr,
     "The file that was opened. Raises LibraryError if the library is not found.", nullptr},
    {},
};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char *>(
                    "ForeignLibrary(name, sonames, directories=(), variable='', advice='')\n--\n\n"
                    "A shared library that is opened on first use and never closed.")},
    {Py_tp_new, reinterpret_cast<void *>(library_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(library_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {},
};
PyType_Spec spec{"entrepot._core.ForeignLibrary", sizeof(LibraryObject), 0,
                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool init_library(PyObject *module) {
    library_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return library_type && PyModule_AddObjectRef(module, "ForeignLibrary",
                                                 reinterpret_cast<PyObject *>(library_type)) == 0;
}

}  // namespace entrepot::python
