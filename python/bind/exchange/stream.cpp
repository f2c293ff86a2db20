#include "stream.hpp"

#include "../convert.hpp"
#include "../errors.hpp"
#include "../reference.hpp"
#include "host_turn.hpp"
#include "protocol.hpp"

#include <entrepot/device/registry.hpp>
#include <entrepot/exchange/dlpack_device.hpp>

#include <cstdint>

namespace entrepot::python {
namespace {

using dlpack::DLDevice;

struct StreamRow {
    dlpack::DLDeviceType type;
    bool is_cuda;         // whose small numbers mean something
    bool none_is_legacy;  // or else a consumer that says nothing reads on the host
};
constexpr StreamRow streams[] = {{dlpack::kDLCUDA, true, true},
                                 {dlpack::kDLCUDAHost, true, false},
                                 {dlpack::kDLCUDAManaged, true, false},
                                 {dlpack::kDLOneAPI, false, false}};

const StreamRow *row_of(DLDevice device) {
    for (const StreamRow &row : streams)
        if (row.type == device.device_type)
            return &row;
    return nullptr;
}

template <class... Parts> [[noreturn]] void refuse(const Parts &...parts) {
    throw Error(ErrorKind::exchange, "__dlpack__: ", parts...);
}

std::uintptr_t handle_in(PyObject *stream, DLDevice device, const StreamRow &row) {
    const std::size_t handle = PyLong_AsSize_t(stream);
    const bool failed = handle == static_cast<std::size_t>(-1) && PyErr_Occurred();
    PyErr_Clear();
    if (!failed && (row.is_cuda ? may_be_stream(handle) : handle >= lowest_handle)) [[likely]]
        return handle;
    const Reference text(PyObject_Repr(stream));
    const char *const digits = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    refuse("stream ", digits ? digits : "", " means nothing on ", device, "; pass ",
           row.is_cuda ? "1 (the legacy default stream), 2 (the thread's), a CUstream"
                       : "a queue, an int that is a sycl::queue *",
           ", -1 for no synchronisation, or None");
}

bool is_minus_one(PyObject *stream) {
    int overflow = 0;
    return PyLong_Check(stream) && PyLong_AsLongLongAndOverflow(stream, &overflow) == -1 && !overflow;
}

}  // namespace

void order_consumer(const Array &array, DLDevice device, PyObject *stream) {
    const StreamRow *const row = row_of(device);
    if (stream == Py_None) [[likely]] {
        if (row && row->none_is_legacy)
            return exchange::hand_to(array, {legacy_stream_of(array.device()), true}, wait_without_gil);
        return give_host_its_turn(array);
    }
    array.memory().mark_escaped();
    if (is_minus_one(stream))
        return;
    if (!row)
        refuse("the array is given on ", device, ", which has no streams; stream must be None there");
    if (PyLong_Check(stream))
        exchange::hand_to_stream(array, handle_in(stream, device, *row), wait_without_gil);
    else
        exchange::hand_to(array, {queue_from(stream), true}, wait_without_gil);
}

const Queue &current_work_queue(const Device &device) {
    const Queue &current = registry::current_queue();
    return current.device() == device ? current : device.default_queue();
}

void order_current_work(const Array &array, DLDevice device) {
    if (device.device_type == dlpack::kDLCPU)
        return give_host_its_turn(array);
    exchange::hand_to(array, {current_work_queue(array.device().root()), true}, wait_without_gil);
}

}  // namespace entrepot::python
