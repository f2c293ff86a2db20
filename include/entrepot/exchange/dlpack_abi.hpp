// The structures of DLPack 1.3, under the specification's own names; binary compatible with
// dlpack.h (a test compares them).
#pragma once
#include <entrepot/core/api.hpp>

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
namespace entrepot::dlpack {

struct DLPackVersion {
    std::uint32_t major;
    std::uint32_t minor;
};
// The version of exports, and the newest that imports understand. Minor versions keep the
// ABI.
ENTREPOT_LOCAL inline constexpr DLPackVersion version{1, 3};

enum DLDeviceType : std::int32_t {
    kDLCPU = 1,
    kDLCUDA = 2,
    kDLCUDAHost = 3,
    kDLOpenCL = 4,
    kDLVulkan = 7,
    kDLMetal = 8,
    kDLVPI = 9,
    kDLROCM = 10,
    kDLROCMHost = 11,
    kDLExtDev = 12,
    kDLCUDAManaged = 13,
    kDLOneAPI = 14,
    kDLWebGPU = 15,
    kDLHexagon = 16,
    kDLMAIA = 17,
    kDLTrn = 18,
};

struct DLDevice {
    DLDeviceType device_type;
    std::int32_t device_id;

    bool operator==(const DLDevice &) const noexcept = default;
};

struct DLDataType {
    std::uint8_t code;  // a TypeCode
    std::uint8_t bits;
    std::uint16_t lanes;
};

struct DLTensor {
    void *data;
    DLDevice device;
    std::int32_t ndim;
    DLDataType dtype;
    std::int64_t *shape;
    // in elements; NULL, which 1.2 forbids and older producers send, is C-contiguous
    std::int64_t *strides;
    std::uint64_t byte_offset;  // from `data` to the first element
};

struct DLManagedTensor {  // of DLPack 0.x, "legacy"; without flags
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(DLManagedTensor *self);  // may be NULL
};

struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(DLManagedTensorVersioned *self);  // may be NULL
    std::uint64_t flags;
    // Frozen up to here: for another major version, call the deleter and read nothing below.
    DLTensor dl_tensor;
};

inline constexpr std::uint64_t flag_read_only = 1;
// the producer made a copy for this consumer alone
inline constexpr std::uint64_t flag_is_copied = 2;
inline constexpr std::uint64_t flag_subbyte_type_padded =
    4;  // elements of 4 or 6 bits take a byte each; without it they are packed

// Names of the capsules that carry a managed tensor in Python, before and after a consumer has
// taken it.
struct CapsuleNames {
    const char *fresh;
    const char *used;
};
ENTREPOT_LOCAL inline constexpr CapsuleNames legacy_names{"dltensor", "used_dltensor"};
ENTREPOT_LOCAL inline constexpr CapsuleNames versioned_names{"dltensor_versioned",
                                                             "used_dltensor_versioned"};

}  // namespace entrepot::dlpack
#pragma GCC visibility pop
