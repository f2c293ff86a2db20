// entrepot.Event: a C type with a free list, because each launch, copy and fill creates one.
#pragma once
#include <Python.h>

#include <entrepot/device/queue.hpp>

namespace entrepot::python {

// The C++ event; nullptr if the object is not an Event.
const Event *event_of(PyObject *object) noexcept;

// A new Event. Throws PythonError.
PyObject *wrap_event(Event &&event);

bool init_event_type(PyObject *module);

}  // namespace entrepot::python
