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

namespace entrepot {

class Event {
  public:
    Event() noexcept = default;  // done
    static Event adopt(const Backend &backend, ep_event handle);
    static Event from_native(const Backend &backend, void *native);

    bool is_done() const;
    void wait() const;  // blocks the thread; callers from Python release the GIL. Throws DeviceError for failed work
    // Seconds from this event to `later`, both done and of profiling queues; throws DeviceError otherwise.
    double seconds_until(const Event &later) const;
    void *native() const;  // nullptr for the done event

    const Backend *backend() const noexcept;
    ep_event handle() const noexcept;

  private:
    struct Record;
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
    // Wraps the runtime's own (`sycl::queue *`, copied; `const CUstream *`), in order or not.
    static Queue from_native(const Backend &backend, void *native);

    Queue(const Queue &other) noexcept : record_(other.record_) { retain(); }
    Queue(Queue &&other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
    Queue &operator=(Queue other) noexcept {
        std::swap(record_, other.record_);
        return *this;
    }
    ~Queue() { release(); }

    const Device &device() const noexcept { return record_->device; }
    const Context &context() const noexcept { return record_->context; }
    const Backend &backend() const noexcept { return record_->context.backend(); }
    ep_queue handle() const noexcept { return record_->handle; }
    void *native() const;
    bool is_in_order() const noexcept { return !(record_->flags & EP_QUEUE_OUT_OF_ORDER); }
    bool is_profiling() const noexcept { return (record_->flags & EP_QUEUE_PROFILING) != 0; }
    // Foreign code submits to it too: positions do not tell the whole story, so idleness is asked, never remembered.
    bool is_foreign() const noexcept { return record_->foreign; }

    void wait() const;  // blocks; throws DeviceError for errors of asynchronous work
    bool is_idle() const;
    Event record() const;                 // an event for all that the queue holds now
    void wait_for(const Event &event) const;  // later work waits; on the host only where the event is another backend's

    // Positions. `submitted` is called once after each piece of work of ours was handed over.
    Position submitted() const noexcept { return record_->submitted.fetch_add(1, std::memory_order_acq_rel) + 1; }
    Position position() const noexcept { return record_->submitted.load(std::memory_order_acquire); }
    bool is_done(Position position) const;
    Event event_at(Position position) const;
    void wait_at(Position position) const { event_at(position).wait(); }

    explicit operator bool() const noexcept { return record_ != nullptr; }
    bool operator==(const Queue &) const noexcept = default;  // the same Queue of ours

    struct Record {
        std::atomic<std::uint32_t> references{1};
        bool immortal = false;  // default queues of devices
        bool foreign = false;
        std::uint32_t flags = 0;
        ep_queue handle = nullptr;
        Device device;
        Context context;
        std::atomic<Position> submitted{0};
        std::atomic<Position> completed{0};
        std::mutex mutex;  // guards the two below
        Event last_event;
        Position last_event_position = 0;
    };
    const Record *identity() const noexcept { return record_; }

  private:
    explicit Queue(Record *record) noexcept : record_(record) {}
    void retain() const noexcept {
        if (record_ && !record_->immortal)
            record_->references.fetch_add(1, std::memory_order_relaxed);
    }
    void release() noexcept {
        if (record_ && !record_->immortal && record_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
            destroy(record_);
    }
    static void destroy(Record *record) noexcept;

    Record *record_ = nullptr;
};

// All queues of ours that are alive in a context: what a quarantine barrier has to cover.
std::vector<Queue> live_queues(const Context &context);

}  // namespace entrepot
