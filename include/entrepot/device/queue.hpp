// Queue and Event: work in order, positions in it, and the marks that other queues or the host wait for.
//
// Every submission of ours advances the queue's position; "is the work at position p done?" and "wait for position p" are
// answered lazily: an event is recorded only when somebody asks, and one event serves every position before it.
#pragma once
#include <entrepot/device/context.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace entrepot {

class Event {
public:
    Event() noexcept = default;  // done
    static Event adopt(const Backend &backend, ep_event handle, const Context &context);
    static Event from_native(const Backend &backend, void *native);

    // Both throw DeviceError for an event of a capture: what it marks runs when the graph does.
    bool is_done() const;
    void wait() const;  // blocks the thread. Throws DeviceError for failed work
    // Seconds from this event to `later`, both done and of profiling queues; throws DeviceError otherwise.
    double seconds_until(const Event &later) const;
    void *native() const;                    // nullptr for the done event
    std::uint64_t capture() const noexcept;  // as Queue::capture, of the moment it was recorded

    const Backend *backend() const noexcept;
    ep_event handle() const;  // recorded now if it was only promised; nullptr for the done event

    explicit operator bool() const noexcept { return record_ != nullptr; }  // false: the done event

private:
    friend class Queue;
    struct Record;
    struct Native;
    struct Captured;
    struct Promised;
    explicit Event(std::shared_ptr<Record> record) noexcept : record_(std::move(record)) {}

    std::shared_ptr<Record> record_;
};

class Queue {
public:
    using Position = std::uint64_t;

    Queue() noexcept = default;

    struct Options {
        bool profiling = false;
        bool out_of_order = false;
    };
    static Queue create(const Device &device) { return create(device, Options{}); }
    static Queue create(const Device &device, Options options);
    static Queue create(const Context &context, const Device &device, Options options);
    // Wraps the runtime's own (`sycl::queue *`, copied; `const CUstream *`), in order or not. Where the backend knows the
    // native queue again and gives the same handle, so is the Queue. `context` is that of a queue which does not say it (CUDA's
    // default streams); none: the current one of this thread.
    static Queue from_native(const Backend &backend, void *native, const Context &context = {});

    // What is left of a queue that may not be touched any more: one piece of work, done when the event is, at position 1. It
    // takes no further work.
    static Queue past(const Context &context, const Device &device, Event event);

    Queue(const Queue &other) noexcept : record_(other.record_) { retain(); }
    Queue(Queue &&other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
    Queue &operator=(Queue other) noexcept {
        std::swap(record_, other.record_);
        return *this;
    }
    ~Queue() { release(); }

    // One that is in order, of the device, in the context: the device's default queue where that is in it, else one of a few
    // that are kept for such contexts.
    static Queue in(const Context &context, const Device &device);
    // The same, and nobody else's: no graph capture ever holds it.
    static Queue apart(const Context &context, const Device &device);

    const Device &device() const noexcept { return record_->device; }
    const Context &context() const noexcept { return record_->context; }
    const Backend &backend() const noexcept { return record_->context.backend(); }
    ep_queue handle() const noexcept { return record_->handle; }
    // Gives the runtime's queue out; the queue is foreign from then on. Lives as long as this Queue.
    void *native() const;
    bool is_in_order() const noexcept { return !(record_->flags & EP_QUEUE_OUT_OF_ORDER); }
    bool is_profiling() const noexcept { return (record_->flags & EP_QUEUE_PROFILING) != 0; }
    // Keeps what the native queue belongs to until the last Queue of it is gone; more than a few owners of one are not kept.
    void keep_alive(const std::shared_ptr<void> &owner) const;
    // For a queue that is kept for ever: its references are not counted any more.
    void make_immortal() const noexcept { record_->immortal.store(true, std::memory_order_relaxed); }
    // For the legacy default stream of a device, which its driver never destroys and never captures. Immortal as well.
    void make_default_stream() const noexcept {
        record_->default_stream.store(true, std::memory_order_relaxed);
        make_immortal();
    }
    bool is_default_stream() const noexcept { return record_->default_stream.load(std::memory_order_relaxed); }
    // Foreign code submits to it too: positions do not tell the whole story, so idleness is asked, never remembered.
    bool is_foreign() const noexcept { return record_->foreign.load(std::memory_order_relaxed); }

    void wait() const;  // blocks; throws DeviceError for errors of asynchronous work
    bool is_idle() const;
    Event record() const;  // done when all that the queue holds now is done
    // The same for those whom nobody may keep waiting; nullopt where another thread would, or the queue is captured.
    std::optional<Event> try_record() const;
    // Like record(), but recorded when the native event is needed, and before the next submission at the latest: an event that is
    // dropped costs nothing. For what was submitted just now. On the legacy default stream it then also covers what
    // others have submitted meanwhile. On other foreign queues it is recorded at once, because their owner may destroy them.
    Event promise() const;
    // Later work waits; on the host only where the event is another backend's, or comes from outside of the capture that the
    // queue is in, for no graph can wait for that. An event of a capture takes the queue into it; throws DeviceError once that
    // has ended.
    void wait_for(const Event &event) const;
    // The same for all that the other queue holds now, which is not asked first whether it is done: seldom so soon.
    void wait_for(const Queue &other) const;
    // The same for what it held at a position of it, of a queue that is not captured. What was waited for before costs a look.
    void wait_for(const Queue &other, Position position) const;
    // Whether it is known to have: only the queue that it waited for last is remembered, and of one that nobody else has.
    bool has_waited_for(const Queue &other, Position position) const noexcept {
        const std::uint64_t last = record_->waited_for.load(std::memory_order_acquire);
        return last >> 32 == other.record_->number && position <= static_cast<std::uint32_t>(last);
    }

    // Graph capture: what is submitted to a captured queue is written down, and runs when the graph does. The capture's number, 0
    // while work runs. A queue that was never given out, and never waited for one that was, is not captured, which costs nothing
    // to know; nor is one of a device without EP_GRAPH_CAPTURE. For what a captured queue holds nobody can wait: to ask for its
    // end throws DeviceError, and a position of it is not done before the capture has ended.
    // A default stream is in no capture; while one that it waits for is captured, its backend refuses the work itself.
    std::uint64_t capture() const { return record_->may_be_captured && is_foreign() && !is_default_stream() ? ask_capture() : 0; }
    // The same; of what is left of a queue, the capture that its event belongs to, though it may have ended.
    std::uint64_t capture_of_work() const;
    // Of a captured queue: `let_go(user)` is called once when the graph, and all that was made of it, is gone; on any thread,
    // where no runtime may be called.
    void keep(void *user, void (*let_go)(void *user)) const;

    // Positions. `submitting` is called before each piece of work of ours is handed over, and `submitted` once after it.
    void submitting() const {
        if (record_->promised.load(std::memory_order_acquire)) [[unlikely]]
            keep_promise();
    }
    Position submitted() const noexcept { return record_->submitted.fetch_add(1, std::memory_order_acq_rel) + 1; }
    // The same, and an event of it at once: for a queue whose end this thread alone can mark, as a thread's own stream, of which
    // other threads know no later work than what was marked. Throws DeviceError where it is captured.
    Position submitted_and_marked() const;
    Position position() const noexcept { return record_->submitted.load(std::memory_order_acquire); }
    // The position after the last one, for what others may have submitted; it is taken when there is need to know of it.
    Position next_position() const noexcept { return position() + 1; }
    void take(Position next) const noexcept;
    bool is_done(Position position) const {  // false may be late, true never is; does not block
        return position <= record_->completed.load(std::memory_order_acquire) || ask_done(position);
    }
    Event event_at(Position position) const;
    void wait_at(Position position) const {
        if (position > record_->completed.load(std::memory_order_acquire))
            wait_until(position);
    }

    explicit operator bool() const noexcept { return record_ != nullptr; }
    bool is_past() const noexcept { return record_->handle == nullptr; }
    bool operator==(const Queue &) const noexcept = default;  // the same Queue of ours

    struct Record {
        std::atomic<std::uint32_t> references{1};
        std::atomic<bool> immortal{false};  // default queues of devices are; their handles are copied on the hottest paths
        std::uint64_t number = 0;           // no other queue of the process had or will have it; an address may become another's
        const Backend *backend = nullptr;
        std::atomic<bool> foreign{false};  // wrapped, or given out
        std::atomic<bool> default_stream{false};
        bool is_wrapped = false;       // somebody else made it; of CUDA and HIP he ends it, too
        bool may_be_captured = false;  // into a graph, by those whom it is shared with
        std::uint32_t flags = 0;
        ep_queue handle = nullptr;  // one reference
        Device device;
        Context context;
        std::atomic<Position> submitted{0};
        std::atomic<Position> completed{0};
        // The queue that this one has waited for last, and its position then: the number above 32 bits of position. 0 where
        // either has more.
        std::atomic<std::uint64_t> waited_for{0};
        std::atomic<Event::Promised *> promised{nullptr};  // of the last position
        std::mutex owners_mutex;                           // apart, for the other one is held while the runtime marks the queue
        std::vector<std::shared_ptr<void>> owners;
        std::mutex mutex;                              // guards what follows
        Event last_event;                              // serves every position up to this one
        std::atomic<Position> last_event_position{0};  // read without the lock, too: who misses the latest asks for an event
    };
    const Record *identity() const noexcept { return record_; }

private:
    explicit Queue(Record *record) noexcept : record_(record) {}
    void retain() const noexcept {
        if (record_ && !is_immortal())
            record_->references.fetch_add(1, std::memory_order_relaxed);
    }
    void release() noexcept {
        if (record_ && !is_immortal() && record_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
            destroy(record_);
    }
    bool is_immortal() const noexcept { return record_->immortal.load(std::memory_order_relaxed); }
    friend class Device;
    friend std::vector<Queue> live_queues(const Context &context);
    static Queue adopt(const Backend &backend, ep_queue handle, bool foreign);
    static void destroy(Record *record) noexcept;  // unless the table of live queues has just handed it out again
    bool ask_done(Position position) const;
    std::uint64_t ask_capture() const;
    void wait_until(Position position) const;
    void take_over(const Queue &other) const;
    void remember_wait_for(const Queue &other, Position position) const noexcept;
    // The event that serves the position, where one has been recorded already and may not be done.
    Event known_event_at(Position position) const;
    bool is_known_idle() const noexcept;  // nothing of ours is in it, and nobody else's can be
    bool is_known() const noexcept;       // positions tell all that there is to know of it, and events no times
    class Lock;
    void keep_promise() const;
    void take_place_of_promised(Event::Promised &promised) const;
    friend struct Event::Promised;
    const Event &mark(const std::unique_lock<std::mutex> &locked, std::uint32_t flags = 0) const;
    // What became of an event of try_mark: kept, or the graph's that the queue is captured into by now, or nothing, as one that
    // may keep nobody waiting.
    struct Marked {
        bool is_kept = false;
        std::uint64_t capture = 0;
    };
    Marked try_mark(const std::unique_lock<std::mutex> &locked, std::uint32_t flags = 0) const;
    bool is_past_last_event(const std::unique_lock<std::mutex> &locked) const;
    Event mark_captured(std::uint64_t capture) const;

    Record *record_ = nullptr;
};

// An event that is done when all that the context holds now is done, also in queues that are not ours; nullopt where the runtime
// cannot tell. Throws DeviceError while a queue of the context is known to be captured, for no capture survives it.
std::optional<Event> record_all(const Context &context);

// All queues of ours that are alive in a context, those of the past left out: what a quarantine barrier has to cover.
std::vector<Queue> live_queues(const Context &context);

}  // namespace entrepot

template <> struct std::hash<entrepot::Queue> {
    std::size_t operator()(const entrepot::Queue &queue) const noexcept {
        return queue ? queue.backend().api().queue_hash(queue.handle()) : 0;
    }
};
