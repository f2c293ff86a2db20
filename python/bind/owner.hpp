// Owners that are Python objects: kept by a reference, let go with the GIL held and never inside a driver's callback.
#pragma once
#include <Python.h>

#include <entrepot/memory/memory.hpp>

namespace entrepot::python {

// Keeps `object` alive. Released at once on a thread that holds the GIL, though no deeper inside one another than the stack bears;
// elsewhere it is queued, and dropped by a pending call or at our next entry, whichever comes first. When the interpreter is finalising, it is leaked.
Owner keep(PyObject *object);

// The object that `keep` keeps, or whose buffer is held, borrowed; nullptr where the owner is something else.
PyObject *kept_object(const Owner &owner) noexcept;

// For owners that are more than a reference (a held Py_buffer, a managed tensor): runs `release(handle)` with the GIL held,
// at once or queued as above.
void release_with_gil(void *handle, void (*release)(void *)) noexcept;

// Drops what was queued. Called with the GIL held at the entry of the import, export and allocation functions: a load when there
// is nothing.
void drain_released() noexcept;

}  // namespace entrepot::python
