// DLPack devices: looks up device types, remembers positions of devices, and follows the documented
// algorithm of kDLOneAPI.
#include <entrepot/exchange/dlpack_device.hpp>

#include <entrepot/device/backend.hpp>

#include "exchange/gpu.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

namespace entrepot::dlpack {

constinit std::atomic<const NamedDevice *> named_devices{nullptr};

namespace {

// Backends of SYCL root devices (first word of their selectors) that the SYCL plugin supports.
// Devices of others (native_cpu, an offload plugin) are refused.
constexpr std::string_view one_api_backends[] = {"opencl", "level_zero", "cuda", "hip"};

const DeviceTypeRow *find_row(DLDeviceType type) noexcept {
    const auto row = std::ranges::find(device_type_table, type, &DeviceTypeRow::type);
    return row == device_type_table.end() ? nullptr : &*row;
}

const DeviceTypeRow *find_row(std::string_view backend, UsmKind kind) noexcept {
    const auto row = std::ranges::find_if(device_type_table, [&](const DeviceTypeRow &each) {
        return each.backend && each.backend == backend &&
               (each.kind == UsmKind::unknown || each.kind == kind);
    });
    if (row != device_type_table.end())
        return &*row;
    // DLPack has a type for CUDA's managed memory but not for HIP's, which is exported as its
    // device's.
    return kind == UsmKind::shared ? find_row(backend, UsmKind::device) : nullptr;
}

const Backend &backend_of(DLDevice device) {
    const DeviceTypeRow *const row = find_row(device.device_type);
    if (!row)
        throw speaker.refusal("the tensor is on ", device,
                              ", a device type that DLPack 1.3 does not define");
    if (!row->backend)
        throw speaker.refusal("the tensor is on ", device,
                              ", and Entrepot has no backend for that; copy it to the host with "
                              "the library that owns it");
    try {
        return registry::backend(row->backend);
    } catch (const Error &error) {
        throw speaker.refusal("the tensor is on ", device,
                              ", which cannot be reached: ", error.what());
    }
}

// Steps 3 and 4 of the export: the position of the unpartitioned parent in the runtime's list.
std::int32_t position_of(const Device &device) {
    const std::vector<Device> &devices = registry::devices(device.backend());
    const auto found = std::ranges::find(devices, device.root());
    if (found == devices.end())
        throw speaker.refusal(device, " cannot be exported: its root device ", device.root(),
                              " is not in the runtime's list of devices, whose ",
                              "positions are DLPack's device ids");
    if (found - devices.begin() > std::numeric_limits<std::int32_t>::max())
        throw speaker.refusal(device, " cannot be exported: position ", found - devices.begin(),
                              " does not fit DLPack's 32-bit device id");
    return static_cast<std::int32_t>(found - devices.begin());
}

// dlpack.h on device_id: "For vanilla CPU memory, pinned memory, or managed memory, this is set to
// 0".
bool is_of_no_device(const DeviceTypeRow &row) noexcept {
    return row.type == kDLCPU || row.kind == UsmKind::host || row.kind == UsmKind::shared;
}

DLDevice name_device(const Device &device, UsmKind kind) {
    const DeviceTypeRow *const row = find_row(device.backend().name(), kind);
    if (!row)
        throw speaker.refusal(
            kind, " memory of ", device,
            " cannot be exported: DLPack has no device type for it; copy it with .to('host')");
    return {row->type, is_of_no_device(*row) ? 0 : position_of(device)};
}

// Remembered results. Never freed, as devices are not.
struct Known {
    const Device::Record *device;
    UsmKind kind;
    DLDevice name;
    const Known *next;
};
std::atomic<const Known *> known{nullptr};

// Two racing threads add the same answer twice, which is harmless.
DLDevice remember(const Device &device, UsmKind kind) {
    auto *const fresh = new Known{device.record(), kind, name_device(device, kind),
                                  known.load(std::memory_order_acquire)};
    while (!known.compare_exchange_weak(fresh->next, fresh, std::memory_order_release,
                                        std::memory_order_acquire)) {
    }
    return fresh->name;
}

DLDevice known_name(const Device &device, UsmKind kind) {
    for (const Known *each = known.load(std::memory_order_acquire); each; each = each->next)
        if (each->device == device.record() && each->kind == kind)
            return each->name;
    return remember(device, kind);
}

// Step 2 of the import.
void require_supported(const Device &root, DLDevice named) {
    if (named.device_type == kDLOneAPI &&
        std::ranges::find(one_api_backends, root.info().backend) == std::end(one_api_backends))
        throw speaker.refusal(
            named, " is ", root,
            ", and of SYCL's backends only opencl, level_zero, cuda and hip are supported");
}

ep_allocation ask(const Context &context, const exchange::Reach &reach) {
    return context.query(reach.lowest, reach.bytes, EP_QUERY_DEVICE | EP_QUERY_SIZE);
}

// Steps 3 and 4 of the import, for one context. The runtime may not name the device of host memory
// and of some sub-devices. If contexts share one address space, it may name a device of another.
Place place_of(const ep_allocation &found, const exchange::Reach &reach, const Device &root) {
    const Device device = root.backend().device(found.device);
    const Context &context =
        device && device.root() != root ? device.default_context() : root.default_context();
    if (found.contained == 0)
        throw speaker.refusal("the tensor touches ", reach.bytes, " bytes from ", Hex(reach.lowest),
                              ", which leave the allocation of ", found.size, " bytes at ",
                              Hex(found.base), " of ", context);
    return {context, device ? device : root, static_cast<UsmKind>(found.kind)};
}

// Asks the other driver of CUDA and HIP; none if it does not know the memory either.
std::optional<Place> place_of_other(const exchange::Reach &reach, DLDevice named) {
    const DeviceTypeRow *const row = find_row(named.device_type);
    const exchange::GpuDevices *const others =
        row && row->backend ? exchange::other_devices(row->backend) : nullptr;
    if (!others || !*others)
        return std::nullopt;
    const ep_allocation found = ask(others->front().default_context(), reach);
    if (found.kind == EP_USM_UNKNOWN)
        return std::nullopt;
    return place_of(found, reach, others->front());
}

// A sub-device may have a default context of its own, different from the platform's.
[[noreturn]] void refuse_context(const Array &array, DLDevice name) {
    const Device &device = array.device(), root = device.root();
    throw speaker.refusal("memory bound to ", array.context(), " cannot be exported as ", name,
                          ": DLPack carries memory of the ",
                          name.device_type == kDLOneAPI ? "platform's default" : "device's primary",
                          " context only; allocate it on a queue in the default context",
                          device == root ? "" : " of the root device", " (entrepot.Queue(\"", root,
                          "\") makes one), or hand it over by ",
                          name.device_type == kDLOneAPI
                              ? "__sycl_usm_array_interface__, which carries the context"
                              : "__cuda_array_interface__, which names no context");
}

const NamedDevice &remember(DLDevice name, const Device &device) {
    auto *const fresh =
        new NamedDevice{name, device, kind_of(name), named_devices.load(std::memory_order_acquire)};
    while (!named_devices.compare_exchange_weak(fresh->next, fresh, std::memory_order_release,
                                                std::memory_order_acquire)) {
    }
    return *fresh;
}

}  // namespace

std::ostream &operator<<(std::ostream &out, DLDevice device) {
    const DeviceTypeRow *const row = find_row(device.device_type);
    return out << (row ? row->name : "device type") << " (" << static_cast<int>(device.device_type)
               << ") device " << device.device_id;
}

DLDevice device_of(const Array &array) {
    if (array.is_device_view()) [[unlikely]]
        return {kDLCPU, 0};  // the device's runtime does not know the memory
    const DLDevice name = known_name(array.device(), array.kind());
    if (name.device_type != kDLCPU && !array.context().is_default()) [[unlikely]]
        refuse_context(array, name);
    return name;
}

DLDevice device_of(const Device &device) { return known_name(device, UsmKind::device); }

UsmKind kind_of(DLDevice device) noexcept {
    const DeviceTypeRow *const row = find_row(device.device_type);
    return row ? row->kind : UsmKind::unknown;
}

const NamedDevice &find_named(DLDevice named) {
    const Backend &backend = backend_of(named);
    const std::vector<Device> &devices = registry::devices(backend);
    if (named.device_id < 0 || static_cast<std::size_t>(named.device_id) >= devices.size())
        throw speaker.refusal(named, " does not exist: the backend ", backend.name(), " lists ",
                              devices.size(), " devices, numbered from 0");
    return remember(named, devices[static_cast<std::size_t>(named.device_id)]);
}

Place locate(const exchange::Reach &reach, DLDevice named) {
    Device root;
    try {
        root = device_at(named);
    } catch (const Error &) {
        if (const std::optional<Place> place = place_of_other(reach, named))
            return *place;
        throw;
    }
    require_supported(root, named);
    const ep_allocation found = ask(root.default_context(), reach);
    if (found.kind != EP_USM_UNKNOWN)
        return place_of(found, reach, root);

    for (const Device &other : registry::devices(root.backend())) {
        if (named.device_type != kDLOneAPI || other.default_context() == root.default_context())
            continue;  // CUDA's and HIP's drivers have answered for all contexts
        const ep_allocation elsewhere = ask(other.default_context(), reach);
        if (elsewhere.kind == EP_USM_UNKNOWN)
            continue;
        require_supported(other, named);
        return place_of(elsewhere, reach, other);
    }
    if (const std::optional<Place> place = place_of_other(reach, named))
        return *place;
    if (named.device_type != kDLOneAPI)
        throw speaker.refusal("the tensor says ", named, ", which is ", root,
                              ", but its driver does not know ", Hex(reach.lowest),
                              ": the memory is the host's, or has been freed");
    throw speaker.refusal(
        "the tensor says ", named, ", which is ", root,
        ", but neither the default context of its platform nor that of any other knows ",
        Hex(reach.lowest),
        ": the memory is not USM, or is bound to another context; the producer must allocate it in "
        "the platform's default ",
        "context, or hand it over by __sycl_usm_array_interface__, which carries the context");
}

}  // namespace entrepot::dlpack
