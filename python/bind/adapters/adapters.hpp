// Adapters: Python objects that represent an address in a call of a C function, and the conversion
// of any Python object to such an argument.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"

#include <entrepot/memory/memory.hpp>
#include <entrepot/python/adapters.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace entrepot::python {

// Looks a type up by its Python name: "Pointer", "CStr", "ListOfInt", "DeviceArray" …; nullptr if
// there is no such type. The types are static and usable once the module has been imported.
PyTypeObject *adapter_type(std::string_view name) noexcept;

// True if the object is of an adapter type or of a subclass.
bool is_adapter(PyObject *object) noexcept;

// Requires: is_adapter(object).
inline entrepot_pointer *pointer_of(PyObject *object) noexcept {
    return reinterpret_cast<entrepot_pointer *>(object);
}

// How C uses an argument's memory. A function that frees memory does not read it.
enum class Use : std::uint8_t { read, write, free };

// An argument of type `type`, which is an adapter type or a subclass of Pointer. `held` must live
// until the call returns. Any adapter is accepted for any type.
// Throws: errors name the function and the argument. TypeError for objects that have no address.
//         ValueError and OverflowError for ints that are not addresses. ValueError for read-only
//         memory with Use::write, for strided memory except with Use::free, for a freed
//         DeviceArray.
struct Argument {
    void *address;
    Reference held;
};
Argument argument(PyObject *object, PyTypeObject *type, Use use, const char *function,
                  const char *name);

// Same as argument() for a parameter that is a pointer to a function.
Argument function_argument(PyObject *object, const char *function, const char *name);

// Bytes from the adapter's address to the end of its memory, host or device; -1 if unknown. The
// extent of `Argument::held` is as well known as that of the caller's object.
Py_ssize_t extent_of(PyObject *adapter);

// A DeviceArray of `bytes` bytes at an address that a native allocator returned; owns nothing.
Reference device_array(void *address, std::size_t bytes);

// Called after a native deallocator freed the argument. From now on its DeviceArray and all
// adapters that point into that array are refused. Does nothing for other objects.
void mark_freed(PyObject *object) noexcept;

// The functions below are for record types, which are subclasses of Pointer. Their objects begin
// with entrepot_pointer, and an object of zeros is valid (NULL).

// Applies the documented conversions of Pointer: None, an adapter, an int, a ctypes pointer, CAI, a
// buffer, anything that asarray accepts. The previous owner is released after the new one is set.
// Throws: as argument(), without the names.
void become(PyObject *self, PyObject *object);
// Same as become() for a pointer to a function; CAI and arrays are refused.
void become_function(PyObject *self, PyObject *object);
// Points `self` to `bytes` zeroed bytes, which are freed with it. Throws MemoryError.
void become_owner(PyObject *self, std::size_t bytes, std::size_t alignment = 16);
// Points `self` to an address inside memory of `owner`; an empty owner means that the address is
// not kept alive. The garbage collector sees an owner that is an object (keep()).
void become_view(PyObject *self, void *address, Owner owner);

}  // namespace entrepot::python
