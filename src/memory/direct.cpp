// DirectResource: allocation and deferred freeing by the driver.
#include <entrepot/memory/direct.hpp>

#include "core/interpreter_lock.hpp"
#include <entrepot/core/publish.hpp>
#include <entrepot/device/backend.hpp>
#include <memory/driver_blocks.hpp>
#include <memory/immortal_resource.hpp>

#include <algorithm>
#include <limits>

namespace entrepot {
namespace {

// In stream order the driver allocates device memory at once. Otherwise it may wait for a thread
// that waits for the device.
bool is_prompt(const Place &place, bool ordered) noexcept {
    return ordered && place.kind == UsmKind::device;
}

bool free_by_driver(const Place &place, void *data) noexcept {
    try {
        // if the default queue is capturing, the backend frees the block as without a queue
        const InterpreterLock::Released released;
        const ep_queue queue =
            place.device.has(EP_ORDERED_FREE) ? place.device.default_queue().handle() : nullptr;
        place.context.backend().status_of(&ep_backend::memory_free, place.context.handle(), data,
                                          queue);
    } catch (...) {  // the default queue could not be made
    }
    return true;
}

DriverBlocks &waiting() {
    static constinit FirstUse<DriverBlocks> made;
    return made.get(free_by_driver);
}

// The devices whose driver frees in the order of a queue, and keeps what has been freed.
struct Keepers {
    ForkSafeMutex mutex;
    std::vector<Device> devices ENTREPOT_GUARDED_BY(mutex);

    void note(const Device &device) {
        const MutexLock lock(mutex);
        if (std::find(devices.begin(), devices.end(), device) == devices.end())
            devices.push_back(device);
    }
    std::vector<Device> all() {
        const MutexLock lock(mutex);
        return devices;
    }
};

Keepers &keepers() {
    static constinit FirstUse<Keepers> made;
    return made.get();
}

// A failure here is an error of earlier work, which a wait for that work reports.
void trim_driver(const Device &device) noexcept {
    try {
        if (!may_call(device.backend()))
            return;
        const InterpreterLock::Released released;
        device.default_queue().wait();  // in which blocks are freed
        device.backend().status_of(&ep_backend::memory_trim, device.handle());
    } catch (...) {
    }
}

}  // namespace

Block DirectResource::allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                               const Queue &queue) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // the driver is called
    waiting().free_finished();
    const Backend &backend = place.context.backend();
    fork_guard::require_usable(backend);
    if (bytes > std::numeric_limits<std::ptrdiff_t>::max())  // rounding up to an alignment would
                                                             // wrap around
        throw Error(ErrorKind::allocation, bytes, " bytes are more than any device has");
    const bool ordered = place.device.has(EP_ORDERED_FREE);
    Block block{nullptr, bytes, alignment};
    if (ordered)
        queue.submitting();
    const InterpreterLock::Released released(!is_prompt(place, ordered));
    backend.check(backend.status_of(&ep_backend::memory_allocate, place.context.handle(),
                                    place.device.handle(), static_cast<ep_usm_kind>(place.kind),
                                    bytes, alignment, ordered ? queue.handle() : nullptr,
                                    &block.data));
    if (ordered) {
        block.available = queue.take_position();
        block.queue = queue;
        keepers().note(place.device);
    }
    return block;
}

void DirectResource::deallocate(const Place &place, Block block, Pending pending) noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    try {
        if (block.queue)
            keep_latest(pending.uses, {std::move(block.queue), block.available});
        waiting().free_after(place, block.data, std::move(pending));
    } catch (...) {  // no memory for the list: the block leaks
    }
}

void DirectResource::take_finished() noexcept {
    try {
        waiting().free_finished();
    } catch (...) {  // no memory for the lists: at the next entry
    }
}

std::size_t DirectResource::trim() {
    waiting().free_finished();
    for (const Device &device : keepers().all())
        trim_driver(device);
    return 0;
}

void DirectResource::wait_for_all() noexcept { waiting().wait_for_all(); }

DirectResource *direct_resource() {
    static constinit std::atomic<DirectResource *> made{nullptr};
    return immortal_resource(made, [] { return make_resource<DirectResource>(); });
}

}  // namespace entrepot
