// Fast type checks for objects of the classes that nanobind binds; cheaper than nanobind::cast.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>

namespace entrepot::python {

// The Python type of T. Borrowed and immortal.
//
// Requires: T has been bound with nanobind.
// Thread safety: thread-safe; threads that race store the same pointer.
// GIL: required.
template <class T> PyTypeObject *bound_type() {
    static std::atomic<PyTypeObject *> found{nullptr};
    PyTypeObject *type = found.load(std::memory_order_relaxed);
    if (!type) [[unlikely]] {
        type = reinterpret_cast<PyTypeObject *>(nanobind::type<T>().ptr());
        found.store(type, std::memory_order_relaxed);
    }
    return type;
}

// Like nanobind::try_cast, without its look-up of the type.
//
// Returns: the C++ object inside, which `object` owns; nullptr if `object` is not a T or its
//          __init__ has not run.
// GIL: required.
template <class T> T *try_cast(PyObject *object) {
    PyTypeObject *const type = bound_type<T>();
    const bool is_one = Py_TYPE(object) == type || PyType_IsSubtype(Py_TYPE(object), type);
    return is_one && nanobind::inst_ready(object) ? nanobind::inst_ptr<T>(object) : nullptr;
}

}  // namespace entrepot::python
