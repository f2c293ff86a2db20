#include <entrepot/device/queue.hpp>

#include "core/free_list.hpp"
#include "core/interpreter_lock.hpp"
#include "device/capture_release.hpp"
#include "device/event_record.hpp"
#include "device/fork_safe_mutex.hpp"
#include "device/live_queues.hpp"
#include <entrepot/core/publish.hpp>
#include <entrepot/device/recorded_queue.hpp>
#include <entrepot/device/stream.hpp>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace entrepot {

namespace {

void raise_to(std::atomic<Queue::Position> &reached, Queue::Position position) noexcept {
    Queue::Position seen = reached.load(std::memory_order_relaxed);
    while (seen < position &&
           !reached.compare_exchange_weak(seen, position, std::memory_order_acq_rel)) {
    }
}

std::atomic<std::uint64_t> queues_made{0};

ep_event record_event(const Backend &backend, ep_queue queue, std::uint32_t flags) {
    ep_event event;
    backend.call(&ep_backend::event_record, queue, flags, &event);
    return event;
}

}  // namespace

std::optional<Event> record_all(const Context &context) {
    const Backend &backend = context.backend();
    fork_guard::require_usable(backend);
    if (backend.is_host())  // it records events of queues only
        return std::nullopt;
    const CaptureRelease released(context.devices().front());
    ep_event event = nullptr;
    const ep_status status =
        backend.status_of(&ep_backend::event_record_context, context.handle(), &event);
    if (status == EP_UNSUPPORTED)
        return std::nullopt;
    backend.check(status);
    return Event::adopt(backend, event, context);
}

Queue Queue::create(const Device &device, Options options) {
    return create(device.default_context(), device, options);
}

Queue Queue::create(const Context &context, const Device &device, Options options) {
    if (&context.backend() != &device.backend())
        throw Error(ErrorKind::value, "a queue of ", device, " cannot live in ", context,
                    ": they belong to two backends");
    if (options.profiling && !device.has(EP_PROFILING))
        throw Error(ErrorKind::device, device,
                    " cannot time its work: create the queue without profiling");
    const std::uint32_t flags = (options.profiling ? std::uint32_t{EP_QUEUE_PROFILING} : 0) |
                                (options.out_of_order ? std::uint32_t{EP_QUEUE_OUT_OF_ORDER} : 0);
    const InterpreterLock::Released released;
    ep_queue handle;
    device.backend().call(&ep_backend::queue_create, context.handle(), device.handle(), flags,
                          &handle);
    return adopt(device.backend(), handle, false);
}

namespace {

// A cache of queues in contexts that are not a platform's default one, the latest few. One queue a
// context is enough to order its consumers.
//
// Lock order: `mutex_`, a leaf that a fork takes, guards all fields. Queues are created and dropped
//             without it.
class ContextQueues {
public:
    Queue find(const Context &context, const Device &device) {
        {
            const MutexLock lock(mutex_);
            if (const Queue *const known = known_queue(context, device))
                return *known;
        }
        const Queue made = Queue::create(context, device, {});
        Queue displaced;  // dropped after the mutex
        const MutexLock lock(mutex_);
        if (const Queue *const known = known_queue(context, device))  // another thread was faster
            return *known;
        displaced = std::exchange(queues_[next_++ % queues_.size()], made);
        return made;
    }

private:
    // Returns: nullptr if the cache has no queue of the two.
    const Queue *known_queue(const Context &context, const Device &device) const
        ENTREPOT_REQUIRES(mutex_) {
        for (const Queue &queue : queues_)
            if (queue && queue.context() == context && queue.device() == device)
                return &queue;
        return nullptr;
    }

    ForkSafeMutex mutex_;
    std::array<Queue, 8> queues_ ENTREPOT_GUARDED_BY(mutex_);
    std::size_t next_ ENTREPOT_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Queue Queue::for_context(const Context &context, const Device &device) {
    fork_guard::require_usable(device.backend());
    const Queue &usual = device.default_queue();
    if (usual.context() == context) [[likely]]
        return usual;
    static constinit FirstUse<ContextQueues> others;
    return others.get().find(context, device);
}

Queue Queue::internal_for_context(const Context &context, const Device &device) {
    fork_guard::require_usable(device.backend());
    static constinit FirstUse<ContextQueues> kept;
    return kept.get().find(context, device);
}

Queue Queue::from_native(const Backend &backend, void *native, const Context &context) {
    // CUDA and HIP may block, because an event is recorded in a per-thread stream. SYCL never waits
    // for the device: a known queue is looked up in a table. For a new one the runtime is asked for
    // properties of its context and device, unless those are known.
    const InterpreterLock::Released released(!backend.is_sycl());
    ep_queue handle;
    backend.call(&ep_backend::queue_from_native, context ? context.handle() : nullptr, native,
                 &handle);
    // The wrapper of a SYCL queue holds a reference to it.
    const bool may_be_destroyed =
        backend.has_streams() && *static_cast<const std::uintptr_t *>(native) >= lowest_handle;
    return adopt(backend, handle, true, may_be_destroyed);
}

Queue Queue::of_event(const Context &context, const Device &device, Event event) {
    ENTREPOT_ASSERT(context && device);
    auto record = std::make_unique<Record>();
    record->backend = &context.backend();
    record->number = ++queues_made;
    record->context = context;
    record->device = device;
    record->capture = event.capture();
    record->completed = event ? 0 : 1;  // no event means that the work is done
    record->last_event = std::move(event);
    record->last_event_position = 1;
    const MutexLock lock(live_queue_table().mutex);
    live_queue_table().insert(record.get());
    return Queue(record.release());
}

Queue Queue::as_event_queue() const {
    // read first: the event may not cover what is submitted from here on
    const Position covered = position();
    Queue made = of_event(context(), device(), record());
    ENTREPOT_ASSERT(made.record_->count() == 1);  // no other thread can reach the record yet
    made.record_->stream = record_->number;
    made.record_->covered = covered;
    return made;
}

void Queue::keep_alive(const std::shared_ptr<void> &owner) const {
    constexpr std::size_t most_owners = 4;
    const MutexLock lock(record_->owners_mutex);
    std::vector<std::shared_ptr<void>> &owners = record_->owners;
    if (owners.size() < most_owners && std::ranges::find(owners, owner) == owners.end())
        owners.push_back(owner);
    declare_never_destroyed();
}

Queue Queue::adopt(const Backend &backend, ep_queue handle, bool foreign, bool may_be_destroyed) {
    ENTREPOT_ASSERT(foreign || !may_be_destroyed);
    const auto find_known = [&]() -> Record * {
        const MutexLock lock(live_queue_table().mutex);
        return live_queue_table().find(backend, handle);
    };
    // The driver is called without the table's mutex.
    Record *known = find_known();
    if (!known) {
        std::unique_ptr<Record> record;
        try {
            record = std::make_unique<Record>();
            record->backend = &backend;
            record->handle = handle;
            record->number = ++queues_made;
            record->foreign.store(foreign, std::memory_order_relaxed);
            record->is_wrapped = foreign;
            record->may_be_destroyed.store(may_be_destroyed, std::memory_order_relaxed);
            ep_context context;
            backend.call(&ep_backend::queue_context, handle, &context);
            record->context = Context::adopt(backend, context);
            ep_device device;
            backend.call(&ep_backend::queue_device, handle, &device);
            record->device = backend.device(device);
            record->may_be_captured = record->device.has(EP_GRAPH_CAPTURE);
            backend.call(&ep_backend::queue_flags, handle, &record->flags);
            const MutexLock lock(live_queue_table().mutex);
            known = live_queue_table().find(backend, handle);  // another thread may be faster
            if (!known) {
                live_queue_table().insert(record.get());
                return Queue(record.release());
            }
        } catch (...) {
            backend.drop(&ep_backend::queue_release, handle);
            throw;
        }
    }
    backend.drop(&ep_backend::queue_release, handle);  // the record has its own reference
    if (foreign)
        known->foreign.store(true, std::memory_order_relaxed);
    return Queue(known);
}

void Queue::Record::end(Record *record) noexcept {
    ENTREPOT_ASSERT(!HeldMutexes::has_leaf());  // the last reference calls the driver
    {
        const MutexLock lock(live_queue_table().mutex);
        if (!live_queue_table().remove_if_dead(record))
            return;
    }
    // A lazy event holds a reference to its queue, so none is left.
    ENTREPOT_ASSERT(!record->lazy_event.load(std::memory_order_acquire));
    ENTREPOT_ASSERT(!record->mutex.held() && !record->owners_mutex.held());
    record->last_event = Event();
    if (record->handle) {  // else it is an event queue
        const InterpreterLock::Released released(!record->is_wrapped &&
                                                 !record->backend->is_host());
        record->backend->drop(&ep_backend::queue_release, record->handle);
    }
    delete record;
}

void Queue::reserve_position(Position next) const noexcept {
    ENTREPOT_ASSERT(next != 0);
    ENTREPOT_ASSERT(!is_event_queue() || next == 1);
    raise_to(record_->submitted, next);
}

void *Queue::native() const {
    ENTREPOT_ASSERT(!is_event_queue());
    submitting();
    void *native;
    backend().call(&ep_backend::queue_native, handle(), &native);
    record_->foreign.store(true, std::memory_order_relaxed);
    return native;
}

void Queue::wait() const {
    ENTREPOT_ASSERT(!is_event_queue());
    RecordedQueue::require_running(*this, "wait()");
    const InterpreterLock::Released released;
    const Position before = position();
    backend().call(&ep_backend::queue_wait, handle());
    raise_to(record_->completed, before);
}

bool Queue::is_idle() const {
    ENTREPOT_ASSERT(!is_event_queue());
    fork_guard::require_usable(backend());
    const Position before = position();
    if (!is_foreign() && before <= record_->completed.load(std::memory_order_acquire))
        return true;
    const InterpreterLock::Released released(!backend().is_host());
    std::int32_t idle = 0;
    backend().call(&ep_backend::queue_is_idle, handle(), &idle);
    if (idle)
        raise_to(record_->completed, before);
    return idle != 0;
}

void Queue::require_lock([[maybe_unused]] const Record &record,
                         [[maybe_unused]] const Locked &locked) noexcept {
    ENTREPOT_ASSERT(locked.owns_lock() && locked.mutex() == &record.mutex);
    ENTREPOT_ASSERT(record.mutex.held());
    ENTREPOT_ASSERT(record.backend->is_host() || !InterpreterLock::is_held());
}

// Records an event that covers everything submitted so far, and keeps it in `last_event`.
Queue::Marked Queue::try_mark(const Locked &locked, std::uint32_t flags) const {
    require_lock(*record_, locked);
    ENTREPOT_ASSERT(!is_event_queue());
    // read first: the event may not cover what is submitted from here on
    const Position covered = position();
    const ep_event marked = record_event(backend(), handle(), flags);
    if (!marked)
        return {};
    Event event = Event::adopt(backend(), marked, context());
    if (const std::uint64_t captured = capture())
        return {false, captured};
    ENTREPOT_ASSERT(event.capture() == 0);
    // Another thread's submission may have been covered already; a later event never covers less.
    ENTREPOT_ASSERT(covered >= record_->last_event_position.load(std::memory_order_relaxed));
    record_->last_event = std::move(event);
    record_->last_event_position = covered;
    return {true, 0};
}

// Foreign code submits to a foreign queue as well, and an event of a profiling queue measures the
// time of its own recording.
bool Queue::is_known() const noexcept { return !is_foreign() && !is_profiling(); }

bool Queue::is_known_idle() const noexcept {
    return is_known() && position() <= record_->completed.load(std::memory_order_acquire);
}

// The event is not kept in `last_event`: work that is submitted after the capture has ended does
// not wait for it.
Event Queue::mark_captured(std::uint64_t capture) const {
    ENTREPOT_ASSERT(capture != 0);
    ENTREPOT_ASSERT(!record_->mutex.held());
    const ep_event event = record_event(backend(), handle(), 0);
    try {
        return Event(std::make_shared<Event::Captured>(*this, event, capture));
    } catch (...) {
        backend().drop(&ep_backend::event_release, event);
        throw;
    }
}

namespace {

[[noreturn]] void refuse_captured() {
    throw Error(ErrorKind::device,
                "cannot wait for work of a queue that is being captured into a graph: captured "
                "work runs only when the graph ",
                "is launched. Wait before the capture begins or after it ends");
}

}  // namespace

const Event &Queue::mark(const Locked &locked, std::uint32_t flags) const {
    if (!try_mark(locked, flags).is_kept)
        refuse_captured();
    return record_->last_event;
}

Queue::Position Queue::take_position_and_record() const {
    const Lock locked(*record_);
    mark(locked, EP_EVENT_EXACT);
    // the mutex is held, so this event is still the newest: it covers it
    return record_->last_event_position = take_position();
}

std::uint64_t Queue::ask_capture() const {
    ENTREPOT_ASSERT(!is_event_queue());
    std::uint64_t capture = 0;
    backend().call(&ep_backend::queue_capture, handle(), &capture);
    return capture;
}

void Queue::keep(void *user, void (*release)(void *user)) const {
    ENTREPOT_ASSERT(!is_event_queue() && release && capture() != 0);
    backend().call(&ep_backend::queue_keep, handle(), user, release);
}

Event Queue::record() const {
    ENTREPOT_ASSERT(!is_event_queue());
    fork_guard::require_usable(backend());
    if (is_known_idle())
        return Event();
    Lock locked(*record_);
    if (is_known() && position() <= record_->last_event_position)
        return record_->last_event;
    const Marked marked = try_mark(locked, EP_EVENT_EXACT);
    if (marked.is_kept) [[likely]]
        return record_->last_event;
    locked.unlock();
    return mark_captured(marked.capture);
}

std::optional<Event> Queue::try_record() const {
    ENTREPOT_ASSERT(!is_event_queue());
    fork_guard::require_usable(backend());
    if (is_known_idle())
        return Event();
    if (capture() != 0)
        return std::nullopt;
    const Lock locked(*record_, std::try_to_lock);
    if (!locked)
        return std::nullopt;
    const bool has_event = is_known() && position() <= record_->last_event_position;
    if (!has_event && !try_mark(locked, EP_EVENT_EXACT | EP_EVENT_PROMPT).is_kept)
        return std::nullopt;
    return record_->last_event;
}

[[gnu::hot]] Event Queue::lazy_event() const {
    ENTREPOT_ASSERT(!is_event_queue());
    if (is_profiling())  // its event measures the time of this call
        return record();
    if (is_foreign() && !is_default_stream()) {
        const Event known = known_event_at(position());
        return known ? known : record();
    }
    if (position() <= record_->completed.load(std::memory_order_acquire))
        return Event();
    auto lazy = std::allocate_shared<Event::Lazy>(ThreadBlockAllocator<Event::Lazy>(), *this);
    Event::Lazy *other = nullptr;
    if (!record_->lazy_event.compare_exchange_strong(other, lazy.get(), std::memory_order_acq_rel))
        [[unlikely]]
        replace_lazy_event(*lazy);
    return Event(std::move(lazy));
}

// The slot holds the lazy event of another thread that has submitted at the same time. It is
// recorded now.
void Queue::replace_lazy_event(Event::Lazy &lazy) const {
    const Lock locked(*record_);
    if (Event::Lazy *const other = record_->lazy_event.exchange(&lazy, std::memory_order_acq_rel)) {
        ENTREPOT_ASSERT(other != &lazy);
        other->record(locked);
    }
}

void Queue::record_lazy_event() const {
    fork_guard::require_usable(backend());
    const Lock locked(*record_);
    if (Event::Lazy *const lazy = record_->lazy_event.exchange(nullptr, std::memory_order_acq_rel))
        lazy->record(locked);
}

Event Queue::event_at(Position position) const {
    ENTREPOT_ASSERT(position <= this->position() || is_event_queue());
    fork_guard::require_usable(backend());
    if (position <= record_->completed.load(std::memory_order_acquire))
        return Event();
    const Lock locked(*record_);
    if (position <= record_->last_event_position)
        return record_->last_event;
    if (capture() != 0)
        refuse_captured();
    return mark(locked);
}

// True if the work that `last_event` covers is done. The event is then dropped, and `completed`
// raised.
bool Queue::is_past_last_event(const Locked &locked) const {
    require_lock(*record_, locked);
    ENTREPOT_ASSERT(record_->last_event);
    try {
        if (!record_->last_event.is_done())
            return false;
    } catch (...) {
        // A capture may have begun and ended while the event was recorded. The event is then
        // invalid for good, and the next question needs a new one.
        if (is_foreign()) {
            record_->last_event = Event();
            record_->last_event_position = record_->completed.load(std::memory_order_acquire);
        }
        throw;
    }
    raise_to(record_->completed, record_->last_event_position);
    record_->last_event = Event();
    return true;
}

bool Queue::ask_done(Position position) const {
    ENTREPOT_ASSERT(position <= this->position() || is_event_queue());
    fork_guard::require_usable(backend());
    const Lock locked(*record_, std::try_to_lock);
    if (!locked)
        return false;
    // A dependency recorded during capture does not order work outside the graph.
    if (record_->last_event.capture() != 0)
        return true;
    // While the last event is pending, so is later work. At most one event of a queue is polled.
    if (record_->last_event) {
        if (!is_past_last_event(locked))
            return false;
        if (position <= record_->completed.load(std::memory_order_acquire))
            return true;
    }
    if (is_event_queue() || capture() != 0)
        return false;
    // not every driver can be asked about a queue that other code submits to
    if (!is_foreign() && is_idle())
        return true;
    return try_mark(locked, EP_EVENT_PROMPT).is_kept && is_past_last_event(locked);
}

void Queue::wait_until(Position position) const {
    ENTREPOT_ASSERT(position <= this->position() || is_event_queue());
    fork_guard::require_usable(backend());
    const InterpreterLock::Released released;
    // The last submission needs no event: the driver waits for everything in the queue. The
    // position may stand for foreign work (Memory::record_submitted), which queue_wait_submitted
    // may omit.
    if (!is_event_queue() && (!is_foreign() || is_in_order()) && position == this->position() &&
        capture() == 0) {
        backend().call(is_foreign() ? &ep_backend::queue_wait : &ep_backend::queue_wait_submitted,
                       handle());
        raise_to(record_->completed, position);
        return;
    }
    Event event;
    Position covered;
    {
        const Lock locked(*record_);
        if (record_->last_event.capture() != 0)
            return;
        if (position > record_->last_event_position && capture() != 0)
            refuse_captured();
        event = position <= record_->last_event_position ? record_->last_event : mark(locked);
        covered = record_->last_event_position;
    }
    event.wait();
    raise_to(record_->completed, covered);
}

void Queue::wait_for(const Event &event) const {
    ENTREPOT_ASSERT(!is_event_queue());
    fork_guard::require_usable(backend());
    const std::uint64_t theirs = event.capture();
    if (theirs == 0 && event.is_done())
        return;
    const InterpreterLock::Released released;
    const std::uint64_t mine = capture();
    if (event.backend() != &backend() || (mine != 0 && theirs == 0)) {
        event.wait();
        return;
    }
    if (mine != 0 && mine != theirs)
        throw Error(ErrorKind::device, "wait_for: the event is of another graph capture than the "
                                       "queue is in: captures do not join");
    if (theirs != 0)
        // it may be in the capture from here on
        record_->foreign.store(true, std::memory_order_relaxed);
    const ep_event recorded = event.handle();
    if (!recorded)
        return;
    submitting();
    const ep_status status =
        backend().status_of(&ep_backend::event_wait_in_queue, handle(), recorded);
    if (status != EP_OK && theirs != 0 && is_default_stream())
        throw Error(ErrorKind::device,
                    "wait_for: the legacy default stream cannot wait for work that is captured "
                    "into a graph (",
                    Backend::last_error(), "): name a queue of your own with queue=");
    if (status != EP_OK && theirs != 0 && mine == 0)
        throw Error(ErrorKind::device,
                    "wait_for: the event belongs to a graph capture that has ended, and marks "
                    "nothing any more (",
                    Backend::last_error(), ")");
    backend().check(status);
    take_position();  // the wait counts as a submission, because no earlier event covers it
}

[[gnu::hot]] void Queue::wait_for(const Queue &other) const {
    ENTREPOT_ASSERT(!is_event_queue());
    fork_guard::require_usable(backend());
    if (other.is_event_queue())
        return wait_for(other.event_at(1));
    if ((other == *this && is_in_order()) || other.is_known_idle())
        return;
    if (&other.backend() != &backend() || other.capture() != 0 || capture() != 0)
        return wait_for(other.record());
    enqueue_wait_on(other);
}

[[gnu::hot]] void Queue::wait_for(const Queue &other, Position position) const {
    ENTREPOT_ASSERT(!is_event_queue());
    fork_guard::require_usable(backend());
    if ((other == *this && is_in_order()) ||
        position <= other.record_->completed.load(std::memory_order_acquire))
        return;
    if (is_foreign() || other.is_event_queue() || &other.backend() != &backend() ||
        !backend().has_fast_queue_wait())
        return wait_for(other.event_at(position));
    if (const Event known = other.known_event_at(position))
        return wait_for(known);
    if (other.capture() != 0)
        return wait_for(other.event_at(position));
    enqueue_wait_on(other);
}

// Makes this queue wait for all that `other` holds now, in one driver call.
[[gnu::hot]] void Queue::enqueue_wait_on(const Queue &other) const {
    ENTREPOT_ASSERT(other != *this || !is_in_order());
    ENTREPOT_ASSERT(!other.is_event_queue() && &other.backend() == &backend());
    ENTREPOT_ASSERT(!record_->mutex.held() && !other.record_->mutex.held());
    const InterpreterLock::Released released;
    submitting();
    const ep_status status =
        backend().status_of(&ep_backend::queue_wait_queue, other.handle(), handle());
    if (status == EP_UNSUPPORTED && !other.is_default_stream() && !is_default_stream())
        refuse_captured();
    backend().check(status);
    take_position();
}

Event Queue::known_event_at(Position position) const {
    if (position > record_->last_event_position.load(std::memory_order_acquire)) [[likely]]
        return Event();
    const Lock locked(*record_);
    return record_->last_event;
}

}  // namespace entrepot
