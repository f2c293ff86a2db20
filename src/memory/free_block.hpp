// FreeBlock: a cached block, and the queue on which its last access may be pending.
#pragma once
#include <entrepot/memory/resource.hpp>
#include <memory/deferred.hpp>

#include <vector>

namespace entrepot {

// A block that work of `queue` may use at once, and anything else once the queue has reached
// `position`.
struct FreeBlock {
    void *data = nullptr;
    Queue queue;  // empty: any work may use it
    Queue::Position position = 0;

    bool is_bound() const noexcept { return queue && !is_known_done(queue, position); }
    // Later work of the block's own queue runs after its work, also in SYCL's out-of-order queues.
    // Entrepot encloses what it submits there in barriers (Queue::submit in
    // backends/sycl/native.hpp). Memory that foreign code has seen is in quarantine first.
    bool can_access_without_wait(const Queue &other) const noexcept {
        return !is_bound() || queue == other;
    }
    // Moves the queue to `dropped` if its work is known to be done. The caller drops it without a
    // lock.
    void unbind_if_done(std::vector<Queue> &dropped) {
        if (queue && !is_bound())
            dropped.push_back(std::move(queue));
    }
};

// A block for the upstream's deallocate.
struct Returned {
    Block block;
    Pending pending;
};

}  // namespace entrepot
