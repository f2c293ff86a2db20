// Errors in Python: the exception classes, the conversion of C++ exceptions into Python ones, and
// saving a pending Python exception while other code runs.
#pragma once
#include <Python.h>

#include <entrepot/core/error.hpp>

namespace entrepot::python {

// The exception class of an error kind: a built-in one or Entrepot's. Borrowed and immortal.
PyObject *class_of(ErrorKind kind) noexcept;

// Thrown while a Python exception is set, to carry it through C++ frames.
struct PythonError {};

// Clears the exception that a query of an object raised, if it is an instance of `answer`.
// Throws: PythonError for MemoryError and for other exceptions (KeyboardInterrupt, SystemExit).
void clear_answer(PyObject *answer = PyExc_Exception);

// Inside `catch (...)`: sets the Python exception for the C++ one. Returns
// -1, for slots that return int.
int raise_current() noexcept;

// Saves a pending Python exception while foreign code runs, and restores it afterwards. Needed in
// destructors: foreign code must start without a pending exception.
class SetErrorAside {
public:
    SetErrorAside() noexcept {
        if (PyErr_Occurred()) [[unlikely]]
            PyErr_Fetch(&type_, &value_, &traceback_);
    }
    ~SetErrorAside() {
        if (type_) [[unlikely]]
            PyErr_Restore(type_, value_, traceback_);
    }
    SetErrorAside(const SetErrorAside &) = delete;
    SetErrorAside &operator=(const SetErrorAside &) = delete;

private:
    PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

}  // namespace entrepot::python
