// Classifies ctypes types, with a cache by type, and reads instances through their buffers.
#include "ctypes_data.hpp"

#include "gil.hpp"
#include "interned.hpp"
#include "key_caches.hpp"
#include "reference.hpp"

#include <array>
#include <cstring>

namespace entrepot::python {
namespace {

// The base classes of all ctypes types, in its C module.
struct Base {
    Interned name;
    CtypesSort sort;
};
const std::array<Base, 6> bases{{{"_SimpleCData", CtypesSort::value},
                                 {"Structure", CtypesSort::value},
                                 {"Union", CtypesSort::value},
                                 {"_Pointer", CtypesSort::pointer},
                                 {"CFuncPtr", CtypesSort::pointer},
                                 {"Array", CtypesSort::array}}};
const Interned type_code_name = "_type_", sizeof_name = "sizeof", alignment_name = "alignment";

// True for c_void_p, c_char_p, c_wchar_p and their subclasses.
bool is_pointer_code(PyTypeObject *type) {
    const Reference code(PyObject_GetAttr(reinterpret_cast<PyObject *>(type), type_code_name));
    if (!code)
        throw PythonError{};
    const char *const text = PyUnicode_Check(code.get()) ? PyUnicode_AsUTF8(code.get()) : nullptr;
    return text && text[0] != '\0' && text[1] == '\0' && std::strchr("PzZ", text[0]);
}

CtypesSort sort_of(PyObject *module, PyTypeObject *type) {
    for (const Base &base : bases) {
        const Reference found = checked(PyObject_GetAttr(module, base.name));
        if (!PyType_IsSubtype(type, reinterpret_cast<PyTypeObject *>(found.get())))
            continue;
        const bool is_simple = &base == &bases.front();
        return is_simple && is_pointer_code(type) ? CtypesSort::pointer : base.sort;
    }
    return CtypesSort::none;
}

std::size_t ask(PyObject *module, PyObject *function, PyTypeObject *type) {
    const Reference answer =
        checked(PyObject_CallMethodOneArg(module, function, reinterpret_cast<PyObject *>(type)));
    const std::size_t number = PyLong_AsSize_t(answer.get());
    if (number == static_cast<std::size_t>(-1) && PyErr_Occurred())
        throw PythonError{};
    return number;
}

CtypesType look_at(PyTypeObject *type) {
    const Reference module = imported_module("_ctypes");
    if (!module)
        return {};
    const CtypesSort sort = sort_of(module.get(), type);
    if (sort == CtypesSort::none)
        return {};
    return {sort, ask(module.get(), sizeof_name, type), ask(module.get(), alignment_name, type)};
}

// Safe to cache: once a Structure has instances, its fields, size and alignment are final.
ENTREPOT_GIL_GUARDED ObjectCache<CtypesType, 32> cache;

}  // namespace

CtypesType ctypes_type_of(PyTypeObject *type) {
    if (Py_IS_TYPE(reinterpret_cast<PyObject *>(type), &PyType_Type)) [[likely]]
        return {};  // ctypes types have their own metaclasses
    return cache.find(reinterpret_cast<PyObject *>(type), [type] { return look_at(type); });
}

void *address_in(PyObject *instance) {
    Py_buffer cell;
    if (PyObject_GetBuffer(instance, &cell, PyBUF_SIMPLE) != 0)
        throw PythonError{};
    void *address = nullptr;
    std::memcpy(&address, cell.buf, sizeof address);
    PyBuffer_Release(&cell);
    return address;
}

}  // namespace entrepot::python
