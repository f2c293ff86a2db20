// Pointer: an address, and the owner of the memory there.
#include "object.hpp"

#include "../memory/owner.hpp"
#include "../support/errors.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace entrepot::python {
namespace {

Reference integer_of(PyObject *self) {
    return checked(PyLong_FromVoidPtr(pointer_of(self)->address));
}

PyObject *from_object(PyObject *type, PyObject *object) {
    return guarded([&] {
        if (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject *>(type)))
            return Py_NewRef(object);
        return checked(PyObject_CallOneArg(type, object)).release();
    });
}

PyObject *create_reference(PyObject *self, PyObject *) {
    return guarded([&] {
        Reference result = blank(pointer_type);
        set(result.get(), {&pointer_of(self)->address, keep(self), -1, false});
        return result.release();
    });
}

PyObject *as_c_void_p(PyObject *self, PyObject *) {
    return guarded([&] {
        const Reference module = checked(PyImport_ImportModule("ctypes"));
        return checked(PyObject_CallMethod(
                           module.get(), "c_void_p", "K",
                           static_cast<unsigned long long>(
                               reinterpret_cast<std::uintptr_t>(pointer_of(self)->address))))
            .release();
    });
}

PyObject *refuse_to_pickle(PyObject *self, PyObject *) {
    PyErr_Format(PyExc_TypeError,
                 "a %s cannot be copied or pickled: an address and the owner of its memory exist "
                 "in one process only",
                 _PyType_Name(Py_TYPE(self)));
    return nullptr;
}

// Without this, bytes() would use __index__ as the length and return zeros.
PyObject *refuse_bytes(PyObject *self, PyObject *) {
    PyErr_Format(PyExc_TypeError,
                 "a %s does not know how many bytes are at its address: ctypes.string_at(int(p), "
                 "n) reads them",
                 _PyType_Name(Py_TYPE(self)));
    return nullptr;
}

PyObject *get_is_null(PyObject *self, void *) {
    return PyBool_FromLong(!pointer_of(self)->address);
}
PyObject *get_is_owner(PyObject *self, void *) {
    return PyBool_FromLong(is_owner(*pointer_of(self)));
}
PyObject *get_is_read_only(PyObject *self, void *) {
    return PyBool_FromLong((pointer_of(self)->flags & ENTREPOT_ADAPTER_READ_ONLY) != 0);
}

std::uintptr_t offset_from(PyObject *object) {
    if (!PyLong_CheckExact(object) && (PyBool_Check(object) || !PyIndex_Check(object)))
        throw Error(ErrorKind::type, "an offset is an int, a number of bytes, not a ",
                    Py_TYPE(object)->tp_name);
    const Py_ssize_t offset = PyLong_CheckExact(object)
                                  ? PyLong_AsSsize_t(object)
                                  : PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (offset == -1 && PyErr_Occurred())
        throw PythonError{};
    if (offset < 0)
        throw Error(ErrorKind::value, "an offset of ", offset,
                    " bytes lies before the memory that the pointer stands for");
    return static_cast<std::uintptr_t>(offset);
}

}  // namespace

PyMethodDef pointer_methods[] = {
    {"fromObj", from_object, METH_O | METH_CLASS,
     "fromObj($type, pyobj, /)\n--\n\n"
     "Return ``pyobj`` if it has this class, else a new adapter made from it.\n\n"
     "Parameters\n"
     "----------\n"
     "pyobj : object\n"
     "    An object that the constructor accepts.\n\n"
     "Returns\n"
     "-------\n"
     "Pointer\n"
     "    An adapter of this class.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    If the object has no address.\n"
     "OverflowError\n"
     "    If a number does not fit.\n"
     "ValueError\n"
     "    If the memory cannot be used, because it is strided or was freed.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import ListOfInt\n"
     ">>> sizes = ListOfInt.fromObj([1, 2, 3])\n"
     ">>> ListOfInt.fromObj(sizes) is sizes\n"
     "True"},
    {"createRef", create_reference, METH_NOARGS,
     "createRef($self, /)\n--\n\n"
     "Make a Pointer to the address in this adapter, as C's ``&p``.\n\n"
     "C may store another address through it, which this adapter then has.\n\n"
     "Returns\n"
     "-------\n"
     "Pointer\n"
     "    The address of the address. It keeps this adapter alive.\n\n"
     "Examples\n"
     "--------\n"
     ">>> import ctypes\n"
     ">>> from entrepot.adapters import Pointer\n"
     ">>> pointer = Pointer(0x1000)\n"
     ">>> reference = pointer.createRef()\n"
     ">>> ctypes.c_void_p.from_address(int(reference)).value == int(pointer)\n"
     "True"},
    {"as_c_void_p", as_c_void_p, METH_NOARGS,
     "as_c_void_p($self, /)\n--\n\n"
     "Return the address for functions of ctypes.\n\n"
     "Returns\n"
     "-------\n"
     "ctypes.c_void_p\n"
     "    The address. It does not keep the memory alive.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import Pointer\n"
     ">>> Pointer(0x1000).as_c_void_p()\n"
     "c_void_p(4096)"},
    {"__reduce__", refuse_to_pickle, METH_NOARGS,
     "__reduce__($self, /)\n--\n\n"
     "Raises TypeError: an address is valid in one process only."},
    {"__bytes__", refuse_bytes, METH_NOARGS,
     "__bytes__($self, /)\n--\n\nRaises TypeError: the number of bytes is unknown."},
    {},
};

PyGetSetDef pointer_attributes[] = {
    {"is_ptr_null", get_is_null, nullptr, "True if the address is NULL.", nullptr},
    {"is_owner", get_is_owner, nullptr, "True if the adapter allocated the memory.", nullptr},
    {"is_read_only", get_is_read_only, nullptr,
     "True if the memory must not be written; such an adapter is refused as a destination.",
     nullptr},
    {},
};

void fill_pointer(PyObject *self, const AdapterRow &, PyObject *source) {
    Target target = target_of(source);
    const Py_ssize_t bytes = target.bytes;
    set(self, std::move(target), bytes);
}

PyObject *pointer_repr(PyObject *self) {
    return guarded([&] {
        return PyUnicode_FromFormat("<%s %s>", _PyType_Name(Py_TYPE(self)), HexText(self).text);
    });
}

PyObject *pointer_compare(PyObject *self, PyObject *other, int operation) {
    if (operation != Py_EQ && operation != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    if (is_adapter(other))
        return PyBool_FromLong((pointer_of(self)->address == pointer_of(other)->address) ==
                               (operation == Py_EQ));
    if (!PyLong_Check(other) || PyBool_Check(other))
        Py_RETURN_NOTIMPLEMENTED;
    return guarded([&] { return PyObject_RichCompare(integer_of(self).get(), other, operation); });
}

Py_hash_t pointer_hash(PyObject *self) {
    return guarded([&] {
        return PyObject_Hash(integer_of(self).get());  // as the int that it is equal to
    });
}

int pointer_bool(PyObject *self) { return pointer_of(self)->address != nullptr; }

PyObject *pointer_int(PyObject *self) { return PyLong_FromVoidPtr(pointer_of(self)->address); }

PyObject *pointer_subscript(PyObject *self, PyObject *object) {
    return guarded([&] {
        const std::uintptr_t offset = offset_from(object),
                             base = reinterpret_cast<std::uintptr_t>(pointer_of(self)->address);
        if (offset > std::numeric_limits<std::uintptr_t>::max() - base)
            throw Error(ErrorKind::overflow, offset, " bytes behind ",
                        Hex(pointer_of(self)->address), " the address space has ended");
        const entrepot_pointer &pointer = *pointer_of(self);
        const Py_ssize_t bytes = bytes_of(self),
                         left = bytes < 0
                                    ? -1
                                    : bytes - std::min(bytes, static_cast<Py_ssize_t>(offset));
        Reference result = blank(pointer_type);
        set(result.get(),
            {reinterpret_cast<void *>(base + offset),
             keeps_memory(self) ? depend_on(self) : Owner(), -1,
             (pointer.flags & ENTREPOT_ADAPTER_READ_ONLY) != 0},
            left);
        return result.release();
    });
}

}  // namespace entrepot::python
