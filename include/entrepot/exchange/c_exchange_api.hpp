// The C exchange API of DLPack (1.3): a table of functions that a tensor type publishes. It
// exchanges tensors in nanoseconds.
//
// No function of the table synchronizes: the consumer asks `current_work_stream` and works there.
// All return 0, or -1 with a Python exception set. python/bind/exchange/c_exchange_api.cpp reads
// the tables of other libraries and publishes ours.
#pragma once
#include <entrepot/core/api.hpp>
#include <entrepot/exchange/dlpack_abi.hpp>

#pragma GCC visibility push(default)
namespace entrepot::dlpack {

struct DLPackExchangeAPIHeader {
    DLPackVersion version;
    DLPackExchangeAPIHeader *prev_api;  // an older table of the same producer, or NULL
};

struct DLPackExchangeAPI {
    DLPackExchangeAPIHeader header;
    // Reads dtype, ndim, shape and device of `prototype`. May be called without the GIL; errors go
    // to `set_error`.
    int (*managed_tensor_allocator)(DLTensor *prototype, DLManagedTensorVersioned **out,
                                    void *error_ctx,
                                    void (*set_error)(void *error_ctx, const char *kind,
                                                      const char *message));
    int (*managed_tensor_from_py_object_no_sync)(void *py_object, DLManagedTensorVersioned **out);
    int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned *tensor,
                                               void **out_py_object);  // takes `tensor` over
    // Borrows: the result is valid while the object lives unchanged. May be NULL. A DLTensor has no
    // flags, so a consumer cannot see that it is read-only.
    int (*dltensor_from_py_object_no_sync)(void *py_object, DLTensor *out);
    int (*current_work_stream)(DLDeviceType device_type, std::int32_t device_id,
                               void **out_current_stream);
};

ENTREPOT_LOCAL inline constexpr const char *exchange_api_capsule = "dlpack_exchange_api";

// The newest table of the chain with a known layout; nullptr if every one has another major
// version.
inline const DLPackExchangeAPI *find_compatible(const DLPackExchangeAPIHeader *newest) noexcept {
    while (newest && newest->version.major > version.major)
        newest = newest->prev_api;
    return newest && newest->version.major == version.major
               ? reinterpret_cast<const DLPackExchangeAPI *>(newest)
               : nullptr;
}

}  // namespace entrepot::dlpack
#pragma GCC visibility pop
