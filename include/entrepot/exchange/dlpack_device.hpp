// DLPack devices: the backend of each device type, and conversion between DLDevice and Device.
//
// The type kDLOneAPI names only a position in a list of devices. The runtime says which memory it
// is and where, as dpctl's documentation says. The types of CUDA and HIP also name the kind of
// memory.
//
// If two drivers know a pointer (SYCL's adapter for CUDA, say), it belongs to the driver of the
// device type. CUDA and HIP types fall back to the other driver if theirs is absent or does not
// know the pointer. Libraries ported from CUDA to HIP may still use CUDA's types.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/core/api.hpp>
#include <entrepot/exchange/dlpack_abi.hpp>
#include <entrepot/exchange/foreign_layout.hpp>
#include <entrepot/memory/resource.hpp>

#include <array>
#include <atomic>
#include <iosfwd>

#pragma GCC visibility push(default)
namespace entrepot::dlpack {

ENTREPOT_LOCAL inline constexpr exchange::Speaker speaker{"DLPack", ErrorKind::exchange};

struct DeviceTypeRow {
    DLDeviceType type;
    const char *name;     // in the specification
    const char *backend;  // of Entrepot; nullptr: not supported
    UsmKind kind;         // unknown: any kind
};

ENTREPOT_LOCAL inline constexpr std::array<DeviceTypeRow, 16> device_type_table{{
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

// Writes `kDLOneAPI (14) device 0`; a type outside the table is written as its number alone.
std::ostream &operator<<(std::ostream &out, DLDevice device);

// The device that an array is exported as; remembered per device.
//
// - Host memory: kDLCPU.
// - USM of SYCL: kDLOneAPI, whatever its kind.
// - CUDA and HIP: the type of the kind; pinned and managed memory has device 0. Managed memory of
//   HIP has no type of its own and is exported as its device's.
//
// Throws: ExchangeError, with advice, for any of
// - memory that is not in its platform's default context,
// - a root device that is not in the runtime's list,
// - a backend for which DLPack has no type.
DLDevice device_of(const Array &array);
// The DLDevice of device memory of `device`, in the context that DLPack supports.
DLDevice device_of(const Device &device);

// The kind of memory that the device type names; `unknown` if it names none.
UsmKind kind_of(DLDevice device) noexcept;

// A DLDevice that imports have used, with its meaning. Never freed, as devices are not.
struct NamedDevice {
    DLDevice name;
    Device device;
    UsmKind kind;  // unknown if the device type does not say
    const NamedDevice *next;
};
extern std::atomic<const NamedDevice *> named_devices;
const NamedDevice &find_named(DLDevice name);

// The root device that a DLDevice names.
//
// Throws: ExchangeError if no backend serves the type, or no device is at that position.
inline const NamedDevice &named_device(DLDevice name) {
    for (const NamedDevice *each = named_devices.load(std::memory_order_acquire); each;
         each = each->next)
        if (each->name == name) [[likely]]
            return *each;
    return find_named(name);
}
inline Device device_at(DLDevice name) { return named_device(name).device; }

// Finds the memory of a range of at least one byte. The device `named` is asked first. A pointer in
// the default context of another platform is accepted there. The pointer decides, not the number:
// PyTorch counts XPU devices in its own way.
//
// Throws: ExchangeError as device_at does, if no default context knows the pointer, or if the range
//         exceeds its allocation.
Place locate(const exchange::Reach &reach, DLDevice named);

}  // namespace entrepot::dlpack
#pragma GCC visibility pop
