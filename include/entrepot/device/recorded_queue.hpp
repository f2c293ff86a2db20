// RecordedQueue: the queue whose work the calling thread records into a graph
// (array/graph.hpp), for modules that know nothing of graphs.
//
// Overview
//   Recorded work is not submitted, so waiting for the queue would not wait for it. Functions that
//   wait ask here first, and refuse.
//
// Fast paths
//   A process without a recording reads one atomic counter.
#pragma once
#include <entrepot/device/queue.hpp>

#include <atomic>

#pragma GCC visibility push(default)
namespace entrepot {

class RecordedQueue {
public:
    // Returns: nullptr if the calling thread records nothing.
    static const Queue *of_this_thread() noexcept {
        return count.load(std::memory_order_relaxed) == 0 ? nullptr : find();
    }
    static bool is_any() noexcept { return count.load(std::memory_order_relaxed) != 0; }
    // Throws: DeviceError if the calling thread records work of the queue. `what` is the call.
    static void require_running(const Queue &queue, const char *what) {
        if (const Queue *const recorded = of_this_thread(); recorded && *recorded == queue)
            refuse(what);
    }
    [[noreturn]] static void refuse(const char *what);

    // The thread records the queue until the scope ends.
    //
    // Requires: the thread records nothing yet. The scope ends on this thread.
    class Scope {
    public:
        explicit Scope(const Queue &queue) noexcept;
        Scope(const Scope &) = delete;
        Scope &operator=(const Scope &) = delete;
        ~Scope();
    };

private:
    static const Queue *find() noexcept;

    static std::atomic<unsigned> count;  // atomic; threads that record
};

}  // namespace entrepot
#pragma GCC visibility pop
