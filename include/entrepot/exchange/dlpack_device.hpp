// The devices of DLPack: which backend each of its types belongs to, how its numbers become our devices and back.
//
// kDLOneAPI names nothing but a position in a list. What memory it is and where, the runtime says: the algorithm of dpctl's
// documentation is followed step by step in src/exchange/dlpack_device.cpp. CUDA's and HIP's types name the kind of memory as
// well. Memory that two drivers claim (of SYCL's adapter for CUDA, say) is that of the driver which the type names. Where that
// does not know the pointer, or is not here, and the type is CUDA's or HIP's, the other of the two is asked: libraries that are
// built for HIP from sources for CUDA may use CUDA's names.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/exchange/dlpack_abi.hpp>
#include <entrepot/exchange/foreign_layout.hpp>
#include <entrepot/memory/resource.hpp>

#include <array>
#include <atomic>
#include <iosfwd>

namespace entrepot::dlpack {

inline constexpr exchange::Speaker speaker{"DLPack", ErrorKind::exchange};

struct DeviceTypeRow {
    DLDeviceType type;
    const char *name;     // of the specification
    const char *backend;  // ours; nullptr: we have none for it
    UsmKind kind;         // unknown: any kind
};

inline constexpr std::array<DeviceTypeRow, 16> device_type_table{{
    {kDLCPU, "kDLCPU", "host", UsmKind::unknown},
    {kDLCUDA, "kDLCUDA", "cuda", UsmKind::device},
    {kDLCUDAHost, "kDLCUDAHost", "cuda", UsmKind::host},
    {kDLOpenCL, "kDLOpenCL", nullptr, UsmKind::unknown},  // cl_mem objects: handles, not pointers
    {kDLVulkan, "kDLVulkan", nullptr, UsmKind::unknown},
    {kDLMetal, "kDLMetal", nullptr, UsmKind::unknown},
    {kDLVPI, "kDLVPI", nullptr, UsmKind::unknown},
    {kDLROCM, "kDLROCM", "hip", UsmKind::device},
    {kDLROCMHost, "kDLROCMHost", "hip", UsmKind::host},
    {kDLExtDev, "kDLExtDev", nullptr, UsmKind::unknown},
    {kDLCUDAManaged, "kDLCUDAManaged", "cuda", UsmKind::shared},
    {kDLOneAPI, "kDLOneAPI", "sycl", UsmKind::unknown},
    {kDLWebGPU, "kDLWebGPU", nullptr, UsmKind::unknown},
    {kDLHexagon, "kDLHexagon", nullptr, UsmKind::unknown},
    {kDLMAIA, "kDLMAIA", nullptr, UsmKind::unknown},
    {kDLTrn, "kDLTrn", nullptr, UsmKind::unknown},
}};

// `kDLOneAPI (14) device 0`; of a type outside the table the number alone.
std::ostream &operator<<(std::ostream &out, DLDevice device);

// What an array is exported as: kDLCPU on the host, kDLOneAPI for USM of SYCL whatever its kind, for CUDA's and HIP's the type of
// its kind, pinned and managed memory as device 0; HIP's managed memory, which has no type, is the device's. Remembered per
// device. Throws ExchangeError: the memory is not of its platform's default context, the root device is not in the runtime's
// list, or DLPack has no name for the backend. The message says what to do instead.
DLDevice device_of(const Array &array);
// The same of device memory of the device, in the context that DLPack has a name for.
DLDevice device_of(const Device &device);

// What memory of that name is; unknown where the name does not say.
UsmKind kind_of(DLDevice device) noexcept;

// A DLDevice under which memory has come, and what the name says. Kept as long as the process, as devices are.
struct NamedDevice {
    DLDevice name;
    Device device;
    UsmKind kind;  // unknown where the name does not say
    const NamedDevice *next;
};
inline std::atomic<const NamedDevice *> named_devices{nullptr};
const NamedDevice &find_named(DLDevice name);

// The root device that a DLDevice names. Throws ExchangeError: no backend of ours serves the type, or none is at that position.
inline const NamedDevice &named_device(DLDevice name) {
    for (const NamedDevice *each = named_devices.load(std::memory_order_acquire); each; each = each->next)
        if (each->name == name) [[likely]]
            return *each;
    return find_named(name);
}
inline Device device_at(DLDevice name) { return named_device(name).device; }

// Asks the runtime what the bytes are, of which there is at least one. `named` is where the search begins: if the pointer is
// memory of another platform's default context, the pointer is believed, and not the number (PyTorch counts XPU devices in its
// own way). Throws ExchangeError as device_at does, and where no default context knows the pointer or the range leaves its
// allocation.
Place locate(const exchange::Reach &reach, DLDevice named);

}  // namespace entrepot::dlpack
