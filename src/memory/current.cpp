// The default resource, the devices' own, and the scopes of threads.
#include <entrepot/memory/current.hpp>

#include <device/fork_safe_mutex.hpp>
#include <entrepot/core/publish.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/pool.hpp>
#include <memory/immortal_resource.hpp>

#include <algorithm>
#include <atomic>

namespace entrepot {
namespace {

struct OfDevices {
    ForkSafeMutex mutex;
    std::vector<std::pair<Device, ResourceRef>> rows ENTREPOT_GUARDED_BY(mutex);
    std::atomic<std::size_t> count{0};  // of rows: nearly always none, and then nothing is locked
};

OfDevices &of_devices() {
    static constinit FirstUse<OfDevices> made;
    return made.get();
}

constinit thread_local Resource *innermost = nullptr;
thread_local std::vector<ResourceRef> scopes;

}  // namespace

Resource *default_resource() {
    static constinit std::atomic<Resource *> made{nullptr};
    return immortal_resource(made, [] { return make_resource<PoolResource>(direct_resource()); });
}

void set_resource(const Device &device, Resource *resource) {
    OfDevices &table = of_devices();
    ResourceRef replaced;  // dropped after the mutex
    const MutexLock lock(table.mutex);
    const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                  [&](const auto &each) { return each.first == device; });
    if (row != table.rows.end()) {
        replaced = std::exchange(row->second, ResourceRef(resource));
        if (!resource)
            table.rows.erase(row);
    } else if (resource) {
        table.rows.emplace_back(device, ResourceRef(resource));
    }
    table.count.store(table.rows.size(), std::memory_order_release);
}

ResourceRef current_resource(const Device &device) {
    if (innermost)
        return ResourceRef(innermost);
    OfDevices &table = of_devices();
    if (table.count.load(std::memory_order_acquire) != 0) {
        const MutexLock lock(table.mutex);
        for (const auto &[owner, resource] : table.rows)
            if (owner == device)
                return resource;
    }
    return ResourceRef(default_resource());
}

void push_resource(Resource *resource) {
    scopes.emplace_back(resource);
    innermost = resource;
}

void pop_resource(const Resource *resource) {
    if (scopes.empty() || scopes.back().get() != resource)
        throw Error(
            ErrorKind::value,
            "use_resource: scopes end on the thread that entered them, the innermost first");
    scopes.pop_back();
    innermost = scopes.empty() ? nullptr : scopes.back().get();
}

}  // namespace entrepot
