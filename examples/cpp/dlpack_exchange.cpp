// A library that exchanges tensors by DLPack's C exchange API, without the headers of Python. It
// takes a tensor of any library with such a table, and returns a new one of that library.
#include <entrepot/array/array.hpp>
#include <entrepot/array/copy.hpp>
#include <entrepot/exchange/c_exchange_api.hpp>
#include <entrepot/exchange/dlpack.hpp>
#include <entrepot/exchange/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>

namespace dlpack = entrepot::dlpack;

namespace {

// The queue of the library's current stream; for the host, a queue of Entrepot. Empty if the
// library has set a Python exception.
std::optional<entrepot::Queue> queue_of(const dlpack::DLPackExchangeAPI &api,
                                        const entrepot::Array &array) {
    const dlpack::DLDevice device = dlpack::device_of(array);
    if (device.device_type == dlpack::kDLCPU)
        return array.device().default_queue();
    void *stream = nullptr;
    if (api.current_work_stream(device.device_type, device.device_id, &stream) != 0)
        return std::nullopt;
    if (!stream && device.device_type == dlpack::kDLOneAPI)
        return array.device().default_queue();  // the library names no queue
    return entrepot::exchange::queue_of_stream(array.device(),
                                               reinterpret_cast<std::uintptr_t>(stream));
}

}  // namespace

// Sets `copy` to a new tensor with the elements of `tensor`. Both are Python objects of the library
// whose table `header` belongs to. Returns 0, or -1; then `reason` has a text of at most `size`
// bytes, which is empty if a Python exception is set.
//
// GIL: the caller holds it. Waits release it.
extern "C" [[gnu::visibility("default")]] int
copy_of_tensor(const dlpack::DLPackExchangeAPIHeader *header, void *tensor, void **copy,
               char *reason, std::size_t size) noexcept try {
    std::snprintf(reason, size, "%s", "");
    const dlpack::DLPackExchangeAPI *const api = dlpack::find_compatible(header);
    if (!api)
        throw entrepot::Error(entrepot::ErrorKind::exchange, "the table has another major version");
    dlpack::DLManagedTensorVersioned *managed = nullptr;
    if (api->managed_tensor_from_py_object_no_sync(tensor, &managed) != 0)
        return -1;
    // The array releases the tensor, after the work below has read it.
    const entrepot::Array given = dlpack::from_managed(managed);
    const std::optional<entrepot::Queue> queue = queue_of(*api, given);
    if (!queue)
        return -1;
    const entrepot::Array made =
        entrepot::Array::empty(given.shape(), given.dtype(), given.kind(), *queue);
    entrepot::copy(made, given, *queue);
    // No stream orders what the host does next.
    if (given.is_host_accessible())
        made.memory().wait_for_host(entrepot::Access::write);
    return api->managed_tensor_to_py_object_no_sync(dlpack::to_managed(made), copy);
} catch (const std::exception &error) {
    std::snprintf(reason, size, "%s", error.what());
    return -1;
}
