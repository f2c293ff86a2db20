// Copies and fills between any two places, strided on both sides, ordered after pending accesses to
// their memory.
#pragma once
#include <entrepot/array/array.hpp>

#include <cstddef>
#include <span>

#pragma GCC visibility push(default)
namespace entrepot {

// False if the arrays share no byte. Requires: neither is empty.
bool may_overlap(const Array &a, const Array &b);

// Work submitted to a queue.
struct Submitted {
    Queue queue;  // none if there was nothing to do
    Queue::Position position = 0;
    bool is_recorded = false;  // into a graph (graph.hpp), so it runs when that is replayed

    static Submitted recorded(const Queue &queue) { return {queue, queue.position(), true}; }

    // Call before more is submitted.
    Event event() const {
        return is_recorded ? Event::recorded(queue.backend())
               : queue     ? queue.lazy_event()
                           : Event();
    }
    // Throws: DeviceError if the work was recorded.
    void wait() const {
        if (is_recorded) [[unlikely]]
            event().wait();
        else if (queue)
            queue.wait_at(position);
    }
    // Captured or recorded work cannot be waited for: it runs when its graph does.
    void wait_unless_captured() const {
        if (!is_recorded && queue && queue.capture() == 0)
            wait();
    }
};

// Copies `from`, broadcast to the shape of `to`, into `to`. Runs on `queue` (none: the queue of the
// side that is on a device). Both memories stay alive until the copy is done.
// Before the host reads `to` by its address, wait for the result, or call wait_for_host() of its
// memory.
//
// Small copies between host-accessible, idle memories are done at once by the calling thread.
//
// Blocks: if the bytes are staged through the host between two contexts, or if `to` is strided host
//         memory that the device does not reach.
// Throws: ValueError if `to` is read-only or overlaps itself or `from`, the dtypes differ, or the
//         shapes do not broadcast.
Submitted copy(const Array &to, const Array &from, const Queue &queue = {});

// Sets every element to `item`.
// Throws: ValueError if its size is not the itemsize of `to`, or `to` is read-only.
Submitted fill(const Array &to, std::span<const std::byte> item, const Queue &queue = {});

// Copies to new memory of another place, C-contiguous.
//
// Blocks: until `from` has been read, if the host may write to it without Entrepot's knowledge.
//         That is host-accessible memory that is borrowed or was exported. Does not block during
//         capture. Other memory may still be read when the call returns: wait_for_host() before a
//         write through `from.data()`.
Array copy_to(const Array &from, UsmKind kind, const Queue &queue);

}  // namespace entrepot
#pragma GCC visibility pop
