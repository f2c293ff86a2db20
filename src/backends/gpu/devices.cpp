// Devices: listed once, in the driver's order.
#include "backends/gpu/native.hpp"
#include "core/no_destructor.hpp"

#include <algorithm>

namespace entrepot::backends::gpu {
namespace {

std::string name_of(CUdevice device) {
    char name[256] = {};
    check(driver().cuDeviceGetName(name, sizeof name - 1, device), "cuDeviceGetName");
    return name;
}

std::uint64_t total_memory(CUdevice device) {
    std::size_t bytes = 0;
    check(driver().cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem");
    return bytes;
}

std::vector<Device *> list_devices() {
    int count = 0;
    check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
    std::vector<Device *> listed;
    for (int number = 0; number < count; ++number) {
        CUdevice device = 0;
        check(driver().cuDeviceGet(&device, number), "cuDeviceGet");
        listed.push_back(new Device(device));
    }
    return listed;
}

ep_status device_count(std::uint32_t *count) {
    return guarded([&] { *count = static_cast<std::uint32_t>(devices().size()); });
}

ep_status device_at(std::uint32_t index, ep_device *device) {
    return guarded([&] {
        if (index >= devices().size())
            refuse(EP_INVALID, maker_api, " device ", index,
                   " was asked for, and the driver lists ", devices().size());
        *device = handle(devices()[index]);
    });
}

ep_status device_info(ep_device device, ep_device_info *info) {
    return guarded([&] { *info = object(device).info; });
}

ep_status device_parent(ep_device, ep_device *parent) {
    return guarded([&] { *parent = nullptr; });
}

ep_status device_partition(ep_device device, ep_partition, const std::uint32_t *, std::size_t,
                           ep_device *, std::size_t *) {
    return guarded([&] {
        refuse(EP_UNSUPPORTED, object(device).selector(),
               " cannot be partitioned by a program: ", partition_advice);
    });
}

ep_status device_from_native(void *native, ep_device *device) {
    return guarded([&] { *device = handle(&device_of(*static_cast<const CUdevice *>(native))); });
}

ep_status device_native(ep_device device, void **native) {
    return guarded([&] { *native = const_cast<CUdevice *>(&object(device).native); });
}

ep_status device_limit_threads(ep_device, std::uint32_t, std::uint32_t *) {
    return guarded([] { refuse(EP_UNSUPPORTED, "the runtime chooses the threads of a device"); });
}

ep_status device_default_context(ep_device device, ep_context *context) {
    return guarded([&] { *context = handle(primary_context(object(device)).detach()); });
}

}  // namespace

Device::Device(CUdevice ordinal)
    : native(ordinal), name(name_of(ordinal)),
      driver_version(std::string(maker_api) + " " + version_text(driver().version)) {
    compute_capability = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                         attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    target = target_of(ordinal);
    is_cooperative = attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0;
    has_clusters = attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0;
    has_pools = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;

    info.backend = selector_word;
    info.type = EP_GPU;
    info.number = static_cast<std::uint32_t>(ordinal);
    info.name = name.c_str();
    info.vendor = maker;
    info.driver = driver_version.c_str();
    info.global_memory = info.max_allocation = total_memory(ordinal);
    info.local_memory = static_cast<std::uint64_t>(
        attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    info.max_work_group =
        static_cast<std::uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    info.max_work_items[0] =
        static_cast<std::uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
    info.max_work_items[1] =
        static_cast<std::uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y));
    info.max_work_items[2] =
        static_cast<std::uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X));
    info.compute_units =
        static_cast<std::uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    info.aspects = EP_FP16 | EP_FP64 | EP_ATOMIC64 | EP_USM_HOST_ALLOCATIONS |
                   EP_USM_DEVICE_ALLOCATIONS | EP_PROFILING | EP_PEER_COPIES | EP_GRAPH_CAPTURE;
    if (has_pools)
        info.aspects |= EP_ORDERED_FREE;
    // Without concurrent access, the host may not touch managed memory while any kernel runs.
    if (attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0)
        info.aspects |= EP_USM_SHARED_ALLOCATIONS;
    if (attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0)
        info.aspects |= EP_READS_HOST_MEMORY;
    info.score = 500;  // what SYCL's default selector gives a GPU
}

int Device::attribute(CUdevice_attribute which) const {
    int value = 0;
    check(driver().cuDeviceGetAttribute(&value, which, native), "cuDeviceGetAttribute");
    return value;
}

CUmemoryPool Device::pool() {
    if (const CUmemoryPool made = pool_.load(std::memory_order_acquire)) [[likely]]
        return made;
    const MutexLock lock(mutex_);
    CUmemoryPool pool = pool_.load(std::memory_order_relaxed);
    if (pool == nullptr) {
        CUmemPoolProps properties{};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = location_on(native);
        check(driver().cuMemPoolCreate(&pool, &properties), "cuMemPoolCreate");
        pool_.store(pool, std::memory_order_release);
    }
    return pool;
}

void Device::share_pool_with(const Device &reader) {
    // Without pools, memory is accessible to every context with access to this device.
    if (!has_pools)
        return;
    const CUmemoryPool shared = pool();
    const MutexLock lock(mutex_);
    if (std::find(readers_.begin(), readers_.end(), reader.native) != readers_.end())
        return;
    CUmemAccessDesc access{};
    access.location = location_on(reader.native);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    check(driver().cuMemPoolSetAccess(shared, &access, 1), "cuMemPoolSetAccess");
    readers_.push_back(reader.native);
}

std::vector<Device *> &devices() {
    static NoDestructor<std::vector<Device *>> listed(list_devices());
    return *listed;
}

Device &device_of(CUdevice ordinal) {
    for (Device *device : devices())
        if (device->native == ordinal)
            return *device;
    refuse(EP_INVALID, maker_api, " device ", ordinal, " was asked for, and the driver lists ",
           devices().size());
}

void fill_device_functions(ep_backend &table) {
    table.device_count = device_count;
    table.device_at = device_at;
    table.device_info = device_info;
    table.device_parent = device_parent;
    table.device_partition = device_partition;
    table.device_from_native = device_from_native;
    table.device_native = device_native;
    table.device_hash = hash_of<ep_device>;
    table.device_limit_threads = device_limit_threads;
    table.device_default_context = device_default_context;
}

}  // namespace entrepot::backends::gpu
