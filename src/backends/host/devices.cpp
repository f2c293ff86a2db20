// Devices: one, the processors of this machine that the process may use.
#include "backends/host/native.hpp"
#include "core/no_destructor.hpp"

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <fstream>

namespace entrepot::backends::host {

ep_device the_device() noexcept {
    static char mark;
    return reinterpret_cast<ep_device>(&mark);
}

void check_device(ep_device device) {
    if (device != the_device())
        refuse(
            EP_INVALID,
            "the host backend was given a device of another backend: its only device is \"host\"");
}

std::uint64_t total_memory() noexcept {
    static const std::uint64_t bytes = [] {
        struct sysinfo machine{};
        sysinfo(&machine);  // fails only for a bad address
        return (std::uint64_t{machine.totalram} + machine.totalswap) * machine.mem_unit;
    }();
    return bytes;
}

namespace {

// The value of the first line of /proc/cpuinfo that begins with `key`; keys differ between
// architectures.
std::string processor_property(const std::string &key, const char *otherwise) {
    std::ifstream lines("/proc/cpuinfo");
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(key)) {
            const std::size_t value = line.find_first_not_of(" \t:", key.size());
            return value == std::string::npos ? otherwise : line.substr(value);
        }
    return otherwise;
}

std::string system_release() {
    utsname system{};
    uname(&system);  // fails only for a bad address
    return std::string(system.sysname) + " " + system.release;
}

ep_device_info describe() {
    // Never destroyed: the contract makes these strings immortal, and a device may be printed at
    // process exit.
    static NoDestructor<std::string> name(processor_property("model name", "host processor"));
    static NoDestructor<std::string> vendor(processor_property("vendor_id", "unknown"));
    static NoDestructor<std::string> driver(system_release());
    ep_device_info info{};
    info.backend = "host";
    info.type = EP_CPU;
    info.name = name->c_str();
    info.vendor = vendor->c_str();
    info.driver = driver->c_str();
    info.global_memory = info.max_allocation = total_memory();
    info.local_memory = max_local_memory;
    info.max_work_group = max_work_group;
    for (std::uint64_t &limit : info.max_work_items)
        limit = max_work_group;
    info.compute_units = processors();
    info.aspects = EP_FP64 | EP_ATOMIC64 | EP_USM_HOST_ALLOCATIONS | EP_USM_DEVICE_ALLOCATIONS |
                   EP_USM_SHARED_ALLOCATIONS | EP_PROFILING | EP_READS_HOST_MEMORY;
    info.score = 0;  // the default only if no runtime offers a device
    return info;
}

ep_status device_count(std::uint32_t *count) {
    *count = 1;
    return EP_OK;
}

ep_status device_at(std::uint32_t index, ep_device *device) {
    return guarded([&] {
        if (index != 0)
            refuse(EP_INVALID, "host device ", index, " does not exist: there is one, number 0");
        *device = the_device();
    });
}

ep_status device_info(ep_device device, ep_device_info *info) {
    return guarded([&] {
        check_device(device);
        static const ep_device_info description = describe();
        *info = description;
    });
}

ep_status device_parent(ep_device device, ep_device *parent) {
    return guarded([&] {
        check_device(device);
        *parent = nullptr;
    });
}

ep_status device_partition(ep_device, ep_partition, const std::uint32_t *, std::size_t, ep_device *,
                           std::size_t *) {
    return guarded([] {
        refuse(EP_UNSUPPORTED,
               "the host device cannot be partitioned: restrict the whole process (taskset), or "
               "partition a SYCL CPU device such as opencl:cpu");
    });
}

// The host has no runtime below, so native handles of all objects are the handles themselves.
ep_status device_from_native(void *native, ep_device *device) {
    return guarded([&] {
        check_device(static_cast<ep_device>(native));
        *device = the_device();
    });
}

ep_status device_native(ep_device device, void **native) {
    return guarded([&] {
        check_device(device);
        *native = device;
    });
}

ep_status device_limit_threads(ep_device device, std::uint32_t count, std::uint32_t *limit) {
    return guarded([&] {
        check_device(device);
        if (count > processors())
            refuse(EP_INVALID, count, " threads were asked for: this process may use 1 to ",
                   processors());
        if (count != 0)
            limit_threads(count);
        *limit = thread_limit();
    });
}

ep_status device_default_context(ep_device device, ep_context *context) {
    return guarded([&] {
        check_device(device);
        *context = the_context();
    });
}

}  // namespace

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

}  // namespace entrepot::backends::host
