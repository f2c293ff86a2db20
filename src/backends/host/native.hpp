// The objects behind the host backend's handles: queues, events, and their work.
#pragma once
#include "backends/boundary.hpp"
#include "backends/hash.hpp"
#include "backends/host/executor.hpp"
#include "backends/life_file.hpp"
#include <entrepot/core/counted.hpp>

#include "core/renewed_mutex.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace entrepot::backends::host {

ENTREPOT_HANDLE(Queue, ep_queue)
ENTREPOT_HANDLE(Event, ep_event)
ENTREPOT_HANDLE(Program, ep_program)
ENTREPOT_HANDLE(Kernel, ep_kernel)
ENTREPOT_HANDLE(Graph, ep_graph)

// Limits not set by the processor. They match OpenCL CPU devices, so that kernels that fit there
// also fit here.
inline constexpr std::uint64_t max_work_group = 8192;
inline constexpr std::uint64_t max_local_memory = std::uint64_t{256} << 10;

// Work of a queue.
class Work {
public:
    virtual ~Work() = default;
    // Returns true if the work is done. Returns false if it continues elsewhere and calls
    // queue.end_work() later. If it throws, it has done nothing.
    virtual bool run(Queue &queue) = 0;
};

// Work that may run many times: a node of a graph.
class Step {
public:
    virtual ~Step() = default;
    // True if this thread finishes the work sooner than it wakes another one.
    virtual bool is_quick() const noexcept = 0;
    virtual void run() const = 0;  // on this thread
    // Makes the running work of `queue` this one, on several threads. Returns the result of
    // Work::run.
    virtual bool spread_over(Queue &queue) const = 0;
};

// A step that is submitted once.
template <class S> class Once final : public Work {
public:
    explicit Once(S step) : step_(std::move(step)) {}

    bool run(Queue &queue) override {
        if (!step_.is_quick())
            return step_.spread_over(queue);
        step_.run();
        return true;
    }

private:
    S step_;
};

// The steps of nodes; nullptr if the node has no work. `programs.cpp` makes those of launches,
// `memory.cpp` all others.
using StepPtr = std::shared_ptr<const Step>;
StepPtr launch_step(const ep_node &node);
StepPtr memory_step(const ep_node &node);

// The one device and its one context.
ep_device the_device() noexcept;
ep_context the_context() noexcept;

// Refuse handles of other backends: there is one device and one context.
void check_device(ep_device device);
void check_context(ep_context context);

// Bytes of physical memory and swap, which limit an allocation.
std::uint64_t total_memory() noexcept;

// A queue is busy from the first submission that it cannot finish at once until it is empty. While
// busy it holds a reference to itself. Its work runs one after the other.
class Queue final : public Counted<Queue>, Deferred {
public:
    explicit Queue(std::uint32_t granted);
    ~Queue();

    const std::uint32_t flags;

    // Hold all queues' locks across fork(), so that none is left locked in the child.
    static void take_locks() noexcept;
    static void release_locks() noexcept;

    // Runs `work` now if the queue is empty, else appends it.
    template <class W> void submit(W work) {
        if (begins([&] { return std::make_unique<W>(std::move(work)); }))
            run_first(work);
    }
    // Ends the running work, which continued elsewhere, perhaps with an error. The executor runs
    // the following work. This thread does so only if there is no executor thread, or no memory to
    // notify it: see Deferred.
    void end_work(std::exception_ptr error = nullptr) noexcept;
    // Like end_work(), at the end of a loop. A thread of the executor runs the following work
    // itself, since notifying another one takes longer.
    void end_loop(std::exception_ptr error) noexcept;
    // Shares the loop of the running work with the executor's threads and with threads that wait
    // for the queue.
    void share(std::shared_ptr<Loop> loop);
    // Makes `rest` part of the running work: it runs when end_work() is called for the part before
    // it, and the work ends with it.
    void continue_with(std::unique_ptr<Work> rest);
    // Reports an error of the running work, which goes on.
    void keep_error(std::exception_ptr error) noexcept;

    void wait();
    void help();  // takes part in the loop of the running work, if any
    bool is_idle();

private:
    // True if new work may run now; else it has been appended.
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
    void run_first(Work &work);
    void run_waiting() noexcept;
    bool leave_work(std::exception_ptr error) noexcept;
    void count_ended() noexcept;
    void run_deferred() noexcept override { run_waiting(); }
    void refuse_if_orphaned() const;

    std::mutex lock_;  // guards what follows
    std::condition_variable progress_;
    std::deque<std::unique_ptr<Work>> waiting_;
    std::shared_ptr<Loop> loop_;
    std::uint64_t submitted_ = 0, ended_ = 0;
    // Least value of ended_ for which a thread in wait() has to be notified. Invariant: it is
    // greater than ended_, so none is forgotten.
    std::uint64_t awaited_ = UINT64_MAX;
    bool continues_ = false;    // the first of waiting_ is the rest of the running work
    std::exception_ptr error_;  // first error, until a wait reports it
    unsigned generation_ = 0;
    bool busy_ = false;
};

class Event;

// The words of another process, or of this one, which it sets when its events are done. Read-only.
// See ipc_events.cpp.
//
// Thread safety: thread-safe.
class SharedWords : public std::enable_shared_from_this<SharedWords> {
public:
    // Maps the file of the event.
    explicit SharedWords(const ep_ipc_event &event);
    ~SharedWords();
    SharedWords(const SharedWords &) = delete;
    SharedWords &operator=(const SharedWords &) = delete;

    const unsigned generation;  // of forks; another one has no thread here
    const ProcessLife process;

    std::size_t size() const noexcept { return process.bytes() / sizeof(std::uint32_t); }
    // True if the event of that number in the word, or a later one, is done.
    bool has_come(std::uint32_t word, std::uint32_t number) const noexcept {
        const std::uint32_t last = words_[word].load(std::memory_order_acquire);
        return static_cast<std::int32_t>(last - number) >= 0;
    }
    // Refuses if the process ends before.
    void wait_for(std::uint32_t word, std::uint32_t number) const;
    // Completes the event, or lets it fail, on a thread of this object.
    void watch(Event &event);

private:
    void serve() noexcept;

    const std::atomic<std::uint32_t> *words_;
    std::mutex lock_;
    std::list<IntrusivePtr<Event>> watched_;  // guarded by lock_
    bool has_thread_ = false;                 // guarded by lock_
};

// Done when the queue reaches the point where it was recorded. Or an event that another process
// records.
class Event : public Counted<Event> {
public:
    explicit Event(Queue &queue);
    Event(std::shared_ptr<SharedWords> words, std::uint32_t word, std::uint32_t number);

    const bool timed;

    void complete() noexcept;
    // The process that records it has ended.
    void fail() noexcept;
    bool is_done() const noexcept {
        return done_.load(std::memory_order_acquire) ||
               (words_ != nullptr && words_->has_come(word_, number_));
    }
    // Refuses an event that is not done, and whose process has ended.
    void refuse_if_ended() const;
    void wait();
    // Refuses an event that was pending when the process forked. Call before locking: its lock may
    // be left locked.
    void refuse_if_orphaned() const;
    // False if the event is done; else the running work of `queue` ends when it is. Refuses as
    // refuse_if_ended() does.
    bool defer_completion_of(Queue &queue);
    // Time of a steady clock; valid if timed and done.
    double seconds() const noexcept { return seconds_; }

private:
    std::mutex lock_;
    std::condition_variable completed_;
    Queue *const queue_;  // alive until the event is done: a busy queue keeps itself.
                          // nullptr: an event of other processes
    const std::shared_ptr<SharedWords> words_;  // of such an event
    const std::uint32_t word_ = 0, number_ = 0;
    bool has_failed_ = false;       // guarded by lock_
    std::vector<Queue *> waiting_;  // guarded by lock_
    const unsigned generation_;
    double seconds_ = 0;              // written before done_, and read after it
    std::atomic<bool> done_ = false;  // written with lock_
};

// Makes the running work of `queue` a loop that calls body(first, last) for chunks of [0, count),
// on several threads. Returns the result of Work::run.
template <class Body>
bool spread(Queue &queue, std::uint64_t count, std::uint64_t chunk, Body body) {
    class SharedLoop final : public Loop {
    public:
        SharedLoop(Queue &queue, std::uint64_t count, std::uint64_t chunk, Body body)
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
        void finished() noexcept override { queue_.end_loop(std::move(error_)); }

        Queue &queue_;  // busy, so alive, until end_work
        Body body_;
        std::atomic<bool> failed_{false};
        std::exception_ptr error_;  // of the first chunk that failed; the others still run
    };
    queue.share(std::make_shared<SharedLoop>(queue, count, chunk, std::move(body)));
    return false;
}

// Each file of the backend enters its functions into the table.
void fill_device_functions(ep_backend &table);
void fill_context_functions(ep_backend &table);
void fill_queue_functions(ep_backend &table);
void fill_event_functions(ep_backend &table);
void fill_memory_functions(ep_backend &table);
void fill_program_functions(ep_backend &table);
void fill_peer_functions(ep_backend &table);
void fill_ipc_functions(ep_backend &table);
void fill_ipc_event_functions(ep_backend &table);
void fill_graph_functions(ep_backend &table);

}  // namespace entrepot::backends::host
