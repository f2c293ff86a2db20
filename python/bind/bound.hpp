// Objects of the classes that nanobind binds, told by their type: where a cast would be paid for on a hot path.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>

namespace entrepot::python {

template <class T> PyTypeObject *bound_type() {
    static std::atomic<PyTypeObject *> found{nullptr};
    PyTypeObject *type = found.load(std::memory_order_relaxed);
    if (!type) [[unlikely]] {
        type = reinterpret_cast<PyTypeObject *>(nanobind::type<T>().ptr());
        found.store(type, std::memory_order_relaxed);
    }
    return type;
}

// What the object holds; nullptr where it is no T, or one whose __init__ never ran.
template <class T> T *ours(PyObject *object) {
    PyTypeObject *const type = bound_type<T>();
    const bool is_one = Py_TYPE(object) == type || PyType_IsSubtype(Py_TYPE(object), type);
    return is_one && nanobind::inst_ready(object) ? nanobind::inst_ptr<T>(object) : nullptr;
}

}  // namespace entrepot::python
