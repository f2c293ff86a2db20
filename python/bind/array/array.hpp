// entrepot.Array as a plain CPython type: an Array inside an object from a free list, so that an exchange costs nanoseconds.
#pragma once
#include <Python.h>

#include "../free_list.hpp"
#include "../reference.hpp"

#include <entrepot/array/array.hpp>
#include <entrepot/memory/records.hpp>

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
    std::atomic<Py_ssize_t *> byte_strides;  // once somebody has asked; else nullptr
    // What an import returns, and never empty: it returns it here, and nothing is moved.
    alignas(std::optional<Array>) std::byte storage[sizeof(std::optional<Array>)];

    Array &array() noexcept { return **std::launder(reinterpret_cast<std::optional<Array> *>(storage)); }
};

// What the last arrays left behind, for the next ones; guarded by the GIL, and empty where there is none. Objects in the list
// keep their reference to the type.
extern FreeList free_arrays;
extern RecordList<has_gil ? 64 : 0> free_records;

// Memory::borrow_host with one of those.
inline Memory borrow_host_here(void *data, std::size_t bytes, Owner &&owner) {
    return borrow_host(free_records, data, bytes, std::move(owner));
}

// An object whose Array is yet to be made; nobody else has seen it. Without that it goes back where it came from.
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
        if (object_ && may_let_go()) [[unlikely]]
            keep_or_free(reinterpret_cast<PyObject *>(object_));
    }

    explicit operator bool() const noexcept { return object_ != nullptr; }  // false: MemoryError is set
    void *storage() const noexcept { return object_->storage; }
    // Once the Array is there: a new reference.
    PyObject *made() noexcept {
        ArrayObject *const object = std::exchange(object_, nullptr);
        object->weak_references = nullptr;
        new (&object->usm_ndarray) LazyReference();
        object->byte_strides.store(nullptr, std::memory_order_relaxed);
        PyObject *const self = reinterpret_cast<PyObject *>(object);
        PyObject_GC_Track(self);
        return self;
    }

    // What is left of an array once all that it held is gone.
    static void keep_or_free(PyObject *self) noexcept {
        if (free_arrays.give(self)) [[likely]]
            return;
        PyObject_GC_Del(self);
        Py_DECREF(array_type);
    }

private:
    ArrayObject *object_;
};

// The object of what `make` returns, a std::optional<Array> that is not empty. A new reference; nullptr with MemoryError set.
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

// Of an object for which is_array holds.
inline const Array &array_of(PyObject *object) noexcept { return reinterpret_cast<ArrayObject *>(object)->array(); }

// Its strides in bytes, which live as long as the object: Python's protocols lend them out. Throws MemoryError.
const Py_ssize_t *byte_strides_of(PyObject *object);

}  // namespace entrepot::python
