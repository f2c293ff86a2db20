// FreeBlock: a block that nobody has, and the queue that its last work may still be running on.
#pragma once
#include <entrepot/memory/resource.hpp>
#include <memory/deferred.hpp>

#include <vector>

namespace entrepot {

// A block that work of `queue` may use at once, and anything else once the queue has reached `position`.
struct FreeBlock {
    void *data = nullptr;
    Queue queue;  // none: free for all
    Queue::Position position = 0;

    bool is_bound() const noexcept { return queue && !is_known_done(queue, position); }
    bool is_free_for(const Queue &other) const noexcept { return !is_bound() || queue == other; }
    // The queue of work that is known to be done goes to `dropped`, whose owner holds no lock when the last reference ends.
    void unbind_if_done(std::vector<Queue> &dropped) {
        if (queue && !is_bound())
            dropped.push_back(std::move(queue));
    }
};

// What goes back to the upstream.
struct Returned {
    Block block;
    Pending pending;
};

}  // namespace entrepot
