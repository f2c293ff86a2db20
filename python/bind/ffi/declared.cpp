// The metaclass of records, handles and pointers to functions. It adds a C pointer to each class,
// which is read without an attribute lookup.
#include "declared.hpp"

#include "../adapters/adapters.hpp"
#include "../support/errors.hpp"

namespace entrepot::python {
namespace {

// The slot follows the members of every class. CPython places the members of heap types after the
// metaclass's basic size.
PyTypeObject metaclass{};

const Declared *&slot_of(PyTypeObject *type) noexcept {
    return reinterpret_cast<DeclaredBase *>(type)->declared;
}

// Also runs for subclasses in Python, which use the description of their base.
PyObject *declared_new(PyTypeObject *metatype, PyObject *args, PyObject *kwargs) {
    PyObject *made = PyType_Type.tp_new(metatype, args, kwargs);
    if (made) {
        auto *type = reinterpret_cast<PyTypeObject *>(made);
        slot_of(type) = Py_TYPE(type->tp_base) == &metaclass ? slot_of(type->tp_base) : nullptr;
    }
    return made;
}

}  // namespace

const Declared *declared_of(PyTypeObject *type) noexcept {
    return Py_TYPE(type) == &metaclass ? slot_of(type) : nullptr;
}

bool init_declared(PyObject *) {
    metaclass.tp_name = "entrepot._core.Declared";
    metaclass.tp_base = &PyType_Type;
    metaclass.tp_basicsize = static_cast<Py_ssize_t>(sizeof(DeclaredBase));
    metaclass.tp_itemsize = PyType_Type.tp_itemsize;
    metaclass.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_TYPE_SUBCLASS;
    metaclass.tp_new = declared_new;
    metaclass.tp_traverse = PyType_Type.tp_traverse;
    metaclass.tp_clear = PyType_Type.tp_clear;
    return PyType_Ready(&metaclass) == 0;
}

bool ready_declared_base(DeclaredBase &base, PyTypeObject *of) {
    auto *type = reinterpret_cast<PyTypeObject *>(&base);
    Py_SET_TYPE(type, &metaclass);
    type->tp_base = of;
    return PyType_Ready(type) == 0;
}

Reference make_declared(DeclaredBase &base, const Declared *declared, PyObject *name,
                        PyObject *dict) {
    Reference made =
        checked(PyObject_CallFunction(reinterpret_cast<PyObject *>(&metaclass), "O(O)O", name,
                                      reinterpret_cast<PyObject *>(&base), dict));
    slot_of(reinterpret_cast<PyTypeObject *>(made.get())) = declared;
    return made;
}

}  // namespace entrepot::python
