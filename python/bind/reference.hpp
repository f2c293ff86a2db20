// Reference: a counted reference to a Python object that goes with its scope; its siblings in objects and in caches; and borrowed
// references of CPython's made counted ones, because another thread may take away what they were borrowed from.
#pragma once
#include <Python.h>

#include "errors.hpp"
#include "gil.hpp"
#include "owner.hpp"

#include <atomic>
#include <utility>

namespace entrepot::python {

class Reference {
public:
    Reference() noexcept = default;
    explicit Reference(PyObject *stolen) noexcept : object_(stolen) {}
    static Reference borrow(PyObject *object) noexcept { return Reference(Py_XNewRef(object)); }
    Reference(Reference &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Reference &operator=(Reference &&other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Reference() {
        if (object_ && may_let_go())
            Py_DECREF(object_);
    }

    PyObject *get() const noexcept { return object_; }
    PyObject *release() noexcept { return std::exchange(object_, nullptr); }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    PyObject *object_ = nullptr;
};

// What CPython made. Throws PythonError where it made nothing.
inline Reference checked(PyObject *created) {
    if (!created)
        throw PythonError{};
    return Reference(created);
}

// Made when it is first asked for, and then kept: threads that make it at once all get the first.
class LazyReference {
public:
    LazyReference() noexcept = default;
    LazyReference(Reference made) noexcept : object_(made.release()) {}
    // Moves are not for objects that other threads see, so they need no exchange, which takes as long as making a small object.
    LazyReference(LazyReference &&other) noexcept : object_(other.take()) {}
    LazyReference &operator=(LazyReference &&other) noexcept {
        const Reference old(take());
        object_.store(other.take(), std::memory_order_relaxed);
        return *this;
    }
    ~LazyReference() { const Reference last(get()); }

    PyObject *get() const noexcept { return object_.load(std::memory_order_acquire); }
    explicit operator bool() const noexcept { return get() != nullptr; }
    // What is kept from now on, borrowed.
    PyObject *keep(Reference made) noexcept {
        PyObject *first = nullptr;
        return object_.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel) ? made.release() : first;
    }

private:
    PyObject *take() noexcept {
        PyObject *const taken = object_.load(std::memory_order_relaxed);
        object_.store(nullptr, std::memory_order_relaxed);
        return taken;
    }

    std::atomic<PyObject *> object_{nullptr};
};

// In a cache that is ENTREPOT_GIL_GUARDED: with a GIL it lasts as long as the process; without, as long as its thread.
class CachedReference {
public:
    CachedReference() noexcept = default;
    explicit CachedReference(PyObject *borrowed) noexcept : object_(Py_NewRef(borrowed)) {}
    CachedReference(CachedReference &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    CachedReference &operator=(CachedReference &&) = delete;
    ~CachedReference() {
        if constexpr (!has_gil)
            if (object_)
                release_with_gil<decref>(object_);
    }

    PyObject *get() const noexcept { return object_; }
    void replace(PyObject *borrowed) noexcept { const Reference old(std::exchange(object_, Py_NewRef(borrowed))); }

private:
    PyObject *object_ = nullptr;
};

// The value under the key; empty where there is none, with an exception set where the look-up failed.
inline Reference item_of(PyObject *dict, PyObject *key) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value = nullptr;
    (void)PyDict_GetItemRef(dict, key, &value);
    return Reference(value);
#else
    return Reference::borrow(PyDict_GetItemWithError(dict, key));
#endif
}

// The same for a name; empty, without an exception, where that fails.
inline Reference item_of(PyObject *dict, const char *name) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value = nullptr;
    if (PyDict_GetItemStringRef(dict, name, &value) < 0)
        PyErr_Clear();
    return Reference(value);
#else
    return Reference::borrow(PyDict_GetItemString(dict, name));
#endif
}

// The module of that name, where somebody has imported it.
inline Reference imported_module(const char *name) noexcept { return item_of(PyImport_GetModuleDict(), name); }

// The classes that a type inherits from, itself first; empty where its metaclass says otherwise.
inline Reference mro_of(PyTypeObject *type) noexcept {
    if constexpr (has_gil)
        return Reference::borrow(type->tp_mro);
    Reference mro(PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__mro__"));
    PyErr_Clear();
    return mro && PyTuple_Check(mro.get()) ? std::move(mro) : Reference();
}

// The items of a list or tuple as they are now, in a tuple: a list may change while Python code runs between two of them. Empty,
// with an exception set, where there is no memory left.
inline Reference items_of(PyObject *list_or_tuple) noexcept {
    return PyList_Check(list_or_tuple) ? Reference(PyList_AsTuple(list_or_tuple)) : Reference::borrow(list_or_tuple);
}

}  // namespace entrepot::python
