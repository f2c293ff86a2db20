// entrepot.Array as a plain CPython type: an Array inside an object from a free list, so that an exchange costs nanoseconds.
#pragma once
#include <Python.h>

#include "../reference.hpp"

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
    std::atomic<Py_ssize_t *> byte_strides;  // once somebody has asked; else nullptr
    // What an import returns, and never empty: it returns it here, and nothing is moved.
    alignas(std::optional<Array>) std::byte storage[sizeof(std::optional<Array>)];

    Array &array() noexcept { return **std::launder(reinterpret_cast<std::optional<Array> *>(storage)); }
};

// An object whose Array is yet to be made; nobody else has seen it. Without that it goes back where it came from.
class UnmadeArray {
public:
    UnmadeArray() noexcept;
    UnmadeArray(const UnmadeArray &) = delete;
    UnmadeArray &operator=(const UnmadeArray &) = delete;
    ~UnmadeArray() {
        if (object_) [[unlikely]]
            give_back();
    }

    explicit operator bool() const noexcept { return object_ != nullptr; }  // false: MemoryError is set
    void *storage() const noexcept { return object_->storage; }
    // Once the Array is there: a new reference.
    PyObject *made() noexcept;

private:
    void give_back() noexcept;

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
