// Placement of new memory: the device, kind and queue from the caller's arguments or the defaults.
#pragma once
#include <Python.h>

#include <entrepot/memory/memory.hpp>

namespace entrepot::python {

// Converts 'host', 'device' or 'shared'. Throws ValueError for any other string, including
// 'unknown', and TypeError for any other object.
UsmKind kind_from(PyObject *object);

// Host memory on the host, device memory on any other device.
UsmKind default_kind(const Device &device);

struct Placement {
    Queue queue;
    UsmKind kind;
};

// Each argument may be nullptr or None. Without a device and a queue, uses the current queue.
// Throws: ValueError if the queue belongs to another device than `device`.
Placement placement_from(PyObject *device, PyObject *kind, PyObject *queue);

}  // namespace entrepot::python
