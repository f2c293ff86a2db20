// Copies and fills between any two places, strided on both sides, ordered behind the uses that their memory knows of.
#pragma once
#include <entrepot/array/array.hpp>

#include <cstddef>
#include <span>

namespace entrepot {

// False if no element of one shares a byte with an element of the other. Neither is empty.
bool may_overlap(const Array &a, const Array &b);

// Work that a queue has been given.
struct Submitted {
    Queue queue;  // none: there was nothing to do
    Queue::Position position = 0;

    Event event() const { return queue ? queue.promise() : Event(); }  // asked for before more is submitted
    void wait() const {
        if (queue)
            queue.wait_at(position);
    }
    // What is captured runs when its graph does.
    void wait_unless_captured() const {
        if (queue && queue.capture() == 0)
            wait();
    }
};

// Copies `from` into `to`, element by element; `from` is broadcast to the shape of `to`. Runs on `queue` (none: the queue of the
// side that is on a device). It is done when `to` has all elements; both memories stay alive until then. Small copies
// between host-accessible, idle memories are done at once, by the calling thread. Between two contexts the bytes are staged
// through the host, and the call blocks.
// Throws ValueError: `to` is read-only, the dtypes differ, the shapes do not broadcast, the two overlap;
// the destination overlaps itself.
Submitted copy(const Array &to, const Array &from, const Queue &queue = {});

// Sets every element to `item`. Throws ValueError where it has not the itemsize of `to`, or `to` is read-only.
Submitted fill(const Array &to, std::span<const std::byte> item, const Queue &queue = {});

// The same elements in new memory of another place, C-contiguous. Where the host may write to `from` without asking us, because
// the memory is somebody else's or was given out, it has been read when this returns.
Array copy_to(const Array &from, UsmKind kind, const Queue &queue);

}  // namespace entrepot
