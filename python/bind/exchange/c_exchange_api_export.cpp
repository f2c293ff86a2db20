// Export by the C exchange API: the function table of entrepot.Array, in one
// static capsule of the type.
#include "exports.hpp"

#include "../array_object/array_object.hpp"
#include "../memory/allocate.hpp"
#include "../support/errors.hpp"
#include "../support/guarded.hpp"
#include "../support/release.hpp"
#include "managed_tensor.hpp"
#include "protocol.hpp"
#include "stream.hpp"

#include <entrepot/exchange/c_exchange_api.hpp>
#include <entrepot/exchange/dlpack.hpp>

#include <algorithm>

namespace entrepot::python {
namespace {

using namespace dlpack;

const Array &array_from(void *py_object) {
    auto *const object = static_cast<PyObject *>(py_object);
    if (!is_array(object))
        throw Error(ErrorKind::type, "the exchange table of entrepot.Array was given a ",
                    Py_TYPE(object)->tp_name, "; look the table up on the type of each object");
    return array_of(object);
}

// The error's name for consumers that do not have Entrepot's exception classes.
const char *builtin_name(ErrorKind kind) noexcept {
    const ErrorRow &row = error_table[static_cast<std::size_t>(kind)];
    return row.also ? row.also : row.base ? "RuntimeError" : row.name;
}

// Consumers call this with or without the GIL.
Memory memory_for(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment) {
    return holds_gil() ? python::allocate(bytes, kind, queue, alignment)
                       : Memory::allocate(bytes, kind, queue, alignment);
}

int allocate_tensor(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                    void (*set_error)(void *error_ctx, const char *kind, const char *message)) {
    try {
        const Array array = dlpack::allocate(*prototype, memory_for);
        *out = to_managed(array, prototype->device);
        return 0;
    } catch (const Error &error) {
        set_error(error_ctx, builtin_name(error.kind()), error.what());
    } catch (const std::exception &error) {
        set_error(error_ctx, "RuntimeError", error.what());
    }
    return -1;
}

int tensor_from_object(void *py_object, DLManagedTensorVersioned **out) {
    return guarded([&] {
        const Array &array = array_from(py_object);
        const DLDevice device = device_of(array);
        const Memory held = array.memory();  // until the tensor owns it: Memory::record_consumer
        order_current_work(array, device, Memory::Consumer::holds_memory);
        *out = to_managed(array, device);
    });
}

int object_from_tensor(DLManagedTensorVersioned *tensor, void **out_py_object) {
    return guarded([&] {
        drain_released();
        Owner owner = keep_tensor(tensor);
        *out_py_object = wrap(take(*tensor, std::move(owner)));
        if (!*out_py_object)
            throw PythonError{};
    });
}

int borrow_tensor(void *py_object, DLTensor *out) {
    return guarded([&] {
        const Array &array = array_from(py_object);
        const DLDevice device = device_of(array);
        order_current_work(array, device, Memory::Consumer::holds_object);
        *out = unowned_tensor(array, device);
    });
}

int current_stream(DLDeviceType device_type, std::int32_t device_id, void **out_stream) {
    return guarded([&] {
        *out_stream = nullptr;
        if (device_type != kDLCPU)
            *out_stream = reinterpret_cast<void *>(
                exchange::stream_of(current_work_queue(device_at({device_type, device_id}))));
    });
}

DLPackExchangeAPI table{.header = {.version = version, .prev_api = nullptr},
                        .managed_tensor_allocator = allocate_tensor,
                        .managed_tensor_from_py_object_no_sync = tensor_from_object,
                        .managed_tensor_to_py_object_no_sync = object_from_tensor,
                        .dltensor_from_py_object_no_sync = borrow_tensor,
                        .current_work_stream = current_stream};

}  // namespace

PyObject *c_exchange_api_capsule() { return PyCapsule_New(&table, exchange_api_capsule, nullptr); }

}  // namespace entrepot::python
