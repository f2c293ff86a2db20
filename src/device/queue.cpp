#include <entrepot/device/queue.hpp>

#include "core/thread_blocks.hpp"
#include "device/capture_release.hpp"
#include "device/live_table.hpp"
#include <entrepot/core/interpreter_lock.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

namespace entrepot {

// Of what a record guards. It is held while the runtime marks the queue, which may take for as long as others wait there for the
// device: CUDA's driver marks no stream while memory is being freed, SYCL's none that somebody waits for.
class Queue::Lock : InterpreterLock::Released, public std::unique_lock<std::mutex> {
public:
    explicit Lock(Record &record) : Released(!record.backend->is_host()), std::unique_lock<std::mutex>(record.mutex) {}
    // The same unless another thread may have it for long.
    Lock(Record &record, std::try_to_lock_t)
        : Released(!record.backend->is_host()), std::unique_lock<std::mutex>(record.mutex, std::defer_lock) {
        if (record.backend->is_host())
            lock();
        else
            static_cast<void>(try_lock());
    }
};

// ------------------------------------------------------------------ events

struct Event::Record {
    const Backend *backend;
    std::atomic<bool> done{false};

    explicit Record(const Backend &of) noexcept : backend(&of) {}
    virtual ~Record() = default;
    virtual ep_event handle() = 0;
    virtual bool ask_done() = 0;
    virtual void wait() = 0;
    virtual std::uint64_t capture() const noexcept { return 0; }
};

// An event of the runtime.
struct Event::Native : Event::Record {
    Native(const Backend &of, ep_event adopted, Context in) noexcept : Record(of), context_(std::move(in)), handle_(adopted) {}
    ~Native() override { backend->drop(&ep_backend::event_release, handle_); }

    ep_event handle() override { return handle_; }
    bool ask_done() override {
        std::int32_t answer = 0;
        backend->call(&ep_backend::event_is_done, handle_, &answer);
        return answer != 0;
    }
    void wait() override { backend->call(&ep_backend::event_wait, handle_); }

private:
    const Context context_;  // goes after the event, which has one of the backend's: its end may block, and gives the GIL up
    const ep_event handle_;
};

// An event of the runtime that belongs to a graph: queues wait for it, and nobody else can.
struct Event::Captured final : Event::Native {
    Captured(const Queue &queue, ep_event adopted, std::uint64_t capture) noexcept
        : Native(queue.backend(), adopted, queue.context()), capture_(capture) {}

    bool ask_done() override { refuse(); }
    void wait() override { refuse(); }
    std::uint64_t capture() const noexcept override { return capture_; }

private:
    [[noreturn]] static void refuse() {
        throw Error(ErrorKind::device,
                    "the event marks work that is captured into a graph, and is done whenever the graph runs: ",
                    "wait for the queue that the graph is launched in");
    }

    const std::uint64_t capture_;
};

// A position of a queue, until it is recorded; from then on it is what was recorded.
struct Event::Promised final : Event::Record {
    explicit Promised(const Queue &queue) noexcept : Record(queue.backend()), queue_(queue), position_(queue.position()) {}
    ~Promised() override;

    ep_event handle() override {
        if (!is_kept_.load(std::memory_order_acquire)) {
            fork_guard::require_usable(*backend);
            keep(Queue::Lock(*queue_.record_));
        }
        return kept_.handle();
    }
    bool ask_done() override { return is_kept_.load(std::memory_order_acquire) ? kept_.is_done() : queue_.is_done(position_); }
    void wait() override {
        if (is_kept_.load(std::memory_order_acquire))
            kept_.wait();
        else
            queue_.wait_at(position_);
    }

    void keep(const std::unique_lock<std::mutex> &locked) {
        if (is_kept_.load(std::memory_order_relaxed))
            return;
        Queue::Record &record = *queue_.record_;
        if (position_ > record.completed.load(std::memory_order_acquire))
            kept_ = position_ <= record.last_event_position ? record.last_event : queue_.mark(locked, EP_EVENT_EXACT);
        leave_place();
        is_kept_.store(true, std::memory_order_release);  // last: whoever sees it may end this
    }

private:
    // Whether it was there.
    bool leave_place() noexcept {
        Promised *self = this;
        return queue_.record_->promised.compare_exchange_strong(self, nullptr, std::memory_order_acq_rel);
    }

    Queue queue_;
    Queue::Position position_;
    Event kept_;
    std::atomic<bool> is_kept_{false};
};

// Whoever keeps a promise of the queue's takes it out of its place first: one that is still there is nobody else's, and most go
// so, unasked for. One that has been taken is kept, with the lock held; in the child of a fork nobody does that any more, and the
// lock may be another thread's for ever.
[[gnu::hot]] Event::Promised::~Promised() {
    if (is_kept_.load(std::memory_order_acquire) || leave_place() || !fork_guard::is_usable(*backend))
        return;
    const Queue::Lock locked(*queue_.record_);
}

Event Event::adopt(const Backend &backend, ep_event handle, const Context &context) {
    try {
        return Event(std::make_shared<Native>(backend, handle, context));
    } catch (...) {
        backend.drop(&ep_backend::event_release, handle);
        throw;
    }
}

Event Event::from_native(const Backend &backend, void *native) {
    ep_event handle;
    backend.call(&ep_backend::event_from_native, native, &handle);
    return adopt(backend, handle, Context());
}

// In the child of a fork even an event that is known to be done is refused, so that it does not depend on who has asked before.
bool Event::is_done() const {
    if (!record_)
        return true;
    fork_guard::require_usable(*record_->backend);
    if (record_->done.load(std::memory_order_acquire))
        return true;
    const bool done = record_->ask_done();
    if (done)
        record_->done.store(true, std::memory_order_release);
    return done;
}

void Event::wait() const {
    if (!record_)
        return;
    fork_guard::require_usable(*record_->backend);
    if (record_->done.load(std::memory_order_acquire))
        return;
    const InterpreterLock::Released released;
    record_->wait();
    record_->done.store(true, std::memory_order_release);
}

double Event::seconds_until(const Event &later) const {
    if (!handle() || !later.handle())
        throw Error(ErrorKind::device, "an event that marks nothing has no time: record it in a queue created with profiling");
    if (record_->backend != later.record_->backend)
        throw Error(ErrorKind::device, "events of two backends (", record_->backend->name(), ", ", later.record_->backend->name(),
                    ") have no common clock");
    if (!is_done() || !later.is_done())
        throw Error(ErrorKind::device, "the time between two events is known when both are done: wait for the later one first");
    const InterpreterLock::Released released;
    double seconds = 0;
    record_->backend->call(&ep_backend::event_seconds, handle(), later.handle(), &seconds);
    return seconds;
}

void *Event::native() const {
    const ep_event recorded = handle();
    if (!recorded)
        return nullptr;
    void *native;
    record_->backend->call(&ep_backend::event_native, recorded, &native);
    return native;
}

std::uint64_t Event::capture() const noexcept { return record_ ? record_->capture() : 0; }
const Backend *Event::backend() const noexcept { return record_ ? record_->backend : nullptr; }
ep_event Event::handle() const { return record_ ? record_->handle() : nullptr; }

// ------------------------------------------------------------ live queues

namespace {

using Table = LiveTable<Queue::Record>;

Table &live();

// The child goes on using the host's queues, so their locks go over the fork too; a device's are of no use there.
template <class Visit> void for_each_of_host(Visit &&visit) {
    live().for_each([&](Queue::Record &record) {
        if (record.backend->is_host())
            visit(record);
    });
}

void take_locks() noexcept {
    live().mutex.lock();
    for_each_of_host([](Queue::Record &record) { std::lock(record.owners_mutex, record.mutex); });
}

void let_locks_go() noexcept {
    for_each_of_host([](Queue::Record &record) { record.mutex.unlock(), record.owners_mutex.unlock(); });
    live().mutex.unlock();
}

Table &live() {
    static Table *table = [] {
        fork_guard::hold_over_fork({take_locks, let_locks_go});
        return new Table;
    }();
    return *table;
}

void raise_to(std::atomic<Queue::Position> &reached, Queue::Position position) noexcept {
    Queue::Position seen = reached.load(std::memory_order_relaxed);
    while (seen < position && !reached.compare_exchange_weak(seen, position, std::memory_order_acq_rel)) {
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
    if (backend.is_host())  // which marks queues only, and would be asked for nothing
        return std::nullopt;
    const CaptureRelease released(context.devices().front());
    ep_event event = nullptr;
    const ep_status status = backend.status_of(&ep_backend::event_record_context, context.handle(), &event);
    if (status == EP_UNSUPPORTED)
        return std::nullopt;
    backend.check(status);
    return Event::adopt(backend, event, context);
}

std::vector<Queue> live_queues(const Context &context) {
    std::vector<Queue> queues;
    const std::lock_guard locked(live().mutex);
    live().for_each([&](Queue::Record &record) {
        if (record.handle && record.context == context)
            queues.push_back(Queue(Table::hold(&record)));
    });
    return queues;
}

// ------------------------------------------------------------------ queues

Queue Queue::create(const Device &device, Options options) { return create(device.default_context(), device, options); }

Queue Queue::create(const Context &context, const Device &device, Options options) {
    if (&context.backend() != &device.backend())
        throw Error(ErrorKind::value, "a queue of ", device, " cannot live in ", context, ": they belong to two backends");
    if (options.profiling && !device.has(EP_PROFILING))
        throw Error(ErrorKind::device, device, " cannot time its work: create the queue without profiling");
    const std::uint32_t flags = (options.profiling ? std::uint32_t{EP_QUEUE_PROFILING} : 0) |
                                (options.out_of_order ? std::uint32_t{EP_QUEUE_OUT_OF_ORDER} : 0);
    const InterpreterLock::Released released;
    ep_queue handle;
    device.backend().call(&ep_backend::queue_create, context.handle(), device.handle(), flags, &handle);
    return adopt(device.backend(), handle, false);
}

namespace {

// Queues of ours in contexts that are no platform's default one, the latest few: one queue a context is enough to order its
// consumers.
class ContextQueues {
public:
    Queue find(const Context &context, const Device &device) {
        Queue displaced;  // let go of without the lock
        const std::lock_guard locked(mutex_);
        for (const Queue &queue : queues_)
            if (queue && queue.context() == context && queue.device() == device)
                return queue;
        Queue &slot = queues_[next_++ % queues_.size()];
        displaced = std::exchange(slot, Queue::create(context, device, {}));
        return slot;
    }

private:
    std::mutex mutex_;
    std::array<Queue, 8> queues_;
    std::size_t next_ = 0;
};

}  // namespace

Queue Queue::in(const Context &context, const Device &device) {
    fork_guard::require_usable(device.backend());  // the lock of the kept ones is not carried over a fork
    const Queue &usual = device.default_queue();
    if (usual.context() == context) [[likely]]
        return usual;
    static auto *const others = new ContextQueues;  // not destroyed: the runtime may be gone before us
    const InterpreterLock::Released released;
    return others->find(context, device);
}

Queue Queue::apart(const Context &context, const Device &device) {
    fork_guard::require_usable(device.backend());
    static auto *const kept = new ContextQueues;
    const InterpreterLock::Released released;
    return kept->find(context, device);
}

Queue Queue::from_native(const Backend &backend, void *native, const Context &context) {
    const InterpreterLock::Released released(!backend.is_sycl());  // a thread's own stream is marked; SYCL's is only copied
    ep_queue handle;
    backend.call(&ep_backend::queue_from_native, context ? context.handle() : nullptr, native, &handle);
    return adopt(backend, handle, true);
}

Queue Queue::past(const Context &context, const Device &device, Event event) {
    auto record = std::make_unique<Record>();
    record->backend = &context.backend();
    record->number = ++queues_made;
    record->context = context;
    record->device = device;
    record->last_event = std::move(event);
    record->last_event_position = 1;
    const std::lock_guard locked(live().mutex);
    live().insert(record.get());
    return Queue(record.release());
}

void Queue::keep_alive(const std::shared_ptr<void> &owner) const {
    constexpr std::size_t most_owners = 4;
    const std::lock_guard locked(record_->owners_mutex);
    std::vector<std::shared_ptr<void>> &owners = record_->owners;
    if (owners.size() < most_owners && std::ranges::find(owners, owner) == owners.end())
        owners.push_back(owner);
}

Queue Queue::adopt(const Backend &backend, ep_queue handle, bool foreign) {
    {
        const std::lock_guard locked(live().mutex);
        if (Record *known = live().find(backend, handle)) {
            backend.drop(&ep_backend::queue_release, handle);  // the record has its own reference
            if (foreign)
                known->foreign.store(true, std::memory_order_relaxed);
            return Queue(known);
        }
    }
    auto record = std::make_unique<Record>();
    try {
        record->backend = &backend;
        record->handle = handle;
        record->number = ++queues_made;
        record->foreign.store(foreign, std::memory_order_relaxed);
        record->is_wrapped = foreign;
        ep_context context;
        backend.call(&ep_backend::queue_context, handle, &context);
        record->context = Context::adopt(backend, context);
        ep_device device;
        backend.call(&ep_backend::queue_device, handle, &device);
        record->device = backend.device(device);
        record->may_be_captured = record->device.has(EP_GRAPH_CAPTURE);
        backend.call(&ep_backend::queue_flags, handle, &record->flags);
    } catch (...) {
        backend.drop(&ep_backend::queue_release, handle);
        throw;
    }
    const std::lock_guard locked(live().mutex);
    if (Record *known = live().find(backend, handle)) {  // another thread was faster
        backend.drop(&ep_backend::queue_release, handle);
        return Queue(known);
    }
    live().insert(record.get());
    return Queue(record.release());
}

void Queue::destroy(Record *record) noexcept {
    {
        const std::lock_guard locked(live().mutex);
        if (!live().remove_if_dead(record))
            return;
    }
    record->last_event = Event();
    if (record->handle) {  // else it is of the past
        const InterpreterLock::Released released(!record->is_wrapped && !record->backend->is_host());
        record->backend->drop(&ep_backend::queue_release, record->handle);
    }
    delete record;
}

void Queue::take(Position next) const noexcept { raise_to(record_->submitted, next); }

void *Queue::native() const {
    submitting();
    void *native;
    backend().call(&ep_backend::queue_native, handle(), &native);
    record_->foreign.store(true, std::memory_order_relaxed);
    return native;
}

void Queue::wait() const {
    const InterpreterLock::Released released;
    const Position before = position();
    backend().call(&ep_backend::queue_wait, handle());
    raise_to(record_->completed, before);
}

bool Queue::is_idle() const {
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

// Records an event behind everything that was submitted so far, and keeps it for whoever asks next.
Queue::Marked Queue::try_mark(const std::unique_lock<std::mutex> &, std::uint32_t flags) const {
    const Position covered = position();  // read first: what is submitted from here on may or may not be behind the event
    const ep_event marked = record_event(backend(), handle(), flags);
    if (!marked)
        return {};
    Event event = Event::adopt(backend(), marked, context());
    if (const std::uint64_t captured = capture())
        return {false, captured};
    record_->last_event = std::move(event);
    record_->last_event_position = covered;
    return {true, 0};
}

// The work of a foreign queue is not all ours, and the time of a profiling queue's event is that of the call that records it.
bool Queue::is_known() const noexcept { return !is_foreign() && !is_profiling(); }

bool Queue::is_known_idle() const noexcept {
    return is_known() && position() <= record_->completed.load(std::memory_order_acquire);
}

// Not kept: what comes later in the queue, when the capture has ended, is not behind it.
Event Queue::mark_captured(std::uint64_t capture) const {
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
    throw Error(ErrorKind::device, "the work is in a queue that is being captured into a graph, and nobody can wait for its ",
                "end: what is captured runs when the graph does; wait before the capture, or end it first");
}

}  // namespace

const Event &Queue::mark(const std::unique_lock<std::mutex> &locked, std::uint32_t flags) const {
    if (!try_mark(locked, flags).is_kept)
        refuse_captured();
    return record_->last_event;
}

Queue::Position Queue::submitted_and_marked() const {
    const Lock locked(*record_);
    mark(locked, EP_EVENT_EXACT);
    return record_->last_event_position = submitted();  // nobody marks in between, so it covers that one, too
}

std::uint64_t Queue::ask_capture() const {
    std::uint64_t capture = 0;
    backend().call(&ep_backend::queue_capture, handle(), &capture);
    return capture;
}

std::uint64_t Queue::capture_of_work() const {
    if (!is_past()) [[likely]]
        return capture();
    const std::lock_guard locked(record_->mutex);
    return record_->last_event.capture();
}

void Queue::keep(void *user, void (*let_go)(void *user)) const {
    backend().call(&ep_backend::queue_keep, handle(), user, let_go);
}

Event Queue::record() const {
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

[[gnu::hot]] Event Queue::promise() const {
    if (is_profiling())  // whose event measures this very moment
        return record();
    if (is_foreign() && !is_default_stream()) {
        const Event known = known_event_at(position());
        return known ? known : record();
    }
    if (position() <= record_->completed.load(std::memory_order_acquire))
        return Event();
    auto promised = std::allocate_shared<Event::Promised>(ThreadBlockAllocator<Event::Promised>(), *this);
    Event::Promised *other = nullptr;
    if (!record_->promised.compare_exchange_strong(other, promised.get(), std::memory_order_acq_rel)) [[unlikely]]
        take_place_of_promised(*promised);
    return Event(std::move(promised));
}

// Of another thread, who submitted beside us.
void Queue::take_place_of_promised(Event::Promised &promised) const {
    const Lock locked(*record_);
    if (Event::Promised *const other = record_->promised.exchange(&promised, std::memory_order_acq_rel))
        other->keep(locked);
}

void Queue::keep_promise() const {
    fork_guard::require_usable(backend());
    const Lock locked(*record_);
    if (Event::Promised *const promised = record_->promised.exchange(nullptr, std::memory_order_acq_rel))
        promised->keep(locked);
}

Event Queue::event_at(Position position) const {
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

bool Queue::is_past_last_event(const std::unique_lock<std::mutex> &) const {
    try {
        if (!record_->last_event.is_done())
            return false;
    } catch (...) {
        // A capture may have begun and ended while the event was recorded, which then marks nothing for ever: the next who asks
        // gets a new one.
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
    fork_guard::require_usable(backend());
    const Lock locked(*record_, std::try_to_lock);
    if (!locked)
        return false;
    // A hand-over in a graph is none that anybody outside of it has to come behind.
    if (record_->last_event.capture() != 0)
        return true;
    // While the last event is pending, so is what came after it; at most one event of a queue is ever polled.
    if (record_->last_event) {
        if (!is_past_last_event(locked))
            return false;
        if (position <= record_->completed.load(std::memory_order_acquire))
            return true;
    }
    if (is_past() || capture() != 0)
        return false;
    if (!is_foreign() && is_idle())  // of a queue that others submit to meanwhile, not every driver can be asked
        return true;
    return try_mark(locked, EP_EVENT_PROMPT).is_kept && is_past_last_event(locked);
}

void Queue::wait_until(Position position) const {
    fork_guard::require_usable(backend());
    const InterpreterLock::Released released;
    // Our last submission: no marker is needed. What others have in the queue meanwhile is before ours, or a moment's worth
    // behind, where it is in order.
    if (!is_past() && (!is_foreign() || is_in_order()) && position == this->position() && capture() == 0) {
        backend().call(&ep_backend::queue_wait_submitted, handle());
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
        throw Error(ErrorKind::device,
                    "wait_for: the event is of another graph capture than the queue is in: captures do not join");
    if (theirs != 0)
        record_->foreign.store(true, std::memory_order_relaxed);  // it may be in the capture from here on
    const ep_event recorded = event.handle();
    if (!recorded)
        return;
    submitting();
    const ep_status status = backend().status_of(&ep_backend::event_wait_in_queue, handle(), recorded);
    if (status != EP_OK && theirs != 0 && is_default_stream())
        throw Error(ErrorKind::device, "wait_for: the legacy default stream cannot wait for work that is captured into a graph (",
                    Backend::last_error(), "): name a queue of your own with queue=");
    if (status != EP_OK && theirs != 0 && mine == 0)
        throw Error(ErrorKind::device,
                    "wait_for: the event belongs to a graph capture that has ended, and marks nothing any more (",
                    Backend::last_error(), ")");
    backend().check(status);
    submitted();  // later events of this queue are not the earlier ones: they come after the wait
}

[[gnu::hot]] void Queue::wait_for(const Queue &other) const {
    fork_guard::require_usable(backend());
    if (other.is_past())
        return wait_for(other.event_at(1));
    if ((other == *this && is_in_order()) || other.is_known_idle())
        return;
    if (&other.backend() != &backend() || other.capture() != 0 || capture() != 0)
        return wait_for(other.record());
    const Position covered = other.position();
    take_over(other);
    if (!is_foreign() && !other.is_foreign())
        remember_wait_for(other, covered);
}

// Nothing is remembered of this queue's stream where others have it: they may destroy it, and the next at its address has waited
// for nothing. Of what others submit to, no position but the one that was asked for is known to be behind the wait.
[[gnu::hot]] void Queue::wait_for(const Queue &other, Position position) const {
    fork_guard::require_usable(backend());
    if ((other == *this && is_in_order()) || position <= other.record_->completed.load(std::memory_order_acquire))
        return;
    if (is_foreign() || other.is_past() || &other.backend() != &backend() || !backend().hands_over_quickly())
        return wait_for(other.event_at(position));
    if (has_waited_for(other, position))
        return;
    Position covered = position;
    if (const Event known = other.known_event_at(position)) {
        wait_for(known);
    } else if (other.capture() != 0) {
        wait_for(other.event_at(position));
    } else {
        covered = other.is_foreign() ? position : other.position();
        take_over(other);
    }
    remember_wait_for(other, covered);
}

[[gnu::hot]] void Queue::take_over(const Queue &other) const {
    const InterpreterLock::Released released;
    submitting();
    const ep_status status = backend().status_of(&ep_backend::event_hand_over, other.handle(), handle());
    if (status == EP_UNSUPPORTED && !other.is_default_stream() && !is_default_stream())
        refuse_captured();
    backend().check(status);
    submitted();
}

void Queue::remember_wait_for(const Queue &other, Position position) const noexcept {
    const std::uint64_t number = other.record_->number;
    const bool has_room = number >> 32 == 0 && position >> 32 == 0;
    record_->waited_for.store(has_room ? number << 32 | position : 0, std::memory_order_release);
}

Event Queue::known_event_at(Position position) const {
    if (position > record_->last_event_position.load(std::memory_order_acquire)) [[likely]]
        return Event();
    const Lock locked(*record_);
    return record_->last_event;
}

}  // namespace entrepot
