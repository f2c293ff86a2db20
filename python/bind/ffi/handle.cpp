// Handles: opaque pointers of a library, distinguished by their types.
#include "declared.hpp"

#include "../adapters/adapters.hpp"
#include "../support/guarded.hpp"

#include <memory>

namespace entrepot::python {
namespace {

DeclaredBase handle_base{};
PyTypeObject *const handle_type = reinterpret_cast<PyTypeObject *>(&handle_base);

constexpr const char *handle_doc =
    "A pointer to an opaque struct of a library; the base class of handles in bindings.\n\n"
    "A function with a handle parameter refuses handles of another class. It accepts ints,\n"
    "None, ctypes pointers and adapters without a class: use ``Pointer(handle)`` to drop the\n"
    "class.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot import hip\n"
    ">>> from entrepot.ffi import Handle\n"
    ">>> issubclass(hip.hipStream_t, Handle)\n"
    "True";

// make_handle(name, dict)
PyObject *make_handle(PyObject *, PyObject *args) {
    PyObject *name = nullptr, *dict = nullptr;
    if (!PyArg_ParseTuple(args, "UO!", &name, &PyDict_Type, &dict))
        return nullptr;
    return guarded([&] {
        auto made = std::make_unique<Declared>();
        made->name = PyUnicode_AsUTF8(name);
        Reference type = make_declared(handle_base, made.get(), name, dict);
        (void)made.release();  // owned by the class
        return type.release();
    });
}

PyMethodDef functions[] = {
    {"make_handle", make_handle, METH_VARARGS, "Make the class of a handle. For entrepot.ffi."},
    {},
};

}  // namespace

bool is_handle_class(PyTypeObject *type) noexcept { return PyType_IsSubtype(type, handle_type); }

bool init_handle(PyObject *module) {
    handle_type->tp_name = "entrepot._core.Handle";
    handle_type->tp_basicsize = sizeof(entrepot_pointer);
    handle_type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    handle_type->tp_doc = handle_doc;
    return ready_declared_base(handle_base, adapter_type("Pointer")) &&
           PyModule_AddObjectRef(module, "Handle", reinterpret_cast<PyObject *>(handle_type)) ==
               0 &&
           PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace entrepot::python
