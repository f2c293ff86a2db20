// Objects of the classes that nanobind binds, told by their type and made by it: where a cast would be paid for on a hot path.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>
#include <new>
#include <type_traits>
#include <utility>

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

// A new object that holds the value. A cast of nanobind's would look first whether there is an object for the place where the
// value is now: never, of one that moves.
template <class T> PyObject *moved_into_object(T &&value) {
    using Value = std::remove_cvref_t<T>;
    static_assert(std::is_rvalue_reference_v<T &&> && std::is_nothrow_move_constructible_v<Value>);
    nanobind::object made = nanobind::inst_alloc(reinterpret_cast<PyObject *>(bound_type<Value>()));
    if (!made)
        nanobind::raise_python_error();
    new (nanobind::inst_ptr<Value>(made)) Value(std::move(value));
    nanobind::inst_mark_ready(made);
    return made.release().ptr();
}

}  // namespace entrepot::python
