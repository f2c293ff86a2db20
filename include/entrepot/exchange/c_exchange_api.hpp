// The C exchange API of DLPack (1.3): a table of functions that a type of tensors publishes, for hand-overs in nanoseconds.
//
// No function of the table synchronises: the consumer asks `current_work_stream` and works there. All return 0, or -1 with a
// Python exception set; python/bind/exchange/c_exchange_api.cpp consumes the tables of others and publishes ours.
#pragma once
#include <entrepot/exchange/dlpack_abi.hpp>

namespace entrepot::dlpack {

struct DLPackExchangeAPIHeader {
    DLPackVersion version;
    DLPackExchangeAPIHeader *prev_api;  // an older table of the same producer, or NULL
};

struct DLPackExchangeAPI {
    DLPackExchangeAPIHeader header;
    // Of the prototype, dtype, ndim, shape and device count. Called without the GIL perhaps; errors go to `set_error`.
    int (*managed_tensor_allocator)(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                                    void (*set_error)(void *error_ctx, const char *kind, const char *message));
    int (*managed_tensor_from_py_object_no_sync)(void *py_object, DLManagedTensorVersioned **out);
    int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned *tensor, void **out_py_object);  // takes `tensor` over
    // Lends: what it writes is valid while the object lives and is not changed. May be NULL. It has no flags: read-only is lost.
    int (*dltensor_from_py_object_no_sync)(void *py_object, DLTensor *out);
    int (*current_work_stream)(DLDeviceType device_type, std::int32_t device_id, void **out_current_stream);
};

inline constexpr const char *exchange_api_capsule = "dlpack_exchange_api";

// The newest table of the chain whose layout we know; nullptr where every one is of another major version.
inline const DLPackExchangeAPI *find_compatible(const DLPackExchangeAPIHeader *newest) noexcept {
    while (newest && newest->version.major > version.major)
        newest = newest->prev_api;
    return newest && newest->version.major == version.major ? reinterpret_cast<const DLPackExchangeAPI *>(newest) : nullptr;
}

}  // namespace entrepot::dlpack
