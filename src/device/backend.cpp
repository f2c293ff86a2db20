#include <entrepot/device/device.hpp>

#include "device/loader.hpp"
#include "device/selector.hpp"

#include <deque>
#include <vector>

namespace entrepot {
namespace {

ErrorKind kind_of(ep_status status) noexcept {
    switch (status) {
    case EP_INVALID:
        return ErrorKind::value;
    case EP_OUT_OF_MEMORY:
        return ErrorKind::allocation;
    case EP_BUILD_FAILED:
        return ErrorKind::kernel;
    default:
        return ErrorKind::device;
    }
}

}  // namespace

// The devices that the backend has handed out. Readers load a snapshot without a lock. A row never
// changes. A replaced snapshot is kept, because a reader may still use it: machines have few
// devices.
struct Backend::DeviceTable {
    using Snapshot = std::vector<const Device::Record *>;
    LeafMutex mutex;
    // published snapshots are constant
    std::deque<Snapshot> snapshots ENTREPOT_GUARDED_BY(mutex){1};
    std::deque<std::unique_ptr<const Device::Record>> records ENTREPOT_GUARDED_BY(mutex);
    std::atomic<const Snapshot *> current{&snapshots.back()};  // atomic; written with mutex held

    const Device::Record *find(ep_device handle) const noexcept {
        for (const Device::Record *row : *current.load(std::memory_order_acquire))
            if (row->handle == handle)
                return row;
        return nullptr;
    }

    const Device::Record *insert(std::unique_ptr<Device::Record> record) {
        const MutexLock lock(mutex);
        if (const Device::Record *earlier = find(record->handle))
            return earlier;
        const Device::Record *const kept = records.emplace_back(std::move(record)).get();
        Snapshot &next = snapshots.emplace_back(snapshots.back());
        next.push_back(kept);
        current.store(&next, std::memory_order_release);  // last: nothing throws after it
        return kept;
    }
};

Backend::Backend(const ep_backend *api)
    : api_(api), is_host_(std::string_view(api->name) == "host"),
      is_sycl_(std::string_view(api->name) == "sycl"), has_streams_(!is_host_ && !is_sycl_),
      devices_(std::make_unique<DeviceTable>()) {}
Backend::~Backend() = default;

Device Backend::device(ep_device handle) const {
    if (!handle)
        return Device();
    if (const Device::Record *known = devices_->find(handle))
        return Device(known);

    auto record = std::make_unique<Device::Record>();
    record->backend = this;
    record->handle = handle;
    call(&ep_backend::device_info, handle, &record->info);
    ep_device parent = nullptr;
    call(&ep_backend::device_parent, handle, &parent);
    record->parent = device(parent);
    record->selector = selector_of(*this, record->info, record->parent);
    return Device(devices_->insert(std::move(record)));
}

Device Backend::sub_device(const Device &parent, std::uint32_t number) const {
    for (const Device::Record *row : *devices_->current.load(std::memory_order_acquire))
        if (row->parent == parent && row->info.number == number)
            return Device(row);
    return Device();
}

const std::string &Backend::last_error() noexcept { return backend_error(); }

void Backend::raise(ep_status status) const { throw Error(kind_of(status), last_error()); }

}  // namespace entrepot
