// The records of events (Event), and the lock of a queue under which they are recorded. Overview,
// lock order and lifetime: device/queue.hpp.
#pragma once
#include "core/interpreter_lock.hpp"
#include <entrepot/device/queue.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

namespace entrepot {

// Locks Record::mutex and releases the GIL first. The mutex is held while the driver records an
// event, which can block. CUDA blocks it while another thread is in a call that frees memory, SYCL
// while another thread waits for the queue.
class Queue::Lock : InterpreterLock::Released, public Queue::Locked {
public:
    explicit Lock(Record &record) : Released(!record.backend->is_host()), Locked(record.mutex) {}
    // Fails if another thread may hold the mutex for long. The host's queues hold it for moments.
    Lock(Record &record, std::try_to_lock_t)
        : Released(!record.backend->is_host()), Locked(record.mutex, std::defer_lock) {
        if (record.backend->is_host())
            lock();
        else
            static_cast<void>(try_lock());
    }
};

struct Event::Record {
    const Backend *backend;
    std::atomic<bool> done{false};  // atomic, never reset: an answer that needs no driver call

    explicit Record(const Backend &of) noexcept : backend(&of) {}
    virtual ~Record() = default;
    virtual ep_event handle() = 0;
    virtual bool ask_done() = 0;
    virtual void wait() = 0;
    virtual std::uint64_t capture() const noexcept { return 0; }
    virtual bool is_recorded() const noexcept { return false; }
};

// Stands for work that a thread has recorded into a graph (array/graph.hpp). Nothing can wait for
// it.
struct Event::Recorded final : Event::Record {
    using Record::Record;

    ep_event handle() override { refuse(); }
    bool ask_done() override { refuse(); }
    void wait() override { refuse(); }
    bool is_recorded() const noexcept override { return true; }

private:
    [[noreturn]] static void refuse() {
        throw Error(ErrorKind::device,
                    "the event stands for work that was recorded into a graph, and runs whenever "
                    "the graph is replayed: wait for the event that replay() returns");
    }
};

// An event of the runtime.
struct Event::Native : Event::Record {
    Native(const Backend &of, ep_event adopted, Context in) noexcept
        : Record(of), context_(std::move(in)), handle_(adopted) {}
    ~Native() override { backend->drop(&ep_backend::event_release, handle_); }

    ep_event handle() override { return handle_; }
    bool ask_done() override {
        std::int32_t answer = 0;
        backend->call(&ep_backend::event_is_done, handle_, &answer);
        return answer != 0;
    }
    void wait() override { backend->call(&ep_backend::event_wait, handle_); }

private:
    const Context context_;  // destroyed after the handle, which uses it in the backend; that may
                             // block, and releases the GIL
    const ep_event handle_;
};

// An event of the runtime that belongs to a graph: queues can wait for it, the host cannot.
struct Event::Captured final : Event::Native {
    Captured(const Queue &queue, ep_event adopted, std::uint64_t capture) noexcept
        : Native(queue.backend(), adopted, queue.context()), capture_(capture) {}

    bool ask_done() override { refuse(); }
    void wait() override { refuse(); }
    std::uint64_t capture() const noexcept override { return capture_; }

private:
    [[noreturn]] static void refuse() {
        throw Error(ErrorKind::device,
                    "the event marks work that is captured into a graph, and is done whenever the "
                    "graph runs: ",
                    "wait for the queue that the graph is launched in");
    }

    const std::uint64_t capture_;
};

// A lazy event: a position of a queue, until it is recorded; from then on the recorded event.
//
// States
//   Unrecorded: Record::lazy_event points here. A thread may lock Record::mutex and take this out
//   to record it. A thread that holds an Event may lock the mutex and record this in place
//   (handle); the slot is cleared afterwards. If a thread that has taken it out cannot record it,
//   it stays unrecorded outside the slot until its handle is needed. It may then cover later work.
//   Recorded: `is_recorded_` is set with release order, and `recorded_` does not change any more.
struct Event::Lazy final : Event::Record {
    explicit Lazy(const Queue &queue) noexcept
        : Record(queue.backend()), queue_(queue), position_(queue.position()) {
        ENTREPOT_ASSERT(!queue.is_event_queue() && position_ != 0);
    }
    ~Lazy() override;

    ep_event handle() override {
        if (!is_recorded_.load(std::memory_order_acquire)) {
            fork_guard::require_usable(*backend);
            record(Queue::Lock(*queue_.record_));
        }
        ENTREPOT_ASSERT(is_recorded_.load(std::memory_order_relaxed));
        return recorded_.handle();
    }
    bool ask_done() override {
        return is_recorded_.load(std::memory_order_acquire) ? recorded_.is_done()
                                                            : queue_.is_done(position_);
    }
    void wait() override {
        if (is_recorded_.load(std::memory_order_acquire))
            recorded_.wait();
        else
            queue_.wait_at(position_);
    }

    // Records the event, unless it is recorded already.
    // Requires: `locked` holds the mutex of the queue.
    void record(const Queue::Locked &locked) {
        Queue::require_lock(*queue_.record_, locked);
        if (is_recorded_.load(std::memory_order_relaxed))
            return;
        Queue::Record &record = *queue_.record_;
        if (position_ > record.completed.load(std::memory_order_acquire))
            recorded_ = position_ <= record.last_event_position
                            ? record.last_event
                            : queue_.mark(locked, EP_EVENT_EXACT);
        unregister();
        // last: a thread that sees it may destroy this
        is_recorded_.store(true, std::memory_order_release);
    }

private:
    // Returns: true if Record::lazy_event pointed here.
    bool unregister() noexcept {
        Lazy *self = this;
        return queue_.record_->lazy_event.compare_exchange_strong(self, nullptr,
                                                                  std::memory_order_acq_rel);
    }

    const Queue queue_;
    const Queue::Position position_;
    // Guarded by the queue's Record::mutex until is_recorded_ is set, then constant.
    Event recorded_;
    std::atomic<bool> is_recorded_{false};  // atomic; written with the queue's Record::mutex held
};

}  // namespace entrepot
