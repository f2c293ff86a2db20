// Deferred: items that wait for the pending accesses of some memory, and then for a quarantine if
// foreign code has seen it.
//
// Overview
//   It is polled, not notified: a notification would come on a driver's thread, where neither a
//   driver nor Python may be called.
//
// States
//   An item waits in the heap of one queue after the other. If the memory has escaped, it then
//   waits in the quarantine of its context. Then it is finished. A quarantine has one batch at a
//   time, guarded by events recorded when it is fenced. Later items gather for the next batch.
//
// Lock order
//   The owner's mutex, a leaf, guards all fields. It is never held while a device is asked or an
//   item is released. Queues are dropped after it is unlocked.
//
// Fast paths
//   is_empty() is one load.
#pragma once
#include "memory/release.hpp"
#include <device/fork_safe_mutex.hpp>
#include <entrepot/memory/resource.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace entrepot {

// True if the work is known to be done. The device is not asked.
inline bool is_known_done(const Queue &queue, Queue::Position position) noexcept {
    return queue.identity()->completed.load(std::memory_order_acquire) >= position;
}

// True if the work is done. The device is asked if needed. If it cannot answer, the work counts as
// pending: the memory leaks rather than being reused too early.
inline bool is_done_for_sure(const Queue &queue, Queue::Position position) noexcept {
    ENTREPOT_ASSERT(!HeldMutexes::has_leaf());
    if (is_known_done(queue, position))
        return true;
    try {
        return may_call(queue.backend()) && queue.is_done(position);
    } catch (...) {
        return false;
    }
}

// Adds a use, unless there is a later one of its queue.
inline void keep_latest(std::vector<Use> &uses, const Use &use) {
    for (Use &each : uses)
        if (each.queue == use.queue) {
            each.position = std::max(each.position, use.position);
            return;
        }
    uses.push_back(use);
}

// Thread safety: thread-safe. The caller does not hold the mutex.
template <class Item> class Deferred {
public:
    explicit Deferred(ForkSafeMutex &mutex) noexcept : mutex_(mutex) {}

    bool is_empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

    // The item waits for what is pending on memory of `context`.
    void add(const Context &context, Pending pending, Item item) {
        Waiting waiting{std::move(item), std::move(pending.uses),
                        pending.escaped ? context : Context()};
        ENTREPOT_ASSERT(are_submitted(waiting.uses));
        const MutexLock lock(mutex_);
        place(std::move(waiting), finished_);
        count_.fetch_add(1, std::memory_order_relaxed);
    }

    // Returns: the items whose work is done. Never blocks.
    std::vector<Item> take_finished() { return poll(false); }

    // Returns: all items, once their work is done. Items of failed work stay.
    // Blocks: until then.
    std::vector<Item> wait_for_all() {
        std::vector<Item> all = poll(true);
        // One round may only move items from their heaps into quarantine. After two rounds without
        // a result, none will follow.
        for (int fruitless = 0; fruitless < 2 && !is_empty() && wait_for_some(); ++fruitless)
            for (Item &item : poll(true)) {
                all.push_back(std::move(item));
                fruitless = -1;
            }
        return all;
    }

    // Returns: everything that an item waits for, for an owner that ends and passes the items on.
    Pending outstanding() const {
        const MutexLock lock(mutex_);
        Pending all;
        for (const PerQueueHeap &heap : heaps_)
            for (const Waiting &waiting : heap.waiting) {
                for (const Use &use : waiting.uses)
                    keep_latest(all.uses, use);
                all.escaped |= static_cast<bool>(waiting.quarantine);
            }
        all.escaped |= !quarantines_.empty();
        return all;
    }

private:
    struct Waiting {
        Item item;
        std::vector<Use> uses;  // the last one is waited for first
        Context quarantine;  // waited for afterwards; empty if foreign code has not seen the memory
    };
    // Items that wait for positions of one queue, as a heap with the lowest position in front.
    // Never empty.
    struct PerQueueHeap {
        Queue queue;
        std::vector<Waiting> waiting;
    };
    // State of a batch's guards. While they are being recorded, only the thread that records them
    // changes the batch.
    enum class Guarding : std::uint8_t { none, being_recorded, recorded };
    // Memory of one context that foreign code has seen. A batch is guarded by an event of
    // everything in the context. If the runtime has no such event, by one of each live queue in it
    // that is foreign or busy. Streams that may be destroyed are not covered. While a queue
    // captures, no batch is guarded. Later items gather for the next batch, so one set of guards
    // serves many.
    struct QuarantineContext {
        Context context;
        std::vector<Item> open_batch;
        std::vector<Item> batch;
        std::vector<Event> guards;
        std::uint64_t number = 0;  // of the batch
        Guarding guarding = Guarding::none;
    };

    // For ENTREPOT_ASSERT: position 0 is never pending.
    static bool are_submitted(const std::vector<Use> &uses) noexcept {
        return std::all_of(uses.begin(), uses.end(),
                           [](const Use &use) { return use.queue && use.position != 0; });
    }

    std::vector<Item> poll(bool may_block) {
        while (advance_completed()) {
        }
        do {
            fence_quarantines(may_block);
        } while (end_quarantines());  // then the next batch is fenced
        const MutexLock lock(mutex_);
        ENTREPOT_ASSERT(finished_.size() <= count_.load(std::memory_order_relaxed));
        count_.fetch_sub(finished_.size(), std::memory_order_relaxed);
        return std::exchange(finished_, {});
    }

    static bool is_later(const Waiting &a, const Waiting &b) noexcept {
        return a.uses.back().position > b.uses.back().position;
    }

    // Moves an item to the next heap, to its quarantine, or to `finished`.
    void place(Waiting &&waiting, std::vector<Item> &finished) ENTREPOT_REQUIRES(mutex_) {
        mutex_.assert_held();
        if (!waiting.uses.empty()) {
            const Queue &queue = waiting.uses.back().queue;
            auto heap = std::find_if(heaps_.begin(), heaps_.end(),
                                     [&](const PerQueueHeap &each) { return each.queue == queue; });
            if (heap == heaps_.end()) {
                PerQueueHeap fresh{queue, {}};
                fresh.waiting.reserve(1);  // what throws later must not leave a heap without items
                heap = heaps_.insert(heap, std::move(fresh));
            }
            heap->waiting.push_back(std::move(waiting));
            std::push_heap(heap->waiting.begin(), heap->waiting.end(), is_later);
        } else if (waiting.quarantine) {
            auto quarantine = std::find_if(
                quarantines_.begin(), quarantines_.end(),
                [&](const QuarantineContext &each) { return each.context == waiting.quarantine; });
            if (quarantine == quarantines_.end())
                quarantine = quarantines_.insert(
                    quarantine, QuarantineContext{
                                    std::move(waiting.quarantine), {}, {}, {}, 0, Guarding::none});
            quarantine->open_batch.push_back(std::move(waiting.item));
        } else {
            finished.push_back(std::move(waiting.item));
        }
    }

    // Asks for the front of every heap, and moves on the items whose work is done.
    // Returns: true if an item was moved.
    bool advance_completed() {
        std::vector<Use> fronts;
        {
            const MutexLock lock(mutex_);
            for (const PerQueueHeap &heap : heaps_) {
                ENTREPOT_ASSERT(!heap.waiting.empty());
                fronts.push_back(heap.waiting.front().uses.back());
            }
        }
        std::erase_if(fronts,
                      [](const Use &use) { return !is_done_for_sure(use.queue, use.position); });
        if (fronts.empty())
            return false;

        std::vector<Queue> left;  // dropped after the mutex: the last reference calls the driver
        const MutexLock lock(mutex_);
        bool moved = false;
        for (const Use &front : fronts) {
            const auto heap =
                std::find_if(heaps_.begin(), heaps_.end(),
                             [&](const PerQueueHeap &each) { return each.queue == front.queue; });
            if (heap == heaps_.end())
                continue;  // another thread was faster
            std::vector<Waiting> done;
            while (!heap->waiting.empty() &&
                   (heap->waiting.front().uses.back().position <= front.position ||
                    is_known_done(front.queue, heap->waiting.front().uses.back().position))) {
                std::pop_heap(heap->waiting.begin(), heap->waiting.end(), is_later);
                done.push_back(std::move(heap->waiting.back()));
                heap->waiting.pop_back();
            }
            moved |= !done.empty();
            if (heap->waiting.empty()) {
                left.push_back(std::move(heap->queue));
                heaps_.erase(heap);
            }
            for (Waiting &waiting : done) {
                left.push_back(std::move(waiting.uses.back().queue));
                waiting.uses.pop_back();
                place(std::move(waiting), finished_);
            }
        }
        return moved;
    }

    // Makes a batch of the items that have gathered in quarantines without one. Records the guards
    // of each batch that has none, and leaves it to the next poll if that fails.
    void fence_quarantines(bool may_block) {
        std::vector<std::pair<Context, std::uint64_t>> fresh;
        {
            const MutexLock lock(mutex_);
            fresh.reserve(quarantines_.size());  // a batch whose number is lost would never end
            for (QuarantineContext &quarantine : quarantines_) {
                if (quarantine.guarding != Guarding::none)
                    continue;
                if (quarantine.batch.empty())
                    quarantine.batch.swap(quarantine.open_batch);
                if (quarantine.batch.empty())
                    continue;
                quarantine.guarding = Guarding::being_recorded;
                fresh.emplace_back(quarantine.context, ++quarantine.number);
            }
        }
        for (auto &[context, number] : fresh) {
            std::vector<Event> guards;
            const bool guarded = record_guards(context, may_block, guards);
            const MutexLock lock(mutex_);
            const auto quarantine = find_batch(context, number);
            ENTREPOT_ASSERT(quarantine != quarantines_.end() &&
                            quarantine->guarding == Guarding::being_recorded);
            quarantine->guarding = guarded ? Guarding::recorded : Guarding::none;
            if (guarded)
                quarantine->guards = std::move(guards);
        }
    }

    static bool record_guards(const Context &context, bool may_block,
                              std::vector<Event> &guards) noexcept {
        try {
            if (!may_call(context.backend()))
                return false;
            if (std::optional<Event> all = record_all(context)) {
                guards.push_back(*std::move(all));
                return true;
            }
            for (const Queue &queue : live_queues(context)) {
                if (queue.capture() != 0)  // an event of a graph is never done
                    return false;
                if (!queue.is_foreign() && queue.is_idle())
                    continue;
                std::optional<Event> event = may_block ? queue.record() : queue.try_record();
                // another thread waits for the queue or has begun a capture
                if (!event || event->capture() != 0)
                    return false;
                guards.push_back(*std::move(event));
            }
            return true;
        } catch (...) {
            return false;
        }
    }

    // Returns: true if a batch is finished.
    bool end_quarantines() {
        struct Batch {
            Context context;
            std::uint64_t number;
            std::vector<Event> guards;
        };
        std::vector<Batch> batches;
        {
            const MutexLock lock(mutex_);
            for (const QuarantineContext &quarantine : quarantines_)
                if (quarantine.guarding == Guarding::recorded)
                    batches.push_back({quarantine.context, quarantine.number, quarantine.guards});
        }
        std::erase_if(batches, [](const Batch &batch) {
            return !std::all_of(batch.guards.begin(), batch.guards.end(), is_event_done);
        });
        if (batches.empty())
            return false;

        bool ended = false;
        std::vector<QuarantineContext> left;  // dropped after the mutex
        const MutexLock lock(mutex_);
        for (const Batch &batch : batches) {
            const auto quarantine = find_batch(batch.context, batch.number);
            if (quarantine == quarantines_.end() || quarantine->guarding != Guarding::recorded)
                continue;  // another thread was faster
            // what throws later must not leave items in both
            finished_.reserve(finished_.size() + quarantine->batch.size());
            std::ranges::move(quarantine->batch, std::back_inserter(finished_));
            quarantine->batch.clear();
            quarantine->guards.clear();
            quarantine->guarding = Guarding::none;
            if (quarantine->open_batch.empty()) {
                left.push_back(std::move(*quarantine));
                quarantines_.erase(quarantine);
            }
            ended = true;
        }
        return ended;
    }

    static bool is_event_done(const Event &event) noexcept {
        try {
            return !event.backend() || (may_call(*event.backend()) && event.is_done());
        } catch (...) {
            return false;
        }
    }

    // Waits for what the heaps and the batches wait for now.
    // Returns: false if some of it cannot be waited for, or there is nothing.
    bool wait_for_some() {
        std::vector<Use> uses;
        std::vector<Event> guards;
        {
            const MutexLock lock(mutex_);
            for (const PerQueueHeap &heap : heaps_)
                for (const Waiting &waiting : heap.waiting)
                    keep_latest(uses, waiting.uses.back());
            for (const QuarantineContext &quarantine : quarantines_)
                guards.insert(guards.end(), quarantine.guards.begin(), quarantine.guards.end());
        }
        if (uses.empty() && guards.empty())
            return false;
        try {
            for (const Use &use : uses) {
                if (!may_call(use.queue.backend()))
                    return false;
                use.queue.wait_at(use.position);
            }
            for (const Event &guard : guards)
                guard.wait();
        } catch (...) {
            return false;
        }
        return true;
    }

    typename std::vector<QuarantineContext>::iterator find_batch(const Context &context,
                                                                 std::uint64_t number)
        ENTREPOT_REQUIRES(mutex_) {
        mutex_.assert_held();
        return std::find_if(quarantines_.begin(), quarantines_.end(),
                            [&](const QuarantineContext &quarantine) {
                                return quarantine.context == context && quarantine.number == number;
                            });
    }

    ForkSafeMutex &mutex_;
    std::vector<PerQueueHeap> heaps_ ENTREPOT_GUARDED_BY(mutex_);
    std::vector<QuarantineContext> quarantines_ ENTREPOT_GUARDED_BY(mutex_);
    std::vector<Item> finished_ ENTREPOT_GUARDED_BY(mutex_);
    std::atomic<std::size_t> count_{0};  // atomic: all items
};

}  // namespace entrepot
