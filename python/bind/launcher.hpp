// Launchers: a kernel with its range, to be called with the kernel's arguments; the objects behind kernel[global, local], of
// programs' kernels and of those written in Python.
#pragma once
#include <Python.h>

#include <entrepot/device/backend.h>

namespace entrepot::python {

struct Launcher {
    PyObject_HEAD vectorcallfunc called;
    PyObject *kernel;
    ep_range range;
};

inline const Launcher &launcher_of(PyObject *self) noexcept { return *reinterpret_cast<Launcher *>(self); }

// A type of them, in the module; nullptr with an exception set. `name` is the full one and, as `doc`, is never freed.
PyTypeObject *add_launcher_type(PyObject *module, const char *name, const char *doc);
// A new reference; throws PythonError. `called` is what a call of it does.
PyObject *new_launcher(PyTypeObject *type, vectorcallfunc called, PyObject *kernel, const ep_range &range);

}  // namespace entrepot::python
