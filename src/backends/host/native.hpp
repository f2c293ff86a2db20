// What stands behind the host backend's handles: queues, events, and the work that passes through them.
#pragma once
#include "backends/boundary.hpp"
#include "backends/counted.hpp"
#include "backends/host/executor.hpp"

#include <entrepot/core/renewed_mutex.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace entrepot::backends::host {

class Queue;
class Event;
class Program;
class Kernel;

// What a handle of the contract stands for. The types have names of their own, because another backend in the same library
// gives the handles' types another meaning.
inline Queue &object(ep_queue handle) noexcept { return *reinterpret_cast<Queue *>(handle); }
inline Event &object(ep_event handle) noexcept { return *reinterpret_cast<Event *>(handle); }
inline Program &object(ep_program handle) noexcept { return *reinterpret_cast<Program *>(handle); }
inline Kernel &object(ep_kernel handle) noexcept { return *reinterpret_cast<Kernel *>(handle); }
inline ep_queue handle(Queue *object) noexcept { return reinterpret_cast<ep_queue>(object); }
inline ep_event handle(Event *object) noexcept { return reinterpret_cast<ep_event>(object); }
inline ep_program handle(Program *object) noexcept { return reinterpret_cast<ep_program>(object); }
inline ep_kernel handle(Kernel *object) noexcept { return reinterpret_cast<ep_kernel>(object); }

// Limits that the processor does not set: those of OpenCL CPU devices, so that a kernel that fits there fits here.
inline constexpr std::uint64_t max_work_group = 8192;
inline constexpr std::uint64_t max_local_memory = std::uint64_t{256} << 10;

// What a queue does in one turn.
class Work {
public:
    virtual ~Work() = default;
    // True: it is done. False: it goes on elsewhere, and that calls queue.end_turn(). If it throws, it has done nothing.
    virtual bool run(Queue &queue) = 0;
};

// The one device and its one context.
ep_device the_device() noexcept;
ep_context the_context() noexcept;

// Refuse handles of other backends: there is one device and one context.
void check_device(ep_device device);
void check_context(ep_context context);

// Bytes of physical memory and swap: no allocation can be larger and be used.
std::uint64_t total_memory() noexcept;

// A queue is busy from the first submission that it cannot finish at once to the moment when it holds nothing more. While it
// is busy it keeps a reference to itself; its turns are taken one after the other by whoever finished the turn before.
class Queue final : public Counted<Queue>, Deferred {
public:
    explicit Queue(std::uint32_t granted);
    ~Queue();

    const std::uint32_t flags;

    // Around a fork, so that no other thread leaves the lock of a queue taken in the child.
    static void take_locks() noexcept;
    static void let_locks_go() noexcept;

    // Runs `work` now if nothing is before it, else keeps it for its turn.
    template <class W> void submit(W work) {
        if (begins([&] { return std::make_unique<W>(std::move(work)); }))
            take_turn(work);
    }
    // Ends a turn whose work went on elsewhere, and perhaps failed there. The turns that follow are
    // taken by the executor, and on this thread only if that has none or there is no memory to tell
    // it: see Deferred.
    void end_turn(std::exception_ptr error = nullptr) noexcept;
    // Lets the executor's threads, and the threads that wait for the queue, share the loop that this turn consists of.
    void share(std::shared_ptr<Loop> loop);

    void wait();
    void help();  // takes part in the loop of the present turn, if there is one with chunks left
    bool is_idle();

private:
    // Whether the turn of new work begins now; else it has been kept.
    template <class Keep> bool begins(Keep &&keep) {
        const std::lock_guard hold(lock_);
        const bool now = !busy_;
        if (now) {
            busy_ = true;
            generation_ = fork_generation();
            retain();
        } else {
            refuse_if_orphaned();
            waiting_.push_back(keep());
        }
        ++submitted_;
        return now;
    }
    void take_turn(Work &work);
    void take_turns() noexcept;
    void run_deferred() noexcept override { take_turns(); }
    void refuse_if_orphaned() const;

    std::mutex lock_;
    std::condition_variable progress_;
    std::deque<std::unique_ptr<Work>> waiting_;
    std::shared_ptr<Loop> loop_;
    std::uint64_t submitted_ = 0, ended_ = 0;
    std::exception_ptr error_;  // the first of work that failed in its turn, until a wait reports it
    unsigned generation_ = 0;
    bool busy_ = false;
};

// Done once, when the turn in which it was recorded comes.
class Event : public Counted<Event> {
public:
    explicit Event(Queue &queue);

    const bool timed;

    void complete() noexcept;
    bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
    void wait();
    // Of an event that was pending when the process forked, also the lock may have been left taken: to be asked before.
    void refuse_if_orphaned() const;
    // False if it is done already; else `queue`'s turn ends when it is.
    bool end_turn_when_done(Queue &queue);
    double seconds() const noexcept { return seconds_; }  // of a steady clock; once it is done, if it is timed

private:
    std::mutex lock_;
    std::condition_variable completed_;
    Queue *const queue_;  // alive until the event is done: a queue that holds work keeps itself
    std::vector<Queue *> waiting_;
    const unsigned generation_;
    double seconds_ = 0;
    std::atomic<bool> done_ = false;
};

// Makes the present turn of `queue` a loop: body(first, last) for chunks of [0, count) on several threads. Returns what
// Work::run returns.
template <class Body> bool spread(Queue &queue, std::uint64_t count, std::uint64_t chunk, Body body) {
    class Turn final : public Loop {
    public:
        Turn(Queue &queue, std::uint64_t count, std::uint64_t chunk, Body body)
            : Loop(count, chunk), queue_(queue), body_(std::move(body)) {}

    private:
        void run(std::uint64_t first, std::uint64_t last) noexcept override {
            try {
                body_(first, last);
            } catch (...) {
                if (!failed_.exchange(true, std::memory_order_relaxed))
                    error_ = std::current_exception();
            }
        }
        void finished() noexcept override { queue_.end_turn(std::move(error_)); }

        Queue &queue_;  // busy, so alive, until end_turn
        Body body_;
        std::atomic<bool> failed_{false};
        std::exception_ptr error_;  // of the chunk that failed first; the others are run all the same
    };
    queue.share(std::make_shared<Turn>(queue, count, chunk, std::move(body)));
    return false;
}

// Each file of the backend enters its functions into the table.
void enter_devices(ep_backend &table);
void enter_contexts(ep_backend &table);
void enter_queues(ep_backend &table);
void enter_events(ep_backend &table);
void enter_memory(ep_backend &table);
void enter_programs(ep_backend &table);
void enter_peer(ep_backend &table);
void enter_ipc(ep_backend &table);

}  // namespace entrepot::backends::host
