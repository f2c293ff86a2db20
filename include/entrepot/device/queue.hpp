// Queue and Event: work of a device in order, positions in it, and events that other queues and the
// host wait for.
//
// Overview
//   Each submission advances Record::submitted by one; its number is a Position. A submission
//   records no event, except by take_position_and_record().
//
//   An event is recorded (mark, try_mark) when record(), try_record(), as_event_queue(),
//   event_at(), is_done(), wait_at() or wait_for() needs one, and for lazy events. It covers every
//   position submitted before it. Outside of a capture the newest event is kept in `last_event`,
//   and serves all of them. Foreign code may also submit to a foreign queue, so positions do not
//   count all of its work. There, and in a profiling queue, record() and try_record() record a new
//   event each time. In a capture, record() makes an event of the graph, which is not kept.
//   record_all() records one of a whole context.
//
//   Entrepot encloses its submissions to an out-of-order queue in barriers. So its work runs in
//   order there, too.
//
//   lazy_event() returns a lazy event (Event::Lazy). Record::lazy_event points to the newest one.
//   It is recorded when its native handle is needed, or before the next submission (submitting),
//   with Record::mutex held. The slot is cleared or replaced before the recording, or right after
//   it. Often the last Event dies while the slot still points to the lazy event. Then nothing is
//   recorded or locked.
//
// States
//   A position is submitted, then completed. Record::submitted and Record::completed never
//   decrease. An event queue (Queue::of_event) has no handle and takes no work: position 1 is done
//   when its event is. A capturing queue writes work down instead of running it. No position
//   completes meanwhile, and the host cannot wait for one.
//
// Lock order
//   Queue::Lock releases the GIL, except for queues of the host, and then locks Record::mutex. The
//   mutex is held while the driver records or polls an event. That can block. CUDA blocks it while
//   another thread is in a call that frees memory, SYCL while another thread waits for the queue.
//   The table of live contexts may be locked while Record::mutex is held. No thread holds
//   Record::mutex and Record::owners_mutex together, except at a fork. It locks the table of live
//   queues, then both mutexes of each queue of the host (fork_guard.hpp).
//
// Fast paths
//   is_done: `position <= completed`, no lock. Otherwise the last event is polled, then the driver
//   is asked if the queue is idle (queue_is_idle), unless the queue is foreign. An event is
//   recorded only after that. submitting: `lazy_event` is null, no lock.
//
//   wait_for(other, position): skipped if `other` has completed the position. Which positions a
//   queue waits for already is remembered with the memory that needs them (memory.hpp).
//
// Lifetime
//   Queues are counted. The last reference destroys the record, unless the table of live queues has
//   handed it out again. Immortal queues are not counted. In a marked child of fork()
//   (fork_guard.hpp) native handles leak.
#pragma once
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/core/counted.hpp>
#include <entrepot/device/context.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

class Event {
public:
    Event() noexcept = default;  // done
    static Event adopt(const Backend &backend, ep_event handle, const Context &context);
    static Event from_native(const Backend &backend, void *native);
    // Stands for work that was recorded into a graph (array/graph.hpp): waiting for it throws
    // DeviceError.
    static Event recorded(const Backend &backend);
    bool is_recorded() const noexcept;

    // Throws: DeviceError for an event of a captured graph, whose work runs when the graph does.
    //         Also in a marked child of fork(), even if the event is known to be done.
    // Thread safety: thread-safe.
    bool is_done() const;
    // Throws: DeviceError for failed work.
    // Blocks: until the work is done, without the GIL.
    void wait() const;
    // Returns: the seconds from this event to `later`.
    // Throws: DeviceError if one is not done or marks no work, or they belong to two backends.
    //         ValueError if one has no time, because its queue was made without profiling.
    double seconds_until(const Event &later) const;
    void *native() const;                    // nullptr for the done event
    std::uint64_t capture() const noexcept;  // Queue::capture at the time it was recorded

    const Backend *backend() const noexcept;
    // Records a lazy event. Returns nullptr for the done event.
    ep_event handle() const;

    explicit operator bool() const noexcept { return record_ != nullptr; }  // false: the done event

private:
    friend class Queue;
    struct Record;
    struct Native;
    struct Captured;
    struct Recorded;
    struct Lazy;
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
    // Wraps a native queue (`sycl::queue *`, copied; `const CUstream *`), in order or not. One
    // native queue has one record, if the backend recognizes it. CUDA's default streams do not name
    // their context: it is `context`, or else the current one of this thread.
    static Queue from_native(const Backend &backend, void *native, const Context &context = {});

    // Stands for the work of a queue that may be destroyed: position 1 is done when the event is.
    // It takes no work.
    static Queue of_event(const Context &context, const Device &device, Event event);
    // Returns: an event queue for all that this queue holds now.
    // Throws: as record().
    Queue as_event_queue() const;
    // True if `earlier` is an event queue of captured work, and this is an event queue of the same
    // stream that covers it. False if `earlier` is not captured: another stream may have got the
    // address of a destroyed one.
    bool follows_in_captures(const Queue &earlier) const noexcept {
        const Record &mine = *record_, &theirs = *earlier.record_;
        return theirs.capture != 0 && mine.stream == theirs.stream && mine.stream != 0 &&
               mine.covered >= theirs.covered;
    }

    // Returns: an in-order queue of the device in the context. It is the device's default queue if
    //          that is in the context, else one of a few cached queues.
    // Blocks: may create a queue, without the GIL.
    static Queue for_context(const Context &context, const Device &device);
    // Like for_context(), but from a cache that no user sees, so the queue is never captured.
    static Queue internal_for_context(const Context &context, const Device &device);

    const Device &device() const noexcept { return record_->device; }
    const Context &context() const noexcept { return record_->context; }
    const Backend &backend() const noexcept { return record_->context.backend(); }
    ep_queue handle() const noexcept { return record_->handle; }
    // Returns: the native queue. The Queue is foreign from then on.
    // Lifetime: as long as this Queue.
    void *native() const;
    bool is_in_order() const noexcept { return !(record_->flags & EP_QUEUE_OUT_OF_ORDER); }
    bool is_profiling() const noexcept { return (record_->flags & EP_QUEUE_PROFILING) != 0; }
    // Holds a reference to `owner`, which keeps the native queue alive, until the record is
    // destroyed. Four owners suffice: later ones are not held.
    void keep_alive(const std::shared_ptr<void> &owner) const;
    // The caller promises that the native queue is never destroyed, as PyTorch's streams are not.
    void declare_never_destroyed() const noexcept {
        record_->may_be_destroyed.store(false, std::memory_order_relaxed);
    }
    // True for a wrapped stream of CUDA or HIP that foreign code may destroy while this Queue
    // exists. It is neither a default stream nor kept alive. Objects that outlive the call that
    // wrapped it do not hold it. The log of a memory holds an event of it (as_event_queue). A block
    // of a pool and an Array have a queue of Entrepot's instead.
    bool may_be_destroyed() const noexcept {
        return record_->may_be_destroyed.load(std::memory_order_relaxed);
    }
    // The queue lives until process exit, and its references are not counted any more.
    // Requires: the caller holds a reference, which it never drops.
    void make_immortal() const noexcept { record_->make_immortal(); }
    // Marks the legacy default stream of a device, which the driver never destroys or captures. It
    // becomes immortal as well.
    void make_default_stream() const noexcept {
        record_->default_stream.store(true, std::memory_order_relaxed);
        make_immortal();
    }
    bool is_default_stream() const noexcept {
        return record_->default_stream.load(std::memory_order_relaxed);
    }
    // True if foreign code may submit to the queue, too. Its idleness is asked of the driver and
    // never remembered.
    bool is_foreign() const noexcept { return record_->foreign.load(std::memory_order_relaxed); }

    // Throws: DeviceError for errors of asynchronous work.
    // Blocks: until all work in the queue is done, without the GIL.
    void wait() const;
    bool is_idle() const;
    // Returns: an event that is done when everything in the queue now is done. If the queue is
    //          known to be idle, the done event. If the queue is capturing, the event belongs to
    //          the graph.
    // Blocks: inside the driver, while another thread frees memory or waits for the queue; not for
    //         device work.
    Event record() const;
    // Like record(), but waits for no thread that may hold the lock for long. Returns nullopt if it
    // would, or if the queue is capturing. Queues of the host do wait: their lock is held for
    // moments. Drivers of CUDA and HIP may still block inside the call.
    std::optional<Event> try_record() const;
    // Returns: a lazy event for the work just submitted. It is recorded when its native event is
    //          needed, and before the next submission at the latest, so an event that is dropped
    //          costs nothing. On the legacy default stream it then also covers what others have
    //          submitted meanwhile. On other foreign queues it is recorded at once, because their
    //          owner may destroy them, and so it is on a profiling queue.
    Event lazy_event() const;
    // Makes later work of this queue wait for the event. An event of a capture takes the queue into
    // that capture.
    // Throws: DeviceError if the event's capture has ended, or is another one than the queue is in.
    // Blocks: on the host if the event belongs to another backend, or does not belong to the
    //         capture that the queue is in.
    void wait_for(const Event &event) const;
    // Overload for all work that `other` holds now. It is not asked first if it is idle, which is
    // rare so soon.
    void wait_for(const Queue &other) const;
    // Overload for the work of `other` up to a position; later work may be included. A no-op if
    // that is known to be done.
    void wait_for(const Queue &other, Position position) const;

    // Graph capture: work submitted to a capturing queue is written down, and runs when the graph
    // is launched.
    //
    // Returns: the number of the capture that the queue is in; 0 if submitted work runs. The driver
    //          is asked only if the queue is foreign and its device supports capture. Another queue
    //          was never given out and never waited for an event of a capture, so it cannot be in
    //          one. A legacy default stream is in no capture; its backend refuses work that would
    //          join one.
    // Throws: DeviceError if the driver refuses, as some do for a destroyed stream; others crash.
    // GIL: kept if it is held, because drivers answer without waiting for the device.
    std::uint64_t capture() const {
        return record_->may_be_captured && is_foreign() && !is_default_stream() ? ask_capture() : 0;
    }
    // Like capture(). For an event queue, the capture that its event belongs to, even if that
    // has ended.
    std::uint64_t capture_of_work() const {
        return is_event_queue() ? record_->capture : capture();
    }
    // Calls `release(user)` once when the captured graph, and everything made from it, is
    // destroyed. The call may come on any thread, and must not call a runtime. Requires: the queue
    // is capturing.
    void keep(void *user, void (*release)(void *user)) const;

    // Call submitting() before each submission to the driver, and take_position() once after it.
    // Returns (take_position): the position of the submission, one after the last one.
    // Thread safety: thread-safe. Two threads may take positions in another order than the driver
    //                has their submissions in. An event covers only positions that were taken
    //                before it was recorded, so it is correct for both.
    // Blocks (submitting): as record(), if a lazy event is to be recorded.
    void submitting() const {
        if (record_->lazy_event.load(std::memory_order_acquire)) [[unlikely]]
            record_lazy_event();
    }
    Position take_position() const noexcept {
        const Position position = record_->submitted.fetch_add(1, std::memory_order_acq_rel) + 1;
        ENTREPOT_ASSERT(!is_event_queue() || position == 1);  // an event queue takes no work
        return position;
    }
    // Like take_position(), and records an event that covers the position. For CUDA's per-thread
    // stream, in which only its own thread can record: other threads then find the event and need
    // no new one.
    // Requires: no other thread submits to the queue meanwhile.
    // Throws: DeviceError if the queue is capturing.
    Position take_position_and_record() const;
    Position position() const noexcept {
        return record_->submitted.load(std::memory_order_acquire);
    }
    // Returns: the next position, for work that foreign code has submitted. It is not taken yet:
    //          reserve_position() raises position() to it later, unless that is higher already.
    Position next_position() const noexcept { return position() + 1; }
    void reserve_position(Position next) const noexcept;
    // Returns: true if the work at the position is done. Also true for an event queue whose event
    //          was captured: the graph orders that work. False may be outdated, or mean that
    //          another thread holds the lock or that the queue is capturing.
    bool is_done(Position position) const {
        return position <= record_->completed.load(std::memory_order_acquire) || ask_done(position);
    }
    // Returns: an event that covers the position; a new one if none does. Empty if the position is
    //          known to be done.
    // Throws: DeviceError if the queue is capturing and no event that was kept covers the position.
    Event event_at(Position position) const;
    // Waits until the position is done.
    // Throws: as event_at().
    // Blocks: without the GIL. It may wait for later work as well.
    void wait_at(Position position) const {
        if (position > record_->completed.load(std::memory_order_acquire))
            wait_until(position);
    }

    explicit operator bool() const noexcept { return static_cast<bool>(record_); }
    bool is_event_queue() const noexcept { return record_->handle == nullptr; }
    bool operator==(const Queue &) const noexcept = default;  // the same record

    // The comment of each field names its guard. Constant: written before another thread can obtain
    // the Queue, and never again. The count becomes 1 again after 0 only under the table's mutex.
    // Records of default queues are immortal, because the hot paths copy their handles.
    struct Record : Counted<Record> {
        // A no-op if the table has handed the record out again.
        static void end(Record *record) noexcept;

        // constant; unique in the process, while an address may be reused
        std::uint64_t number = 0;
        const Backend *backend = nullptr;  // constant
        // atomic, never reset; true if wrapped, given out, or taken into a capture
        std::atomic<bool> foreign{false};
        std::atomic<bool> default_stream{false};  // atomic, never reset
        // atomic; set before the record is in the table, then only reset
        std::atomic<bool> may_be_destroyed{false};
        bool is_wrapped = false;  // constant; foreign code created the native queue. CUDA and HIP:
                                  // and destroys it
        bool may_be_captured = false;  // constant; the device supports graph capture
        std::uint32_t flags = 0;       // constant
        // constant; the record owns one reference. nullptr: an event queue
        ep_queue handle = nullptr;
        Device device;    // constant
        Context context;  // constant
        // Constant, of an event queue. The capture that its event belongs to. The number of
        // the queue that it was recorded in. A position of that queue which the event covers.
        std::uint64_t capture = 0, stream = 0;
        Position covered = 0;
        std::atomic<Position> submitted{0};  // atomic, never decreases
        std::atomic<Position> completed{0};  // atomic, never decreases
        // Atomic. The newest lazy event. A thread that takes another event out of this slot holds
        // `mutex` and records that event.
        std::atomic<Event::Lazy *> lazy_event{nullptr};
        CheckedMutex owners_mutex;  // separate, because `mutex` is held during driver calls
        std::vector<std::shared_ptr<void>> owners ENTREPOT_GUARDED_BY(owners_mutex);
        CheckedMutex mutex;
        // Guarded by `mutex`. It serves every position up to last_event_position. An empty event
        // means that this work is done.
        Event last_event;
        // Written with `mutex` held. Read without it by known_event_at(), where an outdated value
        // costs one more event.
        std::atomic<Position> last_event_position{0};
    };
    const Record *identity() const noexcept { return record_.get(); }

private:
    // Ownership: takes over the caller's reference.
    explicit Queue(Record *record) noexcept : record_(IntrusivePtr<Record>::adopt(record)) {}
    friend class Device;
    friend std::vector<Queue> live_queues(const Context &context);
    static Queue adopt(const Backend &backend, ep_queue handle, bool foreign,
                       bool may_be_destroyed = false);
    bool ask_done(Position position) const;
    std::uint64_t ask_capture() const;
    void wait_until(Position position) const;
    void enqueue_wait_on(const Queue &other) const;
    // Returns: the event that serves the position, if one has been recorded; else the done event.
    Event known_event_at(Position position) const;
    bool is_known_idle() const noexcept;  // is_known(), and every position is completed
    // not foreign and not profiling, so an earlier event may serve for a new one
    bool is_known() const noexcept;
    class Lock;
    using Locked = std::unique_lock<CheckedMutex>;  // an argument that shows that the caller holds
                                                    // Record::mutex
    // Asserts that `locked` holds the mutex of the record.
    static void require_lock(const Record &record, const Locked &locked) noexcept;
    void record_lazy_event() const;
    void replace_lazy_event(Event::Lazy &lazy) const;
    friend struct Event::Lazy;
    const Event &mark(const Locked &locked, std::uint32_t flags = 0) const;
    // Result of try_mark. Either the event is kept in `last_event`, or the queue is in a capture.
    // Neither is true if EP_EVENT_PROMPT was asked for and the driver would have blocked.
    struct Marked {
        bool is_kept = false;
        std::uint64_t capture = 0;
    };
    Marked try_mark(const Locked &locked, std::uint32_t flags = 0) const;
    bool is_past_last_event(const Locked &locked) const;
    Event mark_captured(std::uint64_t capture) const;

    IntrusivePtr<Record> record_;
};

// Returns: an event that is done when everything in the context now is done, foreign queues
//          included; nullopt if the runtime has no such event.
// Throws: DeviceError while a queue of the context is known to be capturing, because the capture
//         would be invalidated.
std::optional<Event> record_all(const Context &context);

// Returns: all live queues of the context but event queues. The guards of a quarantine cover them.
//
// A stream that may be destroyed is left out: its wrapper may belong to a call of another thread.
// The stream may end with that call.
std::vector<Queue> live_queues(const Context &context);

}  // namespace entrepot
#pragma GCC visibility pop

template <> struct std::hash<entrepot::Queue> {
    std::size_t operator()(const entrepot::Queue &queue) const noexcept {
        return queue ? queue.backend().api().queue_hash(queue.handle()) : 0;
    }
};
