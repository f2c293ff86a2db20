// Reference and its siblings: owned references to Python objects. Also turns borrowed references of
// the C API into owned ones, because another thread may release the object meanwhile.
#pragma once
#include <Python.h>

#include "errors.hpp"
#include "gil.hpp"
#include "release.hpp"

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
        if (object_ && may_decref())
            Py_DECREF(object_);
    }

    PyObject *get() const noexcept { return object_; }
    PyObject *release() noexcept { return std::exchange(object_, nullptr); }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    PyObject *object_ = nullptr;
};

// Takes a new reference from the C API. Throws PythonError if it is nullptr.
inline Reference checked(PyObject *created) {
    if (!created)
        throw PythonError{};
    return Reference(created);
}

// Created on first use, then kept. If several threads create it at once, all use the first object.
class LazyReference {
public:
    LazyReference() noexcept = default;
    LazyReference(Reference made) noexcept : object_(made.release()) {}
    // Not for objects that other threads see. So plain stores suffice: an atomic exchange would
    // take as long as creating a small object.
    LazyReference(LazyReference &&other) noexcept : object_(other.take()) {}
    LazyReference &operator=(LazyReference &&other) noexcept {
        const Reference old(take());
        object_.store(other.take(), std::memory_order_relaxed);
        return *this;
    }
    ~LazyReference() { const Reference last(get()); }

    PyObject *get() const noexcept { return object_.load(std::memory_order_acquire); }
    explicit operator bool() const noexcept { return get() != nullptr; }
    // Stores `made` unless another thread was first. Returns the stored object, borrowed.
    PyObject *keep(Reference made) noexcept {
        PyObject *first = nullptr;
        return object_.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)
                   ? made.release()
                   : first;
    }

private:
    PyObject *take() noexcept {
        PyObject *const taken = object_.load(std::memory_order_relaxed);
        object_.store(nullptr, std::memory_order_relaxed);
        return taken;
    }

    std::atomic<PyObject *> object_{nullptr};
};

// A reference in an ENTREPOT_GIL_GUARDED cache. Never released in a build with a GIL; otherwise
// released when the cache's thread ends.
class CachedReference {
public:
    CachedReference() noexcept = default;
    explicit CachedReference(PyObject *borrowed) noexcept : object_(Py_NewRef(borrowed)) {}
    CachedReference(CachedReference &&other) noexcept
        : object_(std::exchange(other.object_, nullptr)) {}
    CachedReference &operator=(CachedReference &&) = delete;
    ~CachedReference() {
        if constexpr (!has_gil)
            if (object_)
                release_with_gil<decref>(object_);
    }

    PyObject *get() const noexcept { return object_; }
    void replace(PyObject *borrowed) noexcept {
        const Reference old(std::exchange(object_, Py_NewRef(borrowed)));
    }
    void swap(CachedReference &other) noexcept { std::swap(object_, other.object_); }

private:
    PyObject *object_ = nullptr;
};

// The value for the key; empty if the dict has no such key, or with an exception set on failure.
inline Reference item_of(PyObject *dict, PyObject *key) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value = nullptr;
    (void)PyDict_GetItemRef(dict, key, &value);
    return Reference(value);
#else
    return Reference::borrow(PyDict_GetItemWithError(dict, key));
#endif
}

// Overload for a C string; empty without an exception on failure.
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

// The module with that name if it has been imported; empty otherwise.
inline Reference imported_module(const char *name) noexcept {
    return item_of(PyImport_GetModuleDict(), name);
}

// The method resolution order of a type, with the type first; empty if its
// metaclass returns no tuple.
inline Reference mro_of(PyTypeObject *type) noexcept {
    if constexpr (has_gil)
        return Reference::borrow(type->tp_mro);
    Reference mro(PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__mro__"));
    PyErr_Clear();
    return mro && PyTuple_Check(mro.get()) ? std::move(mro) : Reference();
}

// A snapshot of a list or tuple as a tuple, because a list can change while Python code runs. Empty
// with an exception set if memory runs out.
inline Reference items_of(PyObject *list_or_tuple) noexcept {
    return PyList_Check(list_or_tuple) ? Reference(PyList_AsTuple(list_or_tuple))
                                       : Reference::borrow(list_or_tuple);
}

}  // namespace entrepot::python
