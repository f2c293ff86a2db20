// Checks of the fake device's memory: which blocks are allocated, and which overlap.
#pragma once
#include "memory/release.hpp"
#include <entrepot/memory/resource.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "fake_backend.hpp"

namespace entrepot {

// True if the block, or the chunk that contains it, is still allocated.
inline bool is_allocated(const void *data) {
    const std::unique_lock locked(fake::world().mutex);
    const auto row = fake::world().allocations.lower_bound(reinterpret_cast<std::uintptr_t>(data));
    return row != fake::world().allocations.end() &&
           reinterpret_cast<std::uintptr_t>(data) >=
               row->first + 1 - std::max<std::size_t>(row->second.bytes, 1);
}

inline std::size_t allocation_count() {
    const std::unique_lock locked(fake::world().mutex);
    return fake::world().allocations.size();
}

inline bool overlap(const Block &a, const Block &b) {
    const auto *const first = static_cast<const char *>(a.data), *const second =
                                                                     static_cast<const char *>(
                                                                         b.data);
    return first < second + b.bytes && second < first + a.bytes;
}

// A held queue of the fake. Its work stays pending until finish().
struct HeldQueue {
    Queue queue;

    explicit HeldQueue(const Device &device = fake::device()) : queue(Queue::create(device)) {
        fake::hold(queue);
    }
    ~HeldQueue() { fake::release(queue); }

    Use submit() const { return {queue, fake::submit(queue)}; }
    void finish() const { fake::release(queue); }
};

}  // namespace entrepot
