// entrepot.Array as a plain CPython type: an Array inside an object from a free list, so that an exchange costs nanoseconds.
#pragma once
#include <Python.h>

#include "../reference.hpp"

#include <entrepot/array/array.hpp>

#include <atomic>
#include <cstddef>
#include <new>

namespace entrepot::python {

extern PyTypeObject *array_type;  // final: an exact type check is the whole test

inline bool is_array(PyObject *object) noexcept { return Py_TYPE(object) == array_type; }

// A new reference; nullptr with MemoryError set.
PyObject *wrap(Array &&array) noexcept;

struct ArrayObject {
    PyObject_HEAD PyObject *weak_references;
    LazyReference usm_ndarray;               // dpnp's array of the same memory, once dpnp has asked
    std::atomic<Py_ssize_t *> byte_strides;  // once somebody has asked; else nullptr
    alignas(Array) std::byte storage[sizeof(Array)];

    Array &array() noexcept { return *std::launder(reinterpret_cast<Array *>(storage)); }
};

// Of an object for which is_array holds.
inline const Array &array_of(PyObject *object) noexcept { return reinterpret_cast<ArrayObject *>(object)->array(); }

// Its strides in bytes, which live as long as the object: Python's protocols lend them out. Throws MemoryError.
const Py_ssize_t *byte_strides_of(PyObject *object);

}  // namespace entrepot::python
