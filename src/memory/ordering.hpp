// Ordering: which accesses to a piece of memory may still be running.
#pragma once
#include <entrepot/core/small_vector.hpp>
#include <entrepot/memory/resource.hpp>
#include <memory/deferred.hpp>

#include <algorithm>
#include <vector>

namespace entrepot {

struct Memory::Ordering {
    // Returns: the record's ordering, made at the first call and kept with the record.
    // Thread safety: thread-safe.
    static Ordering &of(Record &record) {
        Ordering *const made = record.ordering.load(std::memory_order_acquire);
        return made ? *made : make(record);
    }

    struct Entry {
        Queue queue;
        Queue::Position position;
        Access access;
        std::uint64_t waited_by = 0;  // number of the queue whose work comes after it, besides its own; nothing keeps it alive
        bool is_producers = false;    // from before the memory was borrowed
        std::uint64_t capture = 0;    // of the graph that it went into; 0 for what runs, though its queue be captured by now
        Consumer consumer = Consumer::none;  // whose it is, if more of it may come, which no position tells

        // Whether who waits for a later access of that queue, captured or not, need not wait for this one.
        bool is_behind(Access later, const Queue &by, std::uint64_t in_capture) const noexcept;
        // Whether the queue, which nobody captures, has come behind it for another memory's sake already. Not behind a
        // consumer's, who may have submitted more since.
        bool is_remembered_by(const Queue &by) const noexcept;
    };

    // What an access has to come behind: the latest of one queue, of what runs or of what one graph has.
    struct Blocker {
        Queue queue;
        Queue::Position position;
        std::uint64_t capture;
        Consumer consumer;
        bool is_waited_for = false;
        bool is_over = false;  // a consumer's who has let go: what his queue holds now is all

        // The position to come behind. What a consumer may have submitted by now has a new one: an event of the queue that was
        // taken before does not stand for it. While his queue is captured, he submits nothing that runs.
        Queue::Position to_come_behind() const;
        void join(const Entry &entry) noexcept {
            position = std::max(position, entry.position);
            consumer = std::max(consumer, entry.consumer);
        }
    };
    using Blockers = SmallVector<Blocker, 2>;

    // The last write and what came since, at most one of each kind for a queue, and as many in its capture; and what other
    // threads do at the same time.
    std::vector<Entry> entries;

    // Queues that consumers of exports work on; guarded by `mutex`. Unlike their entries above, they stay when an operation of
    // ours has waited for them: the consumer may go on working.
    struct ConsumerQueue {
        Queue queue;
        Consumer holder;
    };
    std::vector<ConsumerQueue> consumers;

    // The lock of one ordering in so many: they need one each too rarely for its room. Those that a thread makes in a row often
    // have the same, for what is made together is used together.
    ForkSafeMutex &mutex = next_mutex();

    // Each with the lock held. `begin` comes first: it takes over what the memory was allocated with.
    void begin(Record &record);
    void note(Access access, const Queue &queue, Queue::Position position, std::uint64_t capture, Consumer consumer,
              LeftQueues &left);
    // The same where the queue does again what was done last: most launches write what they wrote, and read what was written
    // once. Else false. Of which queue everything is stays as it was published.
    bool repeat(Access access, const Queue &queue, Queue::Position position, std::uint64_t capture, Consumer consumer) noexcept;
    // Drops what is known to be done. The uses are those that the caller has seen the end of.
    void drop_done(LeftQueues &left, const Blockers &seen = {});

    // What an access has to wait for, of queues other than `queue` that has not waited for it before. Takes the lock itself, so
    // that the caller drops what it gets without it.
    void find_blocking(Record &record, Access access, const Queue &queue, Blockers &uses,
                       const PeerStreams *waited_for = nullptr);
    void mark_waited(const Blockers &uses, const Queue &queue);

    // What letting go has to wait for. Without the lock: nobody else has the memory any more. Leaves nothing.
    std::vector<Use> take_all();

private:
    [[gnu::noinline]] static Ordering &make(Record &record);
    void take_over_home(Record &record);
    static ForkSafeMutex &next_mutex();
};

// Before borrowed memory is released: makes the owner's stream wait for those of the consumers of exports, which may still work
// on the memory that the owner reuses next. On this thread, whose current streams those are.
// Requires: nothing else refers to the record.
// Returns: work of consumers that the release has to wait for, because the owner's stream is captured and cannot.
std::vector<Use> order_release(Memory::Record *record) noexcept;

}  // namespace entrepot
