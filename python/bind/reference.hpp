// Reference: a counted reference to a Python object that goes with its scope.
#pragma once
#include <Python.h>

#include "errors.hpp"
#include "gil.hpp"

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

// The items of a list or tuple as they are now, in a tuple: a list may change while Python code runs between two of them. Empty,
// with an exception set, where there is no memory left.
inline Reference items_of(PyObject *list_or_tuple) noexcept {
    return PyList_Check(list_or_tuple) ? Reference(PyList_AsTuple(list_or_tuple)) : Reference::borrow(list_or_tuple);
}

}  // namespace entrepot::python
