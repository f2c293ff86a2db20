// Ordering: the access log of one Memory.
//
// Overview
//   The entries are the latest writes that are not ordered with each other, and the reads since. A
//   queue has one entry of each kind of access, and as many in a captured graph. Accesses that
//   threads submit at the same time may add more. An access asks find_blocking() what it has to
//   wait for. After its submission, add() adds it and removes the entries that it is ordered
//   after. The entries are summarized in Record::pending_queue (summarize).
//
// States
//   An entry is pending until its position is known to be done. A later access of its queue, or of
//   one that waits for it, replaces it. A later event of the same stream replaces an entry with an
//   event (Queue::of_event) only within captures. So such entries are asked about when the log
//   grows. The `waited_by` of an entry names another queue that waits for it. A consumer's entry
//   (Consumer) has no last position: the consumer may submit more at any time. A producer's entry
//   (precedes_import) is older than the import, and the release of the memory does not wait for it.
//   An entry with a `capture` is in that graph, and runs when the graph does.
//
// Lock order
//   The leaf `mutex` guards `entries`, `consumers`, `pins`, Record::prior_queue and
//   Record::prior_position, and writes to Record::pending_queue. Drivers are asked with it
//   unlocked. Queues taken out of the log are dropped after it is unlocked.
//
// Fast paths
//   Memory::wait_for_conflicts does nothing if Record::pending_queue is 0 or the number of the
//   queue. Memory::AccessRecorder updates the newest entry in place if the queue repeats its last
//   access (repeat). That a queue waits for an access already is remembered in `waited_by` alone.
//
// Lifetime
//   Made when it is first needed, kept by the recycled record, deleted with it.
#pragma once
#include <entrepot/core/small_vector.hpp>
#include <entrepot/memory/resource.hpp>
#include <memory/deferred.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

namespace entrepot {

struct Memory::Ordering {
    // Returns: the record's log, made at the first call and kept with the record.
    // Thread safety: thread-safe. The caller may hold the mutex of another log.
    static Ordering &of(Record &record) {
        Ordering *const made = record.ordering.load(std::memory_order_acquire);
        return made ? *made : make(record);
    }

    struct Entry {
        Queue queue;
        Queue::Position position;
        Access access;
        // number of another queue that waits for it, or 0; holds no reference to that queue
        std::uint64_t waited_by = 0;
        bool precedes_import = false;  // older than the import of the memory
        std::uint64_t capture = 0;     // the graph that the access is in; 0 if it runs, even if its
                                       // queue is capturing by now
        // not none: the queue of a consumer, which may submit more at any time
        Consumer consumer = Consumer::none;

        // True if waiting for a `later` access of `by` includes this entry. That access is in the
        // graph `in_capture` (0: none).
        bool is_superseded_by(Access later, const Queue &by,
                              std::uint64_t in_capture) const noexcept;
    };

    // Something that an operation has to wait for: the entries of one queue that run, or are in one
    // graph. They may be of several memories.
    struct Blocker {
        Queue queue;
        Queue::Position position;
        std::uint64_t capture;
        Consumer consumer;
        bool is_waited_for = false;
        bool is_released_by_consumer = false;  // the consumer has dropped its last reference, so
                                               // its queue holds all of its work

        // Returns: the position to wait for. For a consumer's queue a new position is taken,
        //          because an event recorded earlier may not cover its latest work. A capturing
        //          queue runs nothing, so there the stored position suffices.
        Queue::Position wait_position() const;
        void join(const Entry &entry) noexcept {
            position = std::max(position, entry.position);
            consumer = std::max(consumer, entry.consumer);
        }
    };
    using Blockers = SmallVector<Blocker, 2>;

    std::vector<Entry> entries ENTREPOT_GUARDED_BY(mutex);  // oldest first

    // Queues that consumers of exports work on. Unlike their entries above, they stay when an
    // operation has waited for them: the consumer may go on working.
    struct ConsumerQueue {
        Queue queue;
        Consumer holder;
    };
    std::vector<ConsumerQueue> consumers ENTREPOT_GUARDED_BY(mutex);

    // A use of a registered range by this memory, which is of the host (memory/pin.hpp).
    struct Pin {
        Device device;              // that uses the memory in place
        std::uintptr_t registered;  // start of the range

        bool operator==(const Pin &) const noexcept = default;
    };
    std::vector<Pin> pins ENTREPOT_GUARDED_BY(mutex);

    // Striped lock: 16 mutexes shared by all logs. Logs made in a row by one thread share a stripe,
    // so an operation on several memories usually locks once.
    ForkSafeMutex &mutex = next_mutex();
    using Lock = std::unique_lock<LeafMutex>;

    // Moves Record::prior_queue into the log. It unlocks `lock` while it asks the producer's queue
    // for its capture, and the log may have changed then.
    //
    // Requires: called first, in the same critical section, by code that adds or looks for entries.
    void begin(Record &record, Lock &lock) ENTREPOT_REQUIRES(mutex);
    // Adds an access. Queues that leave the log go to `left`.
    void add(Access access, const Queue &queue, Queue::Position position, std::uint64_t capture,
             Consumer consumer, LeftQueues &left) ENTREPOT_REQUIRES(mutex);
    // Updates the newest entry in place, if it is the same kind of access of the same queue. Then
    // no queue enters or leaves the log, so Record::pending_queue stays correct.
    //
    // Returns: false if add() is needed.
    bool repeat(Access access, const Queue &queue, Queue::Position position, std::uint64_t capture,
                Consumer consumer) noexcept ENTREPOT_REQUIRES(mutex);
    // Drops entries that are known to be done. `seen` are those of the caller.
    // Entries of a consumer that was waited for and holds no reference are dropped as well.
    void drop_done(LeftQueues &left, const Blockers &seen = {}) ENTREPOT_REQUIRES(mutex);

    // Adds to `blockers` what an access of `queue` has to wait for. Without a queue: an access of
    // the host.
    //
    // Requires: the caller does not hold `mutex`, which is locked here, and destroys `blockers`
    //           without it.
    void find_blocking(Record &record, Access access, const Queue &queue, Blockers &blockers,
                       const PeerStreams *waited_for = nullptr);
    // Overload of find_blocking() for the host. It also tells which consumers have dropped their
    // last reference.
    void find_blocking_host(Record &record, Access access, Blockers &blockers);
    // Marks the entries that `queue` waits for now.
    void mark_waited(const Blockers &blockers, const Queue &queue) ENTREPOT_REQUIRES(mutex);

    // Adds to `uses` what the release of the memory has to wait for. The log is empty afterwards.
    // `with_consumers`: all work in the consumers' queues as well. Without them, a queue that only
    // this log refers to would be unknown to the quarantine.
    //
    // Throws: bad_alloc; the log is unchanged.
    // Requires: nothing else refers to the memory, so `mutex` is not needed.
    void move_all_to(std::vector<Use> &uses,
                     bool with_consumers) ENTREPOT_NO_THREAD_SAFETY_ANALYSIS;

private:
    [[gnu::noinline]] static Ordering &make(Record &record);
    void take_over_prior(Record &record, Lock &lock) ENTREPOT_REQUIRES(mutex);
    static ForkSafeMutex &next_mutex();
};

}  // namespace entrepot
