// The access log: waiting for and recording accesses, for queues and for the host.
#include <memory/ordering.hpp>

#include "core/interpreter_lock.hpp"
#include "memory/recorded_uses.hpp"
#include <core/thread_number.hpp>
#include <entrepot/core/assert.hpp>
#include <entrepot/core/publish.hpp>
#include <entrepot/device/backend.hpp>
#include <entrepot/memory/operation.hpp>

#include <algorithm>
#include <array>
#include <memory>

namespace entrepot {
namespace {

// Above this many entries, those that are known to be done are dropped.
constexpr std::size_t few_entries = 4;

// Above this many entries, consumers' entries whose work at the export is done are dropped.
constexpr std::size_t most_consumers = 16;

// Removes the entries for which `goes` is true, and keeps the order of the others. If
// LeftQueues::keep throws, none is removed.
template <class Goes>
void take_out(std::vector<Memory::Ordering::Entry> &entries, Goes &&goes,
              Memory::LeftQueues &left) {
    auto stay = entries.begin();
    for (auto entry = entries.begin(); entry != entries.end(); ++entry)
        if (!goes(*entry) && stay++ != entry)
            std::swap(stay[-1], *entry);
    for (auto go = stay; go != entries.end(); ++go)
        left.keep(go->queue);
    entries.erase(stay, entries.end());
}

bool is_done(const Memory::Ordering::Entry &entry) noexcept {
    return entry.consumer == Memory::Consumer::none && is_known_done(entry.queue, entry.position);
}

// Returns: the log of a record with pending accesses; else nullptr.
Memory::Ordering *busy_ordering(Memory::Record &record) {
    return record.pending_queue.load(std::memory_order_acquire) != 0 ? &Memory::Ordering::of(record)
                                                                     : nullptr;
}

// Summarizes the log in Record::pending_queue.
void summarize(Memory::Record &record, const Memory::Ordering &ordering) noexcept
    ENTREPOT_REQUIRES(ordering.mutex) {
    ordering.mutex.assert_held();
    ENTREPOT_ASSERT(!record.prior_queue);  // begin() has moved it into the log
    const auto is_all_of = [&](std::uint64_t queue) {
        ordering.mutex.assert_held();
        return std::ranges::all_of(ordering.entries, [&](const Memory::Ordering::Entry &entry) {
            return entry.queue.identity()->number == queue || entry.waited_by == queue;
        });
    };
    // the queue that waits for the newest entry, else the queue of that entry
    std::uint64_t of = 0;
    if (!ordering.entries.empty()) {
        const Memory::Ordering::Entry &last = ordering.entries.back();
        const std::uint64_t its = last.queue.identity()->number;
        if (last.waited_by != 0 && is_all_of(last.waited_by))
            of = last.waited_by;
        else
            of = is_all_of(its) ? its : Memory::Record::multiple_queues;
    }
    record.pending_queue.store(of, std::memory_order_release);
}

}  // namespace

Memory::Ordering &Memory::Ordering::make(Record &record) {
    return publish(record.ordering, std::make_unique<Ordering>());
}

ForkSafeMutex &Memory::Ordering::next_mutex() {
    constexpr std::uint64_t in_a_row = 4;
    static constinit FirstUse<std::array<ForkSafeMutex, 16>> made_mutexes;
    std::array<ForkSafeMutex, 16> &mutexes = made_mutexes.get();
    thread_local std::uint64_t made = number_of_this_thread() * in_a_row;
    return mutexes[made++ / in_a_row % mutexes.size()];
}

inline void Memory::Ordering::begin(Record &record, Lock &lock) {
    ENTREPOT_ASSERT(lock.mutex() == &mutex);
    mutex.assert_held();
    if (record.prior_queue)
        take_over_prior(record, lock);
}

void Memory::Ordering::take_over_prior(Record &record, Lock &lock) {
    const bool precedes_import = record.resource == nullptr;
    std::uint64_t capture = 0;
    if (precedes_import) {
        {
            const Queue producer = record.prior_queue;
            lock.unlock();  // capture_of_work() may call the driver
            capture = producer.capture_of_work();
        }
        lock.lock();
        if (!record.prior_queue)
            return;  // another thread was faster
        record.prior_queue.reserve_position(record.prior_position);
    }
    ENTREPOT_ASSERT(entries.empty());
    entries.reserve(1);  // if it throws, Record::prior_queue is unchanged
    entries.push_back({std::move(record.prior_queue), record.prior_position, Access::write, 0,
                       precedes_import, capture});
    ENTREPOT_ASSERT(!record.prior_queue);
}

inline bool Memory::Ordering::Entry::is_superseded_by(Access later, const Queue &by,
                                                      std::uint64_t in_capture) const noexcept {
    // work outside the graph still waits for what runs, and not for what is captured
    if (capture == 0 && in_capture != 0)
        return false;
    const bool is_same = queue == by || by.follows_in_captures(queue);
    if (later == Access::write)  // ordered after all that the queue has done or waited for
        return is_same || waited_by == by.identity()->number;
    return is_same && access == Access::read;
}

inline bool Memory::Ordering::repeat(Access access, const Queue &queue, Queue::Position position,
                                     std::uint64_t capture, Consumer consumer) noexcept {
    mutex.assert_held();
    if (entries.empty())
        return false;
    Entry &last = entries.back();
    if (last.queue != queue || last.access != access || last.capture != capture ||
        last.waited_by != 0)
        return false;
    for (Entry *entry = entries.data(); entry != &last; ++entry)
        if (entry->is_superseded_by(access, queue, capture))
            return false;
    last.position = std::max(position, last.position);
    last.precedes_import = false;
    last.consumer = std::max(last.consumer, consumer);
    return true;
}

[[gnu::hot]] void Memory::Ordering::add(Access access, const Queue &queue, Queue::Position position,
                                        std::uint64_t capture, Consumer consumer,
                                        LeftQueues &left) {
    mutex.assert_held();
    // an entry is asked for events until the memory is released
    ENTREPOT_ASSERT(queue && !queue.may_be_destroyed());
    const auto is_superseded_by = [&](const Entry &entry) {
        return entry.is_superseded_by(access, queue, capture);
    };
    // two queues alternate
    if (entries.size() == 1 && entries.front().queue != queue &&
        is_superseded_by(entries.front())) {
        Entry &only = entries.front();
        left.keep(only.queue);
        only = {.queue = queue,
                .position = position,
                .access = access,
                .capture = capture,
                .consumer = consumer};
        return;
    }
    // Another thread may have logged a later position of the queue already. That work is still
    // pending when this one is done.
    for (const Entry &entry : entries)
        if (entry.queue == queue && is_superseded_by(entry)) {
            position = std::max(position, entry.position);
            consumer = std::max(consumer, entry.consumer);
        }
    Entry fresh{.queue = queue,
                .position = position,
                .access = access,
                .capture = capture,
                .consumer = consumer};
    take_out(entries, is_superseded_by, left);
    entries.push_back(std::move(fresh));  // before what may throw: it stands for those taken out
    if (entries.size() > few_entries + 1)
        drop_done(left);
    if (entries.size() > most_consumers + 1)
        take_out(
            entries, [](const Entry &entry) { return is_known_done(entry.queue, entry.position); },
            left);
}

void Memory::Ordering::drop_done(LeftQueues &left, const Blockers &seen) {
    mutex.assert_held();
    // A later position means that a consumer has received the memory again.
    const auto is_seen = [&](const Entry &entry) {
        return std::ranges::any_of(seen, [&](const Blocker &blocker) {
            return blocker.is_released_by_consumer && blocker.queue == entry.queue &&
                   blocker.capture == entry.capture && entry.position <= blocker.position;
        });
    };
    take_out(entries, [&](const Entry &entry) { return is_done(entry) || is_seen(entry); }, left);
}

[[gnu::hot]] void Memory::Ordering::find_blocking(Record &record, Access access, const Queue &queue,
                                                  Blockers &blockers,
                                                  const PeerStreams *waited_for) {
    Lock lock(mutex);
    mutex.assert_held();
    begin(record, lock);
    for (const Entry &entry : entries) {
        if ((access == Access::read && entry.access == Access::read) ||
            (queue && (entry.queue == queue || entry.waited_by == queue.identity()->number)))
            continue;
        if (waited_for && entry.capture == 0 && waited_for->is_waited_for(entry.queue))
            continue;
        const auto known = std::ranges::find_if(blockers, [&](const Blocker &blocker) {
            return blocker.queue == entry.queue && blocker.capture == entry.capture;
        });
        if (known == blockers.end())
            blockers.emplace_back(entry.queue, entry.position, entry.capture, entry.consumer);
        else
            known->join(entry);
    }
}

void Memory::Ordering::find_blocking_host(Record &record, Access access, Blockers &blockers) {
    ENTREPOT_ASSERT(blockers.size() == 0);
    find_blocking(record, access, {}, blockers);
    // read before the consumers' queues are waited for
    const bool is_held_by_us_alone = record.count() == 1;
    for (Blocker &blocker : blockers)
        blocker.is_released_by_consumer =
            is_held_by_us_alone && blocker.consumer == Consumer::holds_memory;
}

Queue::Position Memory::Ordering::Blocker::wait_position() const {
    ENTREPOT_ASSERT(!HeldMutexes::has_leaf());  // capture() may call the driver
    return consumer != Consumer::none && queue.capture() == 0 ? queue.take_position() : position;
}

void Memory::Ordering::mark_waited(const Blockers &blockers, const Queue &queue) {
    mutex.assert_held();
    ENTREPOT_ASSERT(queue);
    for (Entry &entry : entries)
        for (const Blocker &blocker : blockers)
            if (blocker.is_waited_for && entry.queue == blocker.queue &&
                entry.capture == blocker.capture && entry.position <= blocker.position)
                entry.waited_by = queue.identity()->number;
}

void Memory::Ordering::move_all_to(std::vector<Use> &uses, bool with_consumers) {
    ENTREPOT_ASSERT(!mutex.held());
    // before what changes the log: nothing after it throws
    uses.reserve(uses.size() + entries.size() + (with_consumers ? consumers.size() : 0));
    for (Entry &entry : entries)
        if (!entry.precedes_import && !is_known_done(entry.queue, entry.position))
            keep_latest(uses, {std::move(entry.queue), entry.position});
    entries.clear();
    // they have dropped their references, so a new position covers all of their work
    if (with_consumers)
        for (ConsumerQueue &consumer : consumers) {
            const Queue::Position position = consumer.queue.take_position();
            keep_latest(uses, {std::move(consumer.queue), position});
        }
    consumers.clear();
}

namespace {

// Makes the queue, which is in `capture` (0: none), wait for the blocker.
// Returns: true if all later work of the queue waits for it now.
bool enqueue_wait(const Memory::Ordering::Blocker &blocker, const Queue &queue,
                  std::uint64_t capture) {
    ENTREPOT_ASSERT(blocker.queue != queue);
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    const bool is_ours = &blocker.queue.backend() == &queue.backend();
    if (is_ours && capture == 0 && blocker.capture == 0 && !blocker.queue.is_event_queue())
        [[likely]] {
        queue.wait_for(blocker.queue, blocker.wait_position());
        return true;
    }
    const std::uint64_t captured = blocker.capture != 0 ? blocker.queue.capture_of_work() : 0;
    if (captured != 0 && captured != capture)  // work of another graph does not run now
        return false;
    const bool is_beside =
        capture != 0 && !blocker.queue.is_event_queue() && blocker.queue.capture() == capture;
    const Event event =
        is_beside ? blocker.queue.record() : blocker.queue.event_at(blocker.wait_position());
    if (is_ours && event.capture() == capture)
        queue.wait_for(event);
    else if (!event.is_done())
        event.wait();
    // else only the graph waits: later work of the queue outside it does not
    return capture == 0 || blocker.capture != 0;
}

}  // namespace

void Memory::wait_for_conflicts(Access access, const Queue &queue,
                                const PeerStreams *waited_for) const {
    if (has_no_pending_access())
        return;
    fork_guard::require_usable(queue.backend());
    if (can_access_without_wait(queue))
        return;
    const Operand operand{access, this};
    wait_for_conflicts({&operand, 1}, queue, waited_for);
}

[[gnu::hot]] void Memory::wait_for_conflicts(std::span<const Operand> operands, const Queue &queue,
                                             const PeerStreams *waited_for) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    fork_guard::require_usable(queue.backend());
    Ordering::Blockers blockers;
    for (const auto &[access, memory] : operands) {
        Record &record = *memory->record();
        Ordering::of(record).find_blocking(record, access, queue, blockers, waited_for);
    }
    if (blockers.size() == 0)
        return;
    {
        const InterpreterLock::Released released;  // once for all blockers
        const std::uint64_t capture = queue.capture();
        for (Ordering::Blocker &blocker : blockers)
            blocker.is_waited_for = enqueue_wait(blocker, queue, capture);
    }
    for (const auto &[access, memory] : operands) {
        Record &record = *memory->record();
        Ordering &ordering = Ordering::of(record);
        const MutexLock lock(ordering.mutex);
        ordering.mark_waited(blockers, queue);
        summarize(record, ordering);
    }
}

[[gnu::hot, gnu::noinline]] void Memory::AccessRecorder::lock(Ordering &ordering) {
    lock_ = {};  // a leaf mutex is never locked together with another one
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    lock_ = std::unique_lock<LeafMutex>(ordering.mutex);
}

[[gnu::hot]] void Memory::AccessRecorder::record(Access access, const Memory &memory) {
    Record &record = *memory.record();
    Ordering *const ordering = &Ordering::of(record);
    if (lock_.mutex() != &ordering->mutex)
        lock(*ordering);
    ordering->mutex.assert_held();
    if (!record.prior_queue && ordering->repeat(access, queue_, position_, capture_, consumer_))
        [[likely]]
        return;
    record_slow(access, record, *ordering);
}

[[gnu::hot, gnu::noinline]] void Memory::AccessRecorder::record_slow(Access access, Record &record,
                                                                     Ordering &ordering) {
    ordering.mutex.assert_held();
    ordering.begin(record, lock_);
    ordering.add(access, queue_, position_, capture_, consumer_, left_);
    summarize(record, ordering);
}

void Memory::record_access(Access access, const Queue &queue, Queue::Position position,
                           std::uint64_t capture) const {
    AccessRecorder(queue, position, capture).record(access, *this);
}

void Memory::record_submitted(Access access, const Queue &queue) const {
    if (queue.may_be_destroyed()) [[unlikely]]
        return record_event_access(access, queue.as_event_queue());
    record_access(access, queue, queue.take_position());
}

void Memory::record_event_access(Access access, const Queue &event) const {
    ENTREPOT_ASSERT(event.is_event_queue());
    Ordering &ordering = Ordering::of(*record_);
    // Each access adds one entry, so asking about two keeps the log short.
    for (int asked = 0; asked < 2; ++asked) {
        Use oldest;
        LeftQueues left;
        {
            const MutexLock lock(ordering.mutex);
            if (ordering.entries.size() > few_entries)
                ordering.drop_done(left);
            if (ordering.entries.size() <= few_entries)
                break;
            const auto found =
                std::ranges::find_if(ordering.entries, [](const Ordering::Entry &entry) {
                    // others are never known to be done
                    return entry.consumer == Consumer::none && entry.capture == 0;
                });
            if (found == ordering.entries.end())
                break;
            oldest = {found->queue, found->position};
        }
        if (!oldest.queue.is_done(oldest.position))  // without the mutex: the driver may block
            break;
    }
    record_access(access, event, 1);
}

void Memory::record_consumer(Access access, const Queue &queue, Consumer consumer) const {
    ENTREPOT_ASSERT(consumer != Consumer::none && !queue.is_event_queue());
    AccessRecorder(queue, queue.take_position(), queue.capture_of_work(), consumer)
        .record(access, *this);
}

void Memory::add_producer(const Queue &queue) const {
    ENTREPOT_ASSERT(!is_shared() && !queue.may_be_destroyed());
    ENTREPOT_ASSERT(is_borrowed() || has_escaped());  // else it has no producer
    Ordering *const ordering = &Ordering::of(*record_);
    const std::uint64_t capture = queue.capture_of_work();
    Ordering::Lock lock(ordering->mutex);
    ordering->mutex.assert_held();
    ordering->begin(*record_, lock);
    const bool precedes_import = is_borrowed();  // else the memory is Entrepot's, imported again
    ordering->entries.push_back(
        {queue, queue.take_position(), Access::write, 0, precedes_import, capture});
    summarize(*record_, *ordering);
}

void Memory::record_other_process(const Queue &event) const {
    ENTREPOT_ASSERT(event.is_event_queue() && !is_borrowed());
    Ordering *const ordering = &Ordering::of(*record_);
    Ordering::Lock lock(ordering->mutex);
    ordering->mutex.assert_held();
    ordering->begin(*record_, lock);
    ordering->entries.push_back({event, 1, Access::write, 0, true, 0});
    summarize(*record_, *ordering);
}

Memory::PendingWork Memory::pending_work(Access access) const {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    PeerStreams streams;
    if (has_peers())
        streams.add(*this);
    Ordering::Blockers blockers;
    if (Ordering *const ordering = busy_ordering(*record_))
        ordering->find_blocking(*record_, access, {}, blockers);
    PendingWork found;
    const auto check = [&](const Queue &queue, std::uint64_t capture) {
        if (capture != 0 || queue.capture_of_work() != 0)
            found.obstacle = "some of it is being captured into a graph";
        else if (&queue.backend() != &context().backend())
            found.obstacle = "some of it is work of another backend than the memory's";
    };
    for (std::size_t i = 0; i < streams.size(); ++i)
        check(streams[i].queue, 0);
    for (const Ordering::Blocker &blocker : blockers)
        check(blocker.queue, blocker.capture);
    if (streams.empty() && blockers.size() == 1) {
        const Ordering::Blocker &only = *blockers.begin();
        if (only.consumer == Consumer::none && !only.queue.is_event_queue()) {
            found.queue = only.queue;
            found.position = only.position;
        }
    }
    return found;
}

namespace {

// For a queue that foreign code submits to as well. An event recorded now is rarely done now, so
// the driver is asked if the queue is idle. SYCL's runtime cannot be asked about an out-of-order
// queue while another thread submits to it.
bool is_empty(const Queue &queue) {
    return queue.capture() == 0 &&
           (queue.is_in_order() ? queue.is_idle() : queue.is_done(queue.take_position()));
}

// Calls is_done(queue) for the streams of the memory's peers: of its owner, and of its consumers if
// `with_consumers`. Drops the consumers if they have released the memory.
// Returns: false if a call returned false. The later streams are not visited then.
template <class IsDone>
bool all_of_peers(const Memory &memory, bool with_consumers, IsDone &&is_done) {
    if (!(with_consumers ? memory.has_peers() : memory.has_owner_stream()))
        return true;
    const std::uint32_t released = with_consumers ? memory.released_consumers() : 0;
    PeerStreams streams;
    streams.add(memory, with_consumers ? PeerStreams::Which::all : PeerStreams::Which::owner);
    for (std::size_t i = 0; i < streams.size(); ++i)
        if (!is_done(streams[i].queue))
            return false;
    // without a stream nothing was waited for
    if (released != 0 && !streams.empty())
        memory.drop_consumers(released);
    return true;
}

}  // namespace

void Memory::wait_on_host(Access access, bool with_consumers) const {
    RecordedUses::require_unused(access, *this,
                                 with_consumers ? "access of the host" : "an export");
    all_of_peers(*this, with_consumers, [](const Queue &queue) {
        queue.wait();
        return true;
    });
    Ordering *const ordering = busy_ordering(*record_);
    if (!ordering)
        return;
    Ordering::Blockers blockers;
    ordering->find_blocking_host(*record_, access, blockers);
    for (Ordering::Blocker &blocker : blockers)
        if (blocker.consumer != Consumer::none && blocker.queue.capture() == 0) {
            blocker.queue.wait();  // also for work of foreign code
        } else {
            blocker.queue.wait_at(blocker.position);
            blocker.is_released_by_consumer = false;
        }
    LeftQueues left;
    const MutexLock lock(ordering->mutex);
    ordering->drop_done(left, blockers);
    summarize(*record_, *ordering);
}

bool Memory::is_done_for_host(Access access, bool with_consumers) const {
    if (!all_of_peers(*this, with_consumers, is_empty))
        return false;
    Ordering *const ordering = busy_ordering(*record_);
    if (!ordering)
        return true;
    Ordering::Blockers blockers;
    ordering->find_blocking_host(*record_, access, blockers);
    for (const Ordering::Blocker &blocker : blockers)
        if (blocker.consumer != Consumer::none ? !is_empty(blocker.queue)
                                               : !blocker.queue.is_done(blocker.position))
            return false;
    LeftQueues left;
    const MutexLock lock(ordering->mutex);
    ordering->drop_done(left, blockers);
    summarize(*record_, *ordering);
    return true;
}

}  // namespace entrepot
