// DriverBlocks: allocations of the driver that wait for their pending accesses before they are
// freed.
//
// Lock order: `mutex_`, a leaf, guards all lists. The driver is called with it unlocked.
#pragma once
#include <memory/deferred.hpp>

#include <atomic>
#include <utility>
#include <vector>

namespace entrepot {

class DriverBlocks {
public:
    // Frees a block that has no pending access. Returns false if that is not possible now: it is
    // tried again by a later call. After a failure the block leaks.
    using Free = bool (*)(const Place &place, void *data) noexcept;

    explicit DriverBlocks(Free free) noexcept : free_(free) {}

    void free_after(const Place &place, void *data, Pending pending) noexcept {
        try {
            std::erase_if(pending.uses,
                          [](const Use &use) { return is_known_done(use.queue, use.position); });
            if (pending.uses.empty() && !pending.escaped)
                free_all({{place, data}});
            else
                blocks_.add(place.context, std::move(pending), Condemned{place, data});
            free_finished();
        } catch (...) {  // no memory for the list: a block that leaks is better than one that is
                         // freed under a kernel
        }
    }

    void free_finished() {
        if (!blocks_.is_empty())
            free_all(blocks_.take_finished());
        if (has_refused_.load(std::memory_order_relaxed))
            free_all(take_refused());
    }

    void wait_for_all() noexcept {
        try {
            free_all(blocks_.wait_for_all());
            free_all(take_refused());
        } catch (...) {  // no memory for the lists: they are freed at a later entry
        }
    }

private:
    struct Condemned {
        Place place;
        void *data;
    };

    void free_all(const std::vector<Condemned> &blocks) {
        ENTREPOT_ASSERT(HeldMutexes::is_empty());
        for (const Condemned &block : blocks)
            if (may_call(block.place.context.backend()) && !free_(block.place, block.data))
                add_refused(block);
    }

    void add_refused(const Condemned &block) {
        const MutexLock lock(mutex_);
        refused_.push_back(block);
        has_refused_.store(true, std::memory_order_relaxed);
    }

    std::vector<Condemned> take_refused() {
        const MutexLock lock(mutex_);
        has_refused_.store(false, std::memory_order_relaxed);
        return std::exchange(refused_, {});
    }

    const Free free_;
    ForkSafeMutex mutex_;
    Deferred<Condemned> blocks_{mutex_};
    std::vector<Condemned> refused_ ENTREPOT_GUARDED_BY(mutex_);
    std::atomic<bool> has_refused_{false};  // atomic; written with mutex_ held
};

}  // namespace entrepot
