// entrepot.Array as a C type with a free list and the C++ Array inside the
// object, for fast exchange.
#pragma once
#include <Python.h>

#include "../support/free_list.hpp"
#include "../support/reference.hpp"

#include <entrepot/array/array.hpp>

#include <atomic>
#include <cstddef>
#include <new>
#include <optional>
#include <utility>

namespace entrepot::python {

extern PyTypeObject *array_type;  // final: an exact type check is the whole test

inline bool is_array(PyObject *object) noexcept { return Py_TYPE(object) == array_type; }

struct ArrayObject {
    PyObject_HEAD PyObject *weak_references;
    LazyReference usm_ndarray;               // dpnp's array of the same memory, once dpnp has asked
    std::atomic<Py_ssize_t *> byte_strides;  // computed on first use; nullptr before
    // Never empty. An optional, because imports return one, which is made here without a move.
    alignas(std::optional<Array>) std::byte storage[sizeof(std::optional<Array>)];

    Array &array() noexcept {
        return **std::launder(reinterpret_cast<std::optional<Array> *>(storage));
    }
};

// Memory of destroyed arrays, for reuse. Protected by the GIL; always empty in free-threaded
// builds. Objects in the list keep their reference to the type.
extern ObjectFreeList free_arrays;

// An object whose Array is not constructed yet and that no other code has seen. Unless made() is
// called, the destructor frees the object.
class UnmadeArray {
public:
    UnmadeArray() noexcept {
        PyObject *self = free_arrays.take();
        if (self) [[likely]]
            _Py_NewReference(self);
        else
            self = reinterpret_cast<PyObject *>(PyObject_GC_New(ArrayObject, array_type));
        object_ = reinterpret_cast<ArrayObject *>(self);
    }
    UnmadeArray(const UnmadeArray &) = delete;
    UnmadeArray &operator=(const UnmadeArray &) = delete;
    ~UnmadeArray() {
        if (object_ && may_decref()) [[unlikely]]
            keep_or_free(reinterpret_cast<PyObject *>(object_));
    }

    // false: MemoryError is set
    explicit operator bool() const noexcept { return object_ != nullptr; }
    void *storage() const noexcept { return object_->storage; }
    // Requires: the Array has been constructed in storage(). Returns a new reference.
    PyObject *made() noexcept {
        ArrayObject *const object = std::exchange(object_, nullptr);
        object->weak_references = nullptr;
        new (&object->usm_ndarray) LazyReference();
        object->byte_strides.store(nullptr, std::memory_order_relaxed);
        PyObject *const self = reinterpret_cast<PyObject *>(object);
        PyObject_GC_Track(self);
        return self;
    }

    // Frees an object whose members have been destroyed.
    static void keep_or_free(PyObject *self) noexcept {
        if (free_arrays.put(self)) [[likely]]
            return;
        PyObject_GC_Del(self);
        Py_DECREF(array_type);
    }

private:
    ArrayObject *object_;
};

// Makes an object that holds the result of `make`, a std::optional<Array> that is not empty.
// Returns: a new reference; nullptr with MemoryError set.
template <class Make> PyObject *wrap_made(Make &&make) {
    UnmadeArray object;
    if (!object) [[unlikely]]
        return nullptr;
    new (object.storage()) std::optional<Array>(make());
    return object.made();
}

inline PyObject *wrap(Array &&array) noexcept {
    return wrap_made([&] { return std::optional<Array>(std::move(array)); });
}

// Requires: is_array(object).
inline const Array &array_of(PyObject *object) noexcept {
    return reinterpret_cast<ArrayObject *>(object)->array();
}

// The strides in bytes, which live as long as the object, as exports require. Throws MemoryError.
const Py_ssize_t *byte_strides_of(PyObject *object);

}  // namespace entrepot::python
