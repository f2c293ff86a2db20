// Where new memory goes: the device, kind and queue that a caller named, or their defaults.
#pragma once
#include <Python.h>

#include <entrepot/memory/memory.hpp>

namespace entrepot::python {

// 'host', 'device' or 'shared'. Throws ValueError for anything else, 'unknown' included; TypeError for what is no string.
UsmKind kind_from(PyObject *object);

// On the host there is one kind; elsewhere memory is the device's unless another kind is named.
UsmKind default_kind(const Device &device);

struct Placement {
    Queue queue;
    UsmKind kind;
};

// Each may be nullptr or None. Without a device or a queue: the current queue. Throws ValueError where the queue is of
// another device than the one named.
Placement placement_from(PyObject *device, PyObject *kind, PyObject *queue);

}  // namespace entrepot::python
