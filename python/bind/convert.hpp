// Any Python object that stands for a device, context, queue or event → ours.
#pragma once
#include <Python.h>

#include <entrepot/device/queue.hpp>
#include <entrepot/device/registry.hpp>

namespace entrepot::python {

// Of a Device, a selector, or dpctl's SyclDevice. Throws TypeError for anything else, and as registry::select does.
Device device_from(PyObject *object);

// Of a Queue; dpctl's SyclQueue; a capsule "SyclQueueRef", which is used up; an object whose _get_capsule() gives one; a CUDA
// stream, which is an object with __cuda_stream__ and lives as long as the Queue; or a device as above: its default queue. Throws
// TypeError for anything else, ValueError for a used capsule.
Queue queue_from(PyObject *object);

// Of a Context; dpctl's SyclContext; a capsule "SyclContextRef", which is used up; an object whose _get_capsule() gives one;
// or a queue or device as above: its context. Throws TypeError for anything else, ValueError for a used capsule.
Context context_from(PyObject *object);

// Of an Event or dpctl's SyclEvent. Throws TypeError for anything else, which says what was expected.
Event event_from(PyObject *object, const char *expected = "an event was expected (an Event, or dpctl's SyclEvent)");

// Of a sycl::queue that somebody else owns.
Queue queue_from_sycl(void *native);

// As above where `object` is ours or dpctl's, for comparisons; none where it is anything else.
Device known_device(PyObject *object);
Queue known_queue(PyObject *object);
Context known_context(PyObject *object);

}  // namespace entrepot::python
