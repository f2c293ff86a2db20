// DLPack's `stream`: who waits for whom at a hand-over.
//
// The specification leaves SYCL open. We take what is in use: a queue object (ours, dpctl's, anything with _get_capsule), a
// SyclQueueRef capsule, and an int that is a `sycl::queue *`.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>
#include <entrepot/exchange/dlpack_abi.hpp>

namespace entrepot::python {

// Orders the consumer of an export behind the work on the array: its queue waits for an event where `stream` names one. A
// consumer on the host, or one that names no queue, cannot be made to wait, so the calling thread waits for it, without the GIL;
// -1 asks for no order at all. Throws ExchangeError for a stream that the device does not have, TypeError for what is no queue.
void order_consumer(const Array &array, dlpack::DLDevice device, PyObject *stream);

// Where work of ours on a device would go now: the innermost device_context's queue if it is on that device, else its default
// one.
const Queue &current_work_queue(const Device &device);

// For consumers by the C exchange API, which work on current_work_queue: it waits for an event of the array's work. Only the host
// has no such queue, so there the calling thread waits.
void order_current_work(const Array &array, dlpack::DLDevice device);

// Of an export to somebody who will submit work to `queue`, in a context of the memory: it waits for the array's work, and later
// work on the array for what is submitted there.
void hand_to(const Queue &queue, const Array &array);

// Of an import: the producer's work is in `queue`, or the producer has made it wait there. To everybody else, the memory was
// written there just now.
void order_behind_producer(const Array &array, const Queue &queue);

}  // namespace entrepot::python
