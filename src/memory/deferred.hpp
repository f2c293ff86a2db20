// Deferred: items that wait for the pending accesses of some memory, and then for a quarantine if
// foreign code has seen it.
//
// Overview
//   It is polled, not notified: a notification would come on a driver's thread, where neither a
//   driver nor Python may be called.
//
// States
//   An item waits in the line of one queue after the other. If the memory has escaped, it then
//   waits in the ward of its context. Then it is finished. A ward has one batch at a time, guarded
//   by events recorded when it is sealed. Later items gather for the next batch.
//
// Lock order
//   The owner's mutex, a leaf, guards all fields. It is never held while a device is asked or an
//   item is released. Queues are dropped after it is unlocked.
//
// Fast paths
//   is_empty() is one load.
#pragma once
#include <entrepot/memory/release.hpp>
#include <entrepot/memory/resource.hpp>
#include <memory/fork_safe_mutex.hpp>

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
        const std::lock_guard lock(mutex_);
        place(std::move(waiting), finished_);
        count_.fetch_add(1, std::memory_order_relaxed);
    }

    // Returns: the items whose work is done. Never blocks.
    std::vector<Item> take_finished() { return taken_finished(false); }

    // Returns: all items, once their work is done. Items of failed work stay.
    // Blocks: until then.
    std::vector<Item> wait_for_all() {
        std::vector<Item> all = taken_finished(true);
        // One round may only move items from their lines into quarantine. After two rounds without
        // a result, none will follow.
        for (int fruitless = 0; fruitless < 2 && !is_empty() && wait_for_some(); ++fruitless)
            for (Item &item : taken_finished(true)) {
                all.push_back(std::move(item));
                fruitless = -1;
            }
        return all;
    }

    // Returns: everything that an item waits for, for an owner that ends and passes the items on.
    Pending outstanding() const {
        const std::lock_guard lock(mutex_);
        Pending all;
        for (const Line &line : lines_)
            for (const Waiting &waiting : line.waiting) {
                for (const Use &use : waiting.uses)
                    keep_latest(all.uses, use);
                all.escaped |= static_cast<bool>(waiting.quarantine);
            }
        all.escaped |= !wards_.empty();
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
    struct Line {
        Queue queue;
        std::vector<Waiting> waiting;
    };
    // Memory of one context that foreign code has seen. A batch is guarded by an event of
    // everything in the context. If the runtime has no such event, by one of every live queue in
    // it. Later items gather for the next batch, so one barrier serves many.
    struct Ward {
        Context context;
        std::vector<Item> gathering;
        std::vector<Item> batch;
        std::vector<Event> guards;
        std::uint64_t number = 0;  // of the batch
        bool sealed = false;
    };

    // For ENTREPOT_ASSERT: position 0 is never pending.
    static bool are_submitted(const std::vector<Use> &uses) noexcept {
        return std::all_of(uses.begin(), uses.end(),
                           [](const Use &use) { return use.queue && use.position != 0; });
    }

    std::vector<Item> taken_finished(bool may_block) {
        while (pass_finished_uses()) {
        }
        do {
            seal_quarantines(may_block);
        } while (end_quarantines());  // then the next batch is sealed
        const std::lock_guard lock(mutex_);
        ENTREPOT_ASSERT(finished_.size() <= count_.load(std::memory_order_relaxed));
        count_.fetch_sub(finished_.size(), std::memory_order_relaxed);
        return std::exchange(finished_, {});
    }

    static bool is_later(const Waiting &a, const Waiting &b) noexcept {
        return a.uses.back().position > b.uses.back().position;
    }

    // Moves an item to the next line, to its ward, or to `finished`.
    // Requires: the caller holds the mutex.
    void place(Waiting &&waiting, std::vector<Item> &finished) {
        ENTREPOT_ASSERT(mutex_.held());
        if (!waiting.uses.empty()) {
            const Queue &queue = waiting.uses.back().queue;
            auto line = std::find_if(lines_.begin(), lines_.end(),
                                     [&](const Line &each) { return each.queue == queue; });
            if (line == lines_.end()) {
                Line fresh{queue, {}};
                fresh.waiting.reserve(1);  // what throws later must not leave a line without items
                line = lines_.insert(line, std::move(fresh));
            }
            line->waiting.push_back(std::move(waiting));
            std::push_heap(line->waiting.begin(), line->waiting.end(), is_later);
        } else if (waiting.quarantine) {
            auto ward = std::find_if(wards_.begin(), wards_.end(), [&](const Ward &each) {
                return each.context == waiting.quarantine;
            });
            if (ward == wards_.end())
                ward =
                    wards_.insert(ward, Ward{std::move(waiting.quarantine), {}, {}, {}, 0, false});
            ward->gathering.push_back(std::move(waiting.item));
        } else {
            finished.push_back(std::move(waiting.item));
        }
    }

    // Asks for the front of every line, and moves on the items whose work is done.
    // Returns: true if an item was moved.
    bool pass_finished_uses() {
        std::vector<Use> fronts;
        {
            const std::lock_guard lock(mutex_);
            for (const Line &line : lines_) {
                ENTREPOT_ASSERT(!line.waiting.empty());
                fronts.push_back(line.waiting.front().uses.back());
            }
        }
        std::erase_if(fronts,
                      [](const Use &use) { return !is_done_for_sure(use.queue, use.position); });
        if (fronts.empty())
            return false;

        std::vector<Queue> left;  // dropped after the mutex: the last reference calls the driver
        const std::lock_guard lock(mutex_);
        bool passed = false;
        for (const Use &front : fronts) {
            const auto line = std::find_if(lines_.begin(), lines_.end(), [&](const Line &each) {
                return each.queue == front.queue;
            });
            if (line == lines_.end())
                continue;  // another thread was faster
            std::vector<Waiting> through;
            while (!line->waiting.empty() &&
                   (line->waiting.front().uses.back().position <= front.position ||
                    is_known_done(front.queue, line->waiting.front().uses.back().position))) {
                std::pop_heap(line->waiting.begin(), line->waiting.end(), is_later);
                through.push_back(std::move(line->waiting.back()));
                line->waiting.pop_back();
            }
            passed |= !through.empty();
            if (line->waiting.empty()) {
                left.push_back(std::move(line->queue));
                lines_.erase(line);
            }
            for (Waiting &waiting : through) {
                left.push_back(std::move(waiting.uses.back().queue));
                waiting.uses.pop_back();
                place(std::move(waiting), finished_);
            }
        }
        return passed;
    }

    // Makes a batch of the items that have gathered in wards without one, and records its guards.
    void seal_quarantines(bool may_block) {
        std::vector<std::pair<Context, std::uint64_t>> fresh;
        {
            const std::lock_guard lock(mutex_);
            for (Ward &ward : wards_)
                if (ward.batch.empty() && !ward.gathering.empty()) {
                    ward.batch.swap(ward.gathering);
                    ward.sealed = false;
                    fresh.emplace_back(ward.context, ++ward.number);
                }
        }
        for (auto &[context, number] : fresh) {
            std::vector<Event> guards;
            const bool guarded = record_guards(context, may_block, guards);
            const std::lock_guard lock(mutex_);
            const auto ward = find_batch(context, number);
            // only this thread has the number of the batch
            ENTREPOT_ASSERT(ward != wards_.end() && !ward->sealed);
            if (guarded) {
                ward->guards = std::move(guards);
                ward->sealed = true;
            } else {  // another try at the next poll
                std::move(ward->batch.begin(), ward->batch.end(),
                          std::back_inserter(ward->gathering));
                ward->batch.clear();
            }
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
            const std::lock_guard lock(mutex_);
            for (const Ward &ward : wards_)
                if (ward.sealed)
                    batches.push_back({ward.context, ward.number, ward.guards});
        }
        std::erase_if(batches, [](const Batch &batch) {
            return !std::all_of(batch.guards.begin(), batch.guards.end(), is_event_done);
        });
        if (batches.empty())
            return false;

        bool ended = false;
        std::vector<Ward> left;  // dropped after the mutex
        const std::lock_guard lock(mutex_);
        for (const Batch &batch : batches) {
            const auto ward = find_batch(batch.context, batch.number);
            if (ward == wards_.end() || !ward->sealed)
                continue;  // another thread was faster
            std::move(ward->batch.begin(), ward->batch.end(), std::back_inserter(finished_));
            ward->batch.clear();
            ward->guards.clear();
            ward->sealed = false;
            if (ward->gathering.empty()) {
                left.push_back(std::move(*ward));
                wards_.erase(ward);
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

    // Waits for what the lines and the batches wait for now.
    // Returns: false if some of it cannot be waited for, or there is nothing.
    bool wait_for_some() {
        std::vector<Use> uses;
        std::vector<Event> guards;
        {
            const std::lock_guard lock(mutex_);
            for (const Line &line : lines_)
                for (const Waiting &waiting : line.waiting)
                    keep_latest(uses, waiting.uses.back());
            for (const Ward &ward : wards_)
                guards.insert(guards.end(), ward.guards.begin(), ward.guards.end());
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

    typename std::vector<Ward>::iterator find_batch(const Context &context, std::uint64_t number) {
        ENTREPOT_ASSERT(mutex_.held());
        return std::find_if(wards_.begin(), wards_.end(), [&](const Ward &ward) {
            return ward.context == context && ward.number == number;
        });
    }

    ForkSafeMutex &mutex_;
    std::vector<Line> lines_;            // guarded by mutex_
    std::vector<Ward> wards_;            // guarded by mutex_
    std::vector<Item> finished_;         // guarded by mutex_
    std::atomic<std::size_t> count_{0};  // atomic: all items
};

}  // namespace entrepot
