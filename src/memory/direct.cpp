// DirectResource: allocation and deferred freeing by the driver.
#include <entrepot/memory/direct.hpp>

#include <entrepot/device/backend.hpp>
#include <memory/deferred.hpp>

#include <limits>

namespace entrepot {
namespace {

struct Condemned {
    Place place;
    void *data;
};

// Freed only now that nothing is pending, as the contract asks. A failure has no one left to be told: the block is lost.
void free_now(const Place &place, void *data) noexcept {
    const Backend &backend = place.context.backend();
    if (!may_call(backend))
        return;
    try {
        const ep_queue queue = place.device.has(EP_ORDERED_FREE) ? place.device.default_queue().handle() : nullptr;
        backend.status_of(&ep_backend::memory_free, place.context.handle(), data, queue);
    } catch (...) {  // the default queue could not be made
    }
}

struct Waiting {
    ForkSafeMutex mutex;
    Deferred<Condemned> blocks{mutex};
};

// Never destroyed: blocks come back until the very end.
Waiting &waiting() {
    static Waiting *const made = new Waiting;
    return *made;
}

void free_all(const std::vector<Condemned> &blocks) noexcept {
    for (const Condemned &block : blocks)
        free_now(block.place, block.data);
}

void free_finished() {
    if (!waiting().blocks.is_empty())
        free_all(waiting().blocks.take_finished());
}

}  // namespace

Block DirectResource::allocate(const Place &place, std::size_t bytes, std::size_t alignment, const Queue &queue) {
    free_finished();
    const Backend &backend = place.context.backend();
    fork_guard::require_usable(backend);
    if (bytes > std::numeric_limits<std::ptrdiff_t>::max())  // rounding up to an alignment would wrap around
        throw Error(ErrorKind::allocation, bytes, " bytes are more than any device has");
    const bool ordered = place.device.has(EP_ORDERED_FREE);
    Block block{nullptr, bytes, alignment};
    if (ordered)
        queue.submitting();
    backend.check(backend.status_of(&ep_backend::memory_allocate, place.context.handle(), place.device.handle(),
                                    static_cast<ep_usm_kind>(place.kind), bytes, alignment, ordered ? queue.handle() : nullptr,
                                    &block.data));
    if (ordered)
        block.available = queue.submitted();
    return block;
}

void DirectResource::deallocate(const Place &place, Block block, Pending pending) noexcept {
    try {
        std::erase_if(pending.uses, [](const Use &use) { return is_known_done(use.queue, use.position); });
        if (pending.uses.empty() && !pending.escaped)
            free_now(place, block.data);
        else
            waiting().blocks.add(place.context, std::move(pending), Condemned{place, block.data});
        free_finished();
    } catch (...) {  // no memory for the list: a block that leaks is better than one that is freed under a kernel
    }
}

std::size_t DirectResource::trim() {
    free_finished();
    return 0;
}

void DirectResource::wait_for_all() noexcept {
    try {
        free_all(waiting().blocks.wait_for_all());
    } catch (...) {  // no memory for the lists: they are freed at a later entry
    }
}

DirectResource *direct_resource() {
    static DirectResource *const made = [] {
        auto *const resource = new DirectResource;
        resource->make_immortal();
        return resource;
    }();
    return made;
}

}  // namespace entrepot
