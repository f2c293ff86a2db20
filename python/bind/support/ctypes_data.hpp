// Instances of ctypes types: whether C passes them by value, and the address that a pointer holds.
#pragma once
#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace entrepot::python {

enum class CtypesSort : std::uint8_t {
    none,     // not a ctypes type
    value,    // a number, a structure, a union: C passes it by value
    pointer,  // c_void_p, c_char_p, c_wchar_p, POINTER(…), a function: its value is an address
    array,    // C passes its address
};

struct CtypesType {
    CtypesSort sort = CtypesSort::none;
    std::size_t size = 0, alignment = 1;
};

// Cached by type. Throws PythonError.
CtypesType ctypes_type_of(PyTypeObject *type);

// The address that an instance of a pointer type holds. Throws PythonError.
void *address_in(PyObject *instance);

}  // namespace entrepot::python
