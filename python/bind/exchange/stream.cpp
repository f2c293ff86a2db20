#include "stream.hpp"

#include "../convert.hpp"
#include "../errors.hpp"
#include "host_turn.hpp"
#include "protocol.hpp"

#include <entrepot/device/registry.hpp>
#include <entrepot/exchange/dlpack_device.hpp>

#include <cstdint>

namespace entrepot::python {
namespace {

using dlpack::DLDevice;

Access access_of(const Array &array) { return array.read_only() ? Access::read : Access::write; }

// Small numbers are streams of CUDA and ROCm (0 default, 1 legacy, 2 per thread), never addresses.
constexpr std::intptr_t lowest_address = 4096;

Queue queue_at(std::intptr_t address, DLDevice device) {
    if (address < lowest_address)
        throw Error(ErrorKind::exchange, "__dlpack__: stream ", address, " means nothing on ", device,
                    "; pass a queue, an int that is a sycl::queue *, -1 for no synchronisation, or None");
    return Queue::from_native(registry::backend("sycl"), reinterpret_cast<void *>(address));
}

Queue stream_queue(PyObject *stream, DLDevice device) {
    if (!PyLong_Check(stream))
        return queue_from(stream);
    const Py_ssize_t address = PyLong_AsSsize_t(stream);
    if (address == -1 && PyErr_Occurred())
        throw PythonError{};
    return queue_at(address, device);
}

bool is_minus_one(PyObject *stream) {
    int overflow = 0;
    return PyLong_Check(stream) && PyLong_AsLongLongAndOverflow(stream, &overflow) == -1 && !overflow;
}

}  // namespace

// What the consumer will submit there is not known yet; its place in the queue is claimed now, so that freeing waits for it.
void hand_to(const Queue &queue, const Array &array) {
    array.memory().before(access_of(array), queue, wait_without_gil);
    array.memory().after(access_of(array), queue, queue.submitted());
}

void order_consumer(const Array &array, DLDevice device, PyObject *stream) {
    array.memory().mark_escaped();
    if (stream == Py_None) [[likely]]
        return give_host_its_turn(array);
    if (is_minus_one(stream))
        return;
    if (device.device_type == dlpack::kDLCPU)
        throw Error(ErrorKind::exchange, "__dlpack__: the array is given on ", device,
                    ", which has no streams; stream must be None there");
    hand_to(stream_queue(stream, device), array);
}

const Queue &current_work_queue(const Device &device) {
    const Queue &current = registry::current_queue();
    return current.device() == device ? current : device.default_queue();
}

void order_current_work(const Array &array, DLDevice device) {
    if (device.device_type == dlpack::kDLCPU)
        return give_host_its_turn(array);
    array.memory().mark_escaped();
    hand_to(current_work_queue(array.device().root()), array);
}

void order_behind_producer(const Array &array, const Queue &queue) {
    array.memory().mark_escaped();
    array.memory().after(Access::write, queue, queue.submitted());
}

}  // namespace entrepot::python
