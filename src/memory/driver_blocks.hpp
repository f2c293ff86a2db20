// DriverBlocks: allocations of the driver that came back, until their uses are done and they can be freed.
#pragma once
#include <memory/deferred.hpp>

#include <utility>
#include <vector>

namespace entrepot {

class DriverBlocks {
public:
    // Frees at once: nothing is pending any more. A failure has no one left to be told, and the block is lost.
    using Free = void (*)(const Place &place, void *data) noexcept;

    explicit DriverBlocks(Free free) noexcept : free_(free) {}

    void take(const Place &place, void *data, Pending pending) noexcept {
        try {
            std::erase_if(pending.uses, [](const Use &use) { return is_known_done(use.queue, use.position); });
            if (pending.uses.empty() && !pending.escaped)
                free_now({place, data});
            else
                blocks_.add(place.context, std::move(pending), Condemned{place, data});
            free_finished();
        } catch (...) {  // no memory for the list: a block that leaks is better than one that is freed under a kernel
        }
    }

    void free_finished() {
        if (!blocks_.is_empty())
            free_all(blocks_.take_finished());
    }

    void wait_for_all() noexcept {
        try {
            free_all(blocks_.wait_for_all());
        } catch (...) {  // no memory for the lists: they are freed at a later entry
        }
    }

private:
    struct Condemned {
        Place place;
        void *data;
    };

    void free_now(const Condemned &block) const noexcept {
        if (may_call(block.place.context.backend()))
            free_(block.place, block.data);
    }

    void free_all(const std::vector<Condemned> &blocks) const noexcept {
        for (const Condemned &block : blocks)
            free_now(block);
    }

    const Free free_;
    ForkSafeMutex mutex_;
    Deferred<Condemned> blocks_{mutex_};
};

}  // namespace entrepot
