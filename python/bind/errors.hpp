// Errors in Python: classes made from the core's table, and the one way in which a C++ exception becomes a Python one.
#pragma once
#include <Python.h>

#include <entrepot/core/error.hpp>

namespace entrepot::python {

// The class of that kind; borrowed, immortal. Python's own for the kinds that are Python's own.
PyObject *class_of(ErrorKind kind) noexcept;

// Inside `catch (...)`: sets the Python exception that the C++ one stands for. Always returns -1, for slots that return int.
int raise_current() noexcept;

}  // namespace entrepot::python
