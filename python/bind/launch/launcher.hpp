// Launchers: the objects behind kernel[global, local]. A launcher is a kernel with a range and is
// called with the kernel's arguments. Used for program kernels and for kernels written in Python.
#pragma once
#include <Python.h>

#include <entrepot/device/backend.h>

namespace entrepot::python {

struct Launcher {
    PyObject_HEAD vectorcallfunc called;
    PyObject *kernel;
    ep_range range;
};

inline const Launcher &launcher_of(PyObject *self) noexcept {
    return *reinterpret_cast<Launcher *>(self);
}

// Adds a launcher type to the module. `name` is the fully qualified name.
//
// Returns: nullptr with an exception set on failure.
// Lifetime: `name` and `doc` are never freed.
// GIL: required.
PyTypeObject *add_launcher_type(PyObject *module, const char *name, const char *doc);
// A launcher of type `type`; `called` implements its call.
//
// Requires: the range has 1 to 3 dimensions.
// Ownership: returns a new reference, which owns a reference to `kernel`.
// Throws: PythonError
// GIL: required.
PyObject *new_launcher(PyTypeObject *type, vectorcallfunc called, PyObject *kernel,
                       const ep_range &range);

}  // namespace entrepot::python
