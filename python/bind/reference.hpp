// Reference: a counted reference to a Python object that goes with its scope.
#pragma once
#include <Python.h>

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
    ~Reference() { Py_XDECREF(object_); }

    PyObject *get() const noexcept { return object_; }
    PyObject *release() noexcept { return std::exchange(object_, nullptr); }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    PyObject *object_ = nullptr;
};

}  // namespace entrepot::python
