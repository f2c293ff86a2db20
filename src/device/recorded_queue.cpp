#include <entrepot/device/recorded_queue.hpp>

#include <entrepot/core/assert.hpp>

namespace entrepot {
namespace {

thread_local const Queue *recorded_by_this_thread = nullptr;

}  // namespace

constinit std::atomic<unsigned> RecordedQueue::count{0};

const Queue *RecordedQueue::find() noexcept { return recorded_by_this_thread; }

void RecordedQueue::refuse(const char *what) {
    throw Error(ErrorKind::device, what,
                " was called while this thread records work of the queue into a graph: recorded "
                "work runs when the graph is replayed. Call it before or after the recording");
}

RecordedQueue::Scope::Scope(const Queue &queue) noexcept {
    ENTREPOT_ASSERT(!recorded_by_this_thread);
    recorded_by_this_thread = &queue;
    count.fetch_add(1, std::memory_order_relaxed);
}

RecordedQueue::Scope::~Scope() {
    ENTREPOT_ASSERT(recorded_by_this_thread);  // it began on this thread
    recorded_by_this_thread = nullptr;
    count.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace entrepot
