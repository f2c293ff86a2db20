// Errors in Python: classes made from the core's table, the one way in which a C++ exception becomes a Python one, and how a
// Python one is kept while other code runs.
#pragma once
#include <Python.h>

#include <entrepot/core/error.hpp>

namespace entrepot::python {

// The class of that kind; borrowed, immortal. Python's own for the kinds that are Python's own.
PyObject *class_of(ErrorKind kind) noexcept;

// A Python exception is set; carries it through C++ frames.
struct PythonError {};

// After a question to an object, which may answer by raising: forgets that answer, if there is one. Whatever else was raised
// (KeyboardInterrupt, SystemExit), and MemoryError, is the caller's to see: throws PythonError.
void clear_answer(PyObject *answer = PyExc_Exception);

// Inside `catch (...)`: sets the Python exception that the C++ one stands for. Always returns -1, for slots that return int.
int raise_current() noexcept;

// Around foreign code that is run where an exception may be on its way already, as in destructors: such code has to begin without
// one. The exception is set again afterwards.
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
