// Streams of Python consumers and producers: DLPack's `stream`, and the queue where work of ours goes now.
//
// For CUDA and HIP the specification says what `stream` is: an int. SYCL is left open there, so we take what is in use: a queue
// object (ours, dpctl's, anything with _get_capsule), a SyclQueueRef capsule, and an int that is a `sycl::queue *`. A queue
// object is taken for CUDA and HIP as well. What follows from it is the same for all protocols: exchange/stream.hpp.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>
#include <entrepot/exchange/dlpack_abi.hpp>
#include <entrepot/exchange/stream.hpp>

namespace entrepot::python {

// Orders the consumer of an export behind the work on the array: its queue waits for an event where `stream` names one. None is
// the legacy default stream for device memory of CUDA's and HIP's. Everywhere else a consumer that names no queue reads on the
// host or cannot be made to wait, so the calling thread waits for it, without the GIL; -1 asks for no order at all. Throws
// ExchangeError for a stream that the device does not have, TypeError for what is no queue. The consumer will hold the memory,
// and the caller does until then.
void order_consumer(const Array &array, dlpack::DLDevice device, PyObject *stream);

// Where work of ours on a device would go now: the innermost device_context's queue if it is on that device, else its default
// one.
const Queue &current_work_queue(const Device &device);

// For consumers by the C exchange API, which work on current_work_queue: it waits for an event of the array's work. Only the host
// has no such queue, so there the calling thread waits. `holder` is what they hold.
void order_current_work(const Array &array, dlpack::DLDevice device, Memory::Consumer holder);

}  // namespace entrepot::python
