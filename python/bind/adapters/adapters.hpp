// Adapters: Python objects that stand for an address in a call of a C function, and what any object is as such an argument.
#pragma once
#include <Python.h>

#include "../reference.hpp"

#include <entrepot/memory/memory.hpp>
#include <entrepot/python/adapters.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace entrepot::python {

// By the name that the type has in Python: "Pointer", "CStr", "ListOfInt", "DeviceArray" …; nullptr where there is none. Static
// types, there once the module has been imported.
PyTypeObject *adapter_type(std::string_view name) noexcept;

// Whether it is of an adapter type, or of a subclass.
bool is_adapter(PyObject *object) noexcept;

// Of an object for which is_adapter holds.
inline entrepot_pointer *pointer_of(PyObject *object) noexcept { return reinterpret_cast<entrepot_pointer *>(object); }

// What C does with an argument's memory: who frees it reads none of it.
enum class Use : std::uint8_t { read, write, free };

// What an argument of adapter type `type`, or of a subclass of Pointer, stands for: the address, and what must live until the
// call returns. Any adapter is taken for any type. Refusals name function and argument: TypeError for objects that stand for no
// address; ValueError and OverflowError for ints that are none, read-only memory that is written, strided memory unless it is
// freed, a DeviceArray that has been.
struct Argument {
    void *address;
    Reference held;
};
Argument argument(PyObject *object, PyTypeObject *type, Use use, const char *function, const char *name);

// The same where the type is a pointer to a function.
Argument function_argument(PyObject *object, const char *function, const char *name);

// Bytes from the adapter's address on, where the end of its memory is known, be it a device's; else -1. What C is given by
// `Argument::held` knows as much as the object that the caller gave.
Py_ssize_t extent_of(PyObject *adapter);

// A DeviceArray of `bytes` at an address which a native allocator returned; owns nothing.
Reference device_array(void *address, std::size_t bytes);

// After the native deallocator has taken the argument back: a DeviceArray, its sub-arrays, and the array that it, or another
// adapter, stands for a part of, are refused from now on. Other objects are let be.
void mark_freed(PyObject *object) noexcept;

// For record types, which are subclasses of Pointer: objects begin with entrepot_pointer, zeros are a valid one (NULL).

// The documented conversions of Pointer: None, an adapter, an int, a ctypes pointer, CAI, a buffer, whatever asarray takes. What
// the object kept is let go when the new one is there. Throws as `argument` does, without the names.
void become(PyObject *self, PyObject *object);
// The same of a pointer to a function, which CAI and arrays are refused for.
void become_function(PyObject *self, PyObject *object);
// As many zeros, which go with the object. Throws MemoryError.
void become_owner(PyObject *self, std::size_t bytes, std::size_t alignment = 16);
// An address inside of what `owner` keeps; no owner: nobody's. `owner` counts as the collector's where it is an object (keep()).
void become_view(PyObject *self, void *address, Owner owner);

}  // namespace entrepot::python
