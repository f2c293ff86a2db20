// entrepot.Event: each launch, copy and fill makes one, so it is a plain type of CPython's whose objects come from a free list.
#pragma once
#include <Python.h>

#include <entrepot/device/queue.hpp>

namespace entrepot::python {

// What an Event holds; nullptr for any other object.
const Event *event_of(PyObject *object) noexcept;

// A new Event. Throws PythonError.
PyObject *wrap_event(Event &&event);

bool init_event_type(PyObject *module);

}  // namespace entrepot::python
