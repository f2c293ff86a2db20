// Owners that wait, in one list for the process.
#include <memory/owners.hpp>

#include "memory/release.hpp"
#include <entrepot/core/publish.hpp>
#include <memory/deferred.hpp>

namespace entrepot {

constinit std::atomic<std::size_t> owners_waiting{0};

namespace {

// Without a destructor: an owner that cannot be listed leaks, instead of being released under a
// running kernel.
struct Kept {
    void *handle;
    Owner::Release release;
    const Backend *backend;  // of the memory; nullptr: the owner may always be released
};

struct Waiting {
    ForkSafeMutex mutex;  // guards owners
    Deferred<Kept> owners{mutex};
};

Waiting &waiting() {
    static constinit FirstUse<Waiting> made;
    return made.get();
}

void release(const std::vector<Kept> &owners) noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // a release runs foreign code
    owners_waiting.fetch_sub(owners.size(), std::memory_order_relaxed);
    for (const Kept &owner : owners)
        if (!owner.backend || may_call(*owner.backend))
            owner.release(owner.handle);
}

}  // namespace

void release_after(const Context &context, std::vector<Use> uses, Owner owner) noexcept {
    const Kept kept{owner.handle(), owner.release_function(), &context.backend()};
    if (!kept.release)
        return;
    try {
        std::erase_if(uses,
                      [](const Use &use) { return is_done_for_sure(use.queue, use.position); });
        if (uses.empty())
            return;  // the parameter releases the owner
        owner.detach();
        waiting().owners.add(context, {std::move(uses), false}, kept);
        owners_waiting.fetch_add(1, std::memory_order_relaxed);
    } catch (...) {  // no memory for the list
    }
}

void release_later(Owner owner) noexcept {
    const Kept kept{owner.handle(), owner.release_function(), nullptr};
    ENTREPOT_ASSERT(kept.release);
    owner.detach();
    try {
        waiting().owners.add({}, {}, kept);
        owners_waiting.fetch_add(1, std::memory_order_relaxed);
    } catch (...) {  // no memory for the list
    }
}

void release_owners_of_finished_work() noexcept {
    try {
        release(waiting().owners.take_finished());
    } catch (...) {  // no memory for the list: tried again by a later call
    }
}

void wait_for_owners() noexcept {
    try {
        release(waiting().owners.wait_for_all());
    } catch (...) {
    }
}

}  // namespace entrepot
