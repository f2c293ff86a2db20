// Devices: listed once, in the runtime's order, and interned forever, sub-devices included.
#include "backends/sycl/native.hpp"
#include "core/no_destructor.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

namespace entrepot::backends::sycl {
namespace {

using ::sycl::aspect;
using ::sycl::info::partition_property;
namespace of_device = ::sycl::info::device;

// Roots are entered before anything else, so that their numbers are the runtime's.
struct Registry {
    Registry();

    std::shared_mutex mutex;
    std::unordered_map<::sycl::device, Device *> known;
    std::vector<Device *> roots;
};

Registry &registry() {
    static NoDestructor<Registry> only;
    return *only;
}

ep_device_type type_of(const ::sycl::device &device) {
    switch (device.get_info<of_device::device_type>()) {
    case ::sycl::info::device_type::cpu:
        return EP_CPU;
    case ::sycl::info::device_type::gpu:
        return EP_GPU;
    default:
        return EP_ACCELERATOR;
    }
}

bool offers(const ::sycl::device &device, partition_property how) {
    const auto all = device.get_info<of_device::partition_properties>();
    return std::find(all.begin(), all.end(), how) != all.end();
}

struct AspectRow {
    const char *name;
    aspect theirs;
    ep_aspect ours;
};
constexpr AspectRow aspect_rows[] = {
    {"fp16", aspect::fp16, EP_FP16},
    {"fp64", aspect::fp64, EP_FP64},
    {"atomic64", aspect::atomic64, EP_ATOMIC64},
    {"usm_host_allocations", aspect::usm_host_allocations, EP_USM_HOST_ALLOCATIONS},
    {"usm_device_allocations", aspect::usm_device_allocations, EP_USM_DEVICE_ALLOCATIONS},
    {"usm_shared_allocations", aspect::usm_shared_allocations, EP_USM_SHARED_ALLOCATIONS},
    {"queue_profiling", aspect::queue_profiling, EP_PROFILING},
    {"usm_system_allocations", aspect::usm_system_allocations, EP_READS_HOST_MEMORY},
};

constexpr const char *hidden_variable = "ENTREPOT_SYCL_HIDDEN_ASPECTS";

// Aspects named in ENTREPOT_SYCL_HIDDEN_ASPECTS, separated by commas. On a device that has them,
// tests run the code for devices that lack them, such as one that cannot read host memory.
std::uint32_t hidden_aspects() {
    const char *const named = std::getenv(hidden_variable);
    std::uint32_t hidden = 0;
    for (std::string_view rest = named ? named : ""; !rest.empty();) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view name = rest.substr(0, comma);
        const auto *const row = std::ranges::find(
            aspect_rows, name, [](const AspectRow &each) { return std::string_view(each.name); });
        if (row == std::end(aspect_rows)) {
            std::string known;
            for (const AspectRow &each : aspect_rows)
                known += (known.empty() ? "" : ", ") + std::string(each.name);
            refuse(EP_INVALID, hidden_variable, " names the aspect '", name,
                   "', which is unknown; it may name ", known);
        }
        hidden |= row->ours;
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return hidden;
}

std::uint32_t aspects_of(const ::sycl::device &device) {
    static constexpr std::pair<partition_property, ep_aspect> partitions[] = {
        {partition_property::partition_equally, EP_PARTITION_EQUALLY},
        {partition_property::partition_by_counts, EP_PARTITION_BY_COUNTS},
        {partition_property::partition_by_affinity_domain, EP_PARTITION_BY_AFFINITY},
    };
    std::uint32_t aspects = EP_PINS_PAGES;
    for (const AspectRow &row : aspect_rows)
        if (device.has(row.theirs))
            aspects |= row.ours;
    for (const auto &[theirs, ours] : partitions)
        if (offers(device, theirs))
            aspects |= ours;
    return aspects & ~hidden_aspects();
}

bool is_sub_device(const ::sycl::device &native) {
    return native.get_info<of_device::partition_type_property>() !=
           partition_property::no_partition;
}

// Enters a device that is not in `known`. Requires: the caller holds the registry's lock
// exclusively.
Device &enter(Registry &registry, const ::sycl::device &native);

Device &find_or_enter(Registry &registry, const ::sycl::device &native) {
    const auto found = registry.known.find(native);
    return found != registry.known.end() ? *found->second : enter(registry, native);
}

// The runtime may have made a second object for a known sub-device; both have the same driver
// handle.
Device *same_sub_device(const Registry &registry, const Device &parent,
                        const ::sycl::device &native) {
    if (native.get_backend() != ::sycl::backend::opencl)
        return nullptr;
    const cl_device_id cl = ::sycl::get_native<::sycl::backend::opencl>(native);
    for (const auto &[object, device] : registry.known)
        if (device->parent == &parent && device->cl == cl)
            return device;
    return nullptr;
}

Device &enter(Registry &registry, const ::sycl::device &native) {
    if (!is_sub_device(native)) {
        auto *const device = new Device(native);
        for (const auto &[object, other] : registry.known)
            if (!other->parent && object.get_backend() == native.get_backend() &&
                other->info.type == device->info.type)
                ++device->info.number;
        registry.known.emplace(native, device);
        return *device;
    }
    Device &parent = find_or_enter(registry, native.get_info<of_device::parent_device>());
    Device *device = same_sub_device(registry, parent, native);
    if (device == nullptr) {
        device = new Device(native);
        device->parent = &parent;
        device->info.number = parent.sub_device_count++;
    }
    registry.known.emplace(native, device);
    return *device;
}

Registry::Registry() {
    for (const ::sycl::device &native : ::sycl::device::get_devices())
        roots.push_back(&enter(*this, native));
}

// ---------------------------------------------------------------- partition

constexpr std::array affinity_domains = {
    ::sycl::info::partition_affinity_domain::numa,
    ::sycl::info::partition_affinity_domain::L4_cache,
    ::sycl::info::partition_affinity_domain::L3_cache,
    ::sycl::info::partition_affinity_domain::L2_cache,
    ::sycl::info::partition_affinity_domain::L1_cache,
    ::sycl::info::partition_affinity_domain::next_partitionable,
};

struct PartitionWords {
    ep_aspect aspect;
    const char *words;
};
constexpr PartitionWords partition_words[] = {
    {EP_PARTITION_EQUALLY, "equally"},
    {EP_PARTITION_BY_COUNTS, "by counts"},
    {EP_PARTITION_BY_AFFINITY, "by affinity"},
};

void require_offered(const Device &device, ep_partition how) {
    const PartitionWords &asked = partition_words[how];
    if (device.info.aspects & asked.aspect)
        return;
    std::string offered;
    for (const PartitionWords &one : partition_words)
        if (device.info.aspects & one.aspect)
            offered += (offered.empty() ? "" : ", ") + std::string(one.words);
    refuse(EP_UNSUPPORTED, device.selector(), " cannot be partitioned ", asked.words,
           "; what it offers: ", offered.empty() ? "no partition at all" : offered);
}

void require_counts(const Device &device, const Device::Partition &partition) {
    const auto &[how, counts] = partition;
    if (counts.empty() || (how != EP_BY_COUNTS && counts.size() != 1))
        refuse(EP_INVALID, "a partition ", partition_words[how].words, " takes ",
               how == EP_BY_COUNTS ? "one number or more" : "one number", ", and ", counts.size(),
               " were given");
    if (how == EP_BY_AFFINITY) {
        if (counts[0] >= affinity_domains.size())
            refuse(EP_INVALID, "affinity domain ", counts[0], " is not one of the ",
                   affinity_domains.size(), " of ep_affinity");
        return;
    }
    std::uint64_t units = 0;
    for (const std::uint32_t count : counts) {
        if (count == 0)
            refuse(EP_INVALID, "a sub-device of 0 compute units was asked for");
        units += count;
    }
    if (units > device.info.compute_units)
        refuse(EP_INVALID, units, " compute units were asked for, and ", device.selector(), " has ",
               device.info.compute_units);
}

std::vector<::sycl::device> create_sub_devices(const ::sycl::device &device,
                                               const Device::Partition &partition) {
    const auto &[how, counts] = partition;
    switch (how) {
    case EP_EQUALLY:
        return device.create_sub_devices<partition_property::partition_equally>(counts[0]);
    case EP_BY_COUNTS:
        return device.create_sub_devices<partition_property::partition_by_counts>(
            std::vector<size_t>(counts.begin(), counts.end()));
    default:
        return device.create_sub_devices<partition_property::partition_by_affinity_domain>(
            affinity_domains[counts[0]]);
    }
}

// ---------------------------------------------------------------- functions

ep_status device_count(std::uint32_t *count) {
    return guarded([&] { *count = static_cast<std::uint32_t>(registry().roots.size()); });
}

ep_status device_at(std::uint32_t index, ep_device *device) {
    return guarded([&] {
        const std::vector<Device *> &roots = registry().roots;
        if (index >= roots.size())
            refuse(EP_INVALID, "device ", index, " was asked for, and the SYCL runtime lists ",
                   roots.size());
        *device = handle(roots[index]);
    });
}

ep_status device_info(ep_device device, ep_device_info *info) {
    return guarded([&] { *info = object(device).info; });
}

ep_status device_parent(ep_device device, ep_device *parent) {
    return guarded([&] { *parent = handle(object(device).parent); });
}

ep_status device_partition(ep_device device, ep_partition how, const std::uint32_t *counts,
                           size_t count, ep_device *sub, size_t *sub_count) {
    return guarded([&] {
        if (how < EP_EQUALLY || how > EP_BY_AFFINITY)
            refuse(EP_INVALID, "partition ", static_cast<int>(how), " is not one of ep_partition");
        const Device::Partition partition{how, {counts, counts + count}};
        require_offered(object(device), how);
        require_counts(object(device), partition);
        write_handles(object(device).sub_devices(partition), sub, sub_count);
    });
}

ep_status device_from_native(void *native, ep_device *device) {
    return guarded(
        [&] { *device = handle(&device_of(*static_cast<const ::sycl::device *>(native))); });
}

ep_status device_native(ep_device device, void **native) {
    return guarded([&] { *native = &object(device).native; });
}

ep_status device_limit_threads(ep_device, std::uint32_t, std::uint32_t *) {
    return guarded([] { refuse(EP_UNSUPPORTED, "the runtime chooses the threads of a device"); });
}

ep_status device_default_context(ep_device device, ep_context *context) {
    return guarded([&] {
        const ::sycl::platform platform = object(device).native.get_platform();
        *context = handle(intern(platform.ext_oneapi_get_default_context()).detach());
    });
}

}  // namespace

Device::Device(const ::sycl::device &device)
    : native(device), name(native.get_info<of_device::name>()),
      vendor(native.get_info<of_device::vendor>()),
      driver_version(native.get_info<of_device::driver_version>()),
      builds_sycl_source(native.ext_oneapi_can_build(syclex::source_language::sycl)),
      builds_spirv(native.ext_oneapi_can_build(syclex::source_language::spirv)) {
    if (native.get_backend() == ::sycl::backend::opencl)
        cl = ::sycl::get_native<::sycl::backend::opencl>(native);

    // The name is a string literal.
    info.backend = ::sycl::detail::get_backend_name_no_vendor(native.get_backend()).data();
    info.type = type_of(native);
    info.name = name.c_str();
    info.vendor = vendor.c_str();
    info.driver = driver_version.c_str();
    info.global_memory = native.get_info<of_device::global_mem_size>();
    info.local_memory = native.get_info<of_device::local_mem_size>();
    info.max_allocation = native.get_info<of_device::max_mem_alloc_size>();
    info.max_work_group = native.get_info<of_device::max_work_group_size>();
    const ::sycl::id<3> items = native.get_info<of_device::max_work_item_sizes<3>>();
    for (int dimension = 0; dimension < 3; ++dimension)
        info.max_work_items[dimension] = items[dimension];
    info.compute_units = native.get_info<of_device::max_compute_units>();
    info.max_sub_devices = native.get_info<of_device::partition_max_sub_devices>();
    info.aspects = aspects_of(native);
    info.score = ::sycl::default_selector_v(native);
}

std::string Device::selector() const {
    if (parent != nullptr)
        return parent->selector() + "/" + std::to_string(info.number);
    static constexpr const char *types[] = {"cpu", "gpu", "accelerator"};
    return info.backend + std::string(":") + types[info.type] + ":" + std::to_string(info.number);
}

const std::vector<Device *> &Device::sub_devices(const Partition &partition) {
    const MutexLock lock(mutex_);
    const auto known = partitions_.find(partition);
    if (known != partitions_.end())
        return known->second;
    std::vector<Device *> made;
    for (const ::sycl::device &sub : create_sub_devices(native, partition))
        made.push_back(&device_of(sub));
    return partitions_.emplace(partition, std::move(made)).first->second;
}

Device &device_of(const ::sycl::device &native) {
    Registry &all = registry();
    {
        const std::shared_lock hold(all.mutex);
        const auto found = all.known.find(native);
        if (found != all.known.end())
            return *found->second;
    }
    const std::unique_lock hold(all.mutex);
    return find_or_enter(all, native);
}

void write_handles(const std::vector<Device *> &all, ep_device *devices, std::size_t *count) {
    for (std::size_t i = 0; devices != nullptr && i < std::min(all.size(), *count); ++i)
        devices[i] = handle(all[i]);
    *count = all.size();
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

}  // namespace entrepot::backends::sycl
