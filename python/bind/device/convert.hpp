// Conversion of Python objects that represent a device, context, queue or event.
#pragma once
#include <Python.h>

#include <entrepot/device/queue.hpp>
#include <entrepot/device/registry.hpp>

namespace entrepot::python {

// Accepts a Device, a selector string, or dpctl's SyclDevice.
// Throws: TypeError for any other object; the errors of registry::select.
Device device_from(PyObject *object);

// Accepts:
// - a Queue or dpctl's SyclQueue;
// - a capsule "SyclQueueRef", which is marked as used;
// - an object whose _get_capsule() returns such a capsule;
// - a CUDA stream, an object with __cuda_stream__, which the Queue keeps alive;
// - a device, as device_from(), for its default queue.
// Throws: TypeError for any other object, ValueError for a used capsule.
Queue queue_from(PyObject *object);

// Accepts:
// - a Context or dpctl's SyclContext;
// - a capsule "SyclContextRef", which is marked as used;
// - an object whose _get_capsule() returns such a capsule;
// - a queue or device as above, for its context.
// Throws: TypeError for any other object, ValueError for a used capsule.
Context context_from(PyObject *object);

// Accepts an Event or dpctl's SyclEvent. Throws TypeError for any other object, with `expected`.
Event event_from(PyObject *object,
                 const char *expected = "an event was expected (an Event, or dpctl's SyclEvent)");

// Wraps a sycl::queue without taking ownership.
Queue queue_from_sycl(void *native);

// For comparisons: convert Entrepot's and dpctl's objects only; empty for any other object.
Device known_device(PyObject *object);
Queue known_queue(PyObject *object);
Context known_context(PyObject *object);

}  // namespace entrepot::python
