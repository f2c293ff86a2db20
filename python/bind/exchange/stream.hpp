// Streams of Python consumers and producers: DLPack's `stream`, and the queue
// of Entrepot's current work.
//
// For CUDA and HIP, `stream` is an int by the specification. SYCL is unspecified, so all forms in
// use are accepted:
// - a queue object: Entrepot's, dpctl's, or an object with _get_capsule();
// - a SyclQueueRef capsule;
// - an int that is a `sycl::queue *`.
// Queue objects are accepted for CUDA and HIP as well. The
// protocol-independent part is in exchange/stream.hpp.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>
#include <entrepot/exchange/dlpack_abi.hpp>
#include <entrepot/exchange/stream.hpp>

namespace entrepot::python {

// Orders the consumer of an export after the pending work on the array. The consumer's queue waits
// for an event if `stream` names a queue. None means the legacy default stream for device memory of
// CUDA and HIP. In all other cases the consumer reads on the host, or its queue is unknown, so the
// calling thread waits. -1 requests no synchronization.
// Throws: ExchangeError for a stream that the device does not have, TypeError for any other object.
// Lifetime: the consumer will hold the memory; the caller must hold it until then.
// GIL: released while waiting.
void order_consumer(const Array &array, dlpack::DLDevice device, PyObject *stream);

// The queue of new work on a device: that of the innermost device_context if it is on this device,
// otherwise the default queue.
const Queue &current_work_queue(const Device &device);

// Orders consumers by the C exchange API, which work on current_work_queue, after the pending work
// on the array. For the host, which has no such queue, the calling thread waits. `holder` says what
// the consumer holds.
void order_current_work(const Array &array, dlpack::DLDevice device, Memory::Consumer holder);

}  // namespace entrepot::python
