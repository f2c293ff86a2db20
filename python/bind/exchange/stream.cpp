#include "stream.hpp"

#include "../device/convert.hpp"
#include "../support/errors.hpp"
#include "../support/reference.hpp"
#include "host_sync.hpp"
#include "protocol.hpp"
#include "stream_libraries.hpp"

#include <entrepot/device/registry.hpp>
#include <entrepot/exchange/dlpack_device.hpp>

#include <cstdint>

namespace entrepot::python {
namespace {

using dlpack::DLDevice;

// The accepted ints: the address of a stream, or a small number with a special meaning.
struct Numbers {
    bool (*may_be_stream)(std::uintptr_t number);
    const char *words;
};
constexpr Numbers of_cuda{[](std::uintptr_t number) { return entrepot::may_be_stream(number); },
                          "1 (the legacy default stream), 2 (the thread's), a CUstream"};
// "For ROCm: 0 the default stream; 1 and 2 are not allowed", says the array API's __dlpack__.
constexpr Numbers of_hip{
    [](std::uintptr_t number) { return number == 0 || number >= lowest_handle; },
    "0 (the default stream), a hipStream_t"};
constexpr Numbers of_sycl{[](std::uintptr_t number) { return number >= lowest_handle; },
                          "a queue, an int that is a sycl::queue *"};

// A consumer that passes None works in the legacy default stream, on the host, or in some queue of
// the device.
enum class NoStream { legacy, host, any_queue };

struct StreamRow {
    dlpack::DLDeviceType type;
    const Numbers &numbers;
    NoStream no_stream;
};
constexpr StreamRow streams[] = {{dlpack::kDLCUDA, of_cuda, NoStream::legacy},
                                 {dlpack::kDLCUDAHost, of_cuda, NoStream::host},
                                 {dlpack::kDLCUDAManaged, of_cuda, NoStream::host},
                                 {dlpack::kDLROCM, of_hip, NoStream::legacy},
                                 {dlpack::kDLROCMHost, of_hip, NoStream::host},
                                 {dlpack::kDLOneAPI, of_sycl, NoStream::any_queue}};

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
    if (!failed && row.numbers.may_be_stream(handle)) [[likely]]
        return handle;
    const Reference text(PyObject_Repr(stream));
    const char *const digits = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    refuse("stream ", digits ? digits : "", " means nothing on ", device, "; pass ",
           row.numbers.words, ", -1 for no synchronization, or None");
}

bool is_minus_one(PyObject *stream) {
    int overflow = 0;
    return PyLong_Check(stream) && PyLong_AsLongLongAndOverflow(stream, &overflow) == -1 &&
           !overflow;
}

void order_stream(const Array &array, DLDevice device, const StreamRow *row, PyObject *stream) {
    constexpr Memory::Consumer holder = Memory::Consumer::holds_memory;
    if (stream == Py_None)
        return exchange::synchronize_consumer_stream(array, legacy_stream);
    if (is_minus_one(stream))
        return exchange::record_unordered_export(array, holder);
    if (!row)
        refuse("the array is given on ", device,
               ", which has no streams; stream must be None there");
    if (PyLong_Check(stream))
        exchange::synchronize_consumer_stream(array, handle_in(stream, device, *row));
    else
        exchange::synchronize_consumer(array, queue_from(stream), holder,
                                       exchange::possible_consumers(array, holder));
}

}  // namespace

void order_consumer(const Array &array, DLDevice device, PyObject *stream) {
    const StreamRow *const row = row_of(device);
    if (device.device_type != dlpack::kDLCPU)
        register_imported_libraries(array.device());
    const NoStream no_stream = row ? row->no_stream : NoStream::host;
    if (stream != Py_None || no_stream == NoStream::legacy)
        return order_stream(array, device, row, stream);
    const Memory &memory = array.memory();
    if (no_stream == NoStream::host)
        synchronize_for_host(array);
    else if (!memory.is_ready_for_export(array.access()))
        memory.wait_for_export(array.access());
    if (device.device_type != dlpack::kDLCPU)
        exchange::record_unordered_export(array, Memory::Consumer::holds_memory);
}

const Queue &current_work_queue(const Device &device) {
    const Queue &current = registry::current_queue();
    return current.device() == device ? current : device.default_queue();
}

void order_current_work(const Array &array, DLDevice device, Memory::Consumer holder) {
    if (device.device_type == dlpack::kDLCPU)
        return synchronize_for_host(array);
    register_imported_libraries(array.device());
    exchange::synchronize_consumer(array, current_work_queue(array.device().root()), holder,
                                   exchange::possible_consumers(array, holder));
}

}  // namespace entrepot::python
