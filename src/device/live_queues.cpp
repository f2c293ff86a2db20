#include "device/live_queues.hpp"

#include <entrepot/core/publish.hpp>
#include <entrepot/device/fork_guard.hpp>

#include <mutex>

namespace entrepot {

namespace {

// The child goes on using the host's queues, so a fork takes their mutexes. Those of a device's
// queues are useless in the child.
template <class Visit> void for_each_of_host(Visit &&visit) {
    live_queue_table().mutex.assert_held();
    live_queue_table().for_each([&](Queue::Record &record) {
        if (record.backend->is_host())
            visit(record);
    });
}

// The locks are held during the fork.
void take_locks() noexcept ENTREPOT_NO_THREAD_SAFETY_ANALYSIS {
    live_queue_table().mutex.lock();
    // Without HeldMutexes, which has room for a few mutexes.
    for_each_of_host([](Queue::Record &record) {
        std::lock(static_cast<std::mutex &>(record.owners_mutex),
                  static_cast<std::mutex &>(record.mutex));
    });
}

void release_locks() noexcept ENTREPOT_NO_THREAD_SAFETY_ANALYSIS {
    for_each_of_host([](Queue::Record &record) {
        record.mutex.std::mutex::unlock();
        record.owners_mutex.std::mutex::unlock();
    });
    live_queue_table().mutex.unlock();
}

[[maybe_unused]] const bool queues_are_locked =
    fork_guard::lock_over_fork(fork_guard::ForkRow::queues, {take_locks, release_locks});

}  // namespace

LiveQueues &live_queue_table() {
    static constinit FirstUse<LiveQueues> table;
    return table.get();
}

std::vector<Queue> live_queues(const Context &context) {
    std::vector<Queue> queues;
    const MutexLock lock(live_queue_table().mutex);
    live_queue_table().for_each([&](Queue::Record &record) {
        ENTREPOT_ASSERT(record.context);
        if (record.handle && record.context == context &&
            !record.may_be_destroyed.load(std::memory_order_relaxed)) {
            // First, because a reference that is dropped here may be the last one, and would lock
            // the table again.
            queues.emplace_back();
            queues.back() = Queue(LiveQueues::hold(&record));
        }
    });
    return queues;
}

}  // namespace entrepot
