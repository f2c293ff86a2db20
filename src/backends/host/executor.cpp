// The executor: one list of loops, oldest first. Its threads take part in the first loop that wants
// more threads.
#include "backends/host/executor.hpp"
#include "backends/host/threads.hpp"
#include <entrepot/core/assert.hpp>
#include <entrepot/core/publish.hpp>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace entrepot::backends::host {

namespace {

// Processors that the process may use, as it starts.
struct Processors {
    unsigned count = 0;
    std::array<std::uint16_t, CPU_SETSIZE> number_of{};  // by the system's number
};

const Processors &usable_processors() noexcept {
    static const Processors found = [] {
        Processors made;
        cpu_set_t usable;  // holds CPU_SETSIZE processors; the call fails if there are more
        if (sched_getaffinity(0, sizeof usable, &usable) != 0) {
            made.count = std::max(std::thread::hardware_concurrency(), 1u);
            return made;
        }
        for (std::size_t i = 0; i < CPU_SETSIZE; ++i)
            if (CPU_ISSET(i, &usable))
                made.number_of[i] = static_cast<std::uint16_t>(made.count++);
        made.count = std::max(made.count, 1u);
        return made;
    }();
    return found;
}

// Number of this thread's processor among those of the process, below processors(); 0 if unknown.
unsigned processor_number() noexcept {
    const int found = sched_getcpu();
    return found >= 0 && found < CPU_SETSIZE
               ? usable_processors().number_of[static_cast<std::size_t>(found)]
               : 0;
}

}  // namespace

void Deferred::run_here(Deferred &what) noexcept {
    static thread_local struct {
        Deferred *first = nullptr, *last = nullptr;
        bool is_running = false;
    } list;
    what.next_ = nullptr;
    (list.first ? list.last->next_ : list.first) = &what;
    list.last = &what;
    if (list.is_running)
        return;
    list.is_running = true;
    while (Deferred *const next = list.first) {
        list.first = next->next_;
        next->run_deferred();
    }
    list.is_running = false;
}

void Loop::run_here(std::shared_ptr<Loop> loop) noexcept {
    Loop &given = *loop;
    given.self_ = std::move(loop);
    Deferred::run_here(given);
}

void Loop::run_deferred() noexcept {
    const std::shared_ptr<Loop> self = std::move(self_);
    take_part();
}

Loop::Loop(std::uint64_t count, std::uint64_t chunk)
    : count_(count), chunk_(chunk),
      parts_(std::min<std::uint64_t>((count - 1) / chunk + 1, thread_limit())), unfinished_(count) {
    const std::uint64_t each = chunks() / parts_.size(), longer = chunks() % parts_.size();
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        parts_[i].next.store(first, std::memory_order_relaxed);
        parts_[i].end = first += each + (i < longer);
    }
    ENTREPOT_ASSERT(first == chunks());
}

bool Loop::wants_threads() const noexcept {
    return begun_.load(std::memory_order_relaxed) < chunks() &&
           threads_.load(std::memory_order_relaxed) < thread_limit();
}

void Loop::take_part() noexcept {
    if (threads_.fetch_add(1, std::memory_order_relaxed) >= thread_limit())
        return;
    const std::size_t first = first_part();
    run_part(parts_[first], 0);
    for (std::size_t i = 1; i < parts_.size(); ++i) {
        Part &other = parts_[(first + i) % parts_.size()];
        // Its thread will finish the part. The last chunks are faster in its caches, and in the
        // next loop they are still there. Without this, a stencil takes a tenth longer.
        const bool has_thread = other.has_thread.load(std::memory_order_relaxed);
        run_part(other, has_thread ? chunks() / parts_.size() / 8 : 0);
    }
}

// The part of this processor, or the next one that no thread has begun with.
std::size_t Loop::first_part() noexcept {
    const std::size_t count = parts_.size(),
                      own = std::uint64_t{processor_number()} * count / processors();
    for (std::size_t i = 0; i < count; ++i)
        if (!parts_[(own + i) % count].has_thread.exchange(true, std::memory_order_relaxed))
            return (own + i) % count;
    return own;
}

// Leaves the last `left` chunks of the part to another thread.
void Loop::run_part(Part &part, std::uint64_t left) noexcept {
    // Reads first, so that threads that look for work do not write to finished parts.
    while (part.next.load(std::memory_order_relaxed) + left < part.end) {
        const std::uint64_t chunk = part.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= part.end)
            return;
        begun_.fetch_add(1, std::memory_order_relaxed);
        const std::uint64_t first = chunk * chunk_, last = std::min(first + chunk_, count_);
        run(first, last);
        // Makes this chunk's writes, and those of all other chunks, visible to the code after the
        // loop.
        if (unfinished_.fetch_sub(last - first, std::memory_order_acq_rel) == last - first)
            finished();
    }
}

namespace {

thread_local bool belongs_to_executor = false;

// Never destroyed: at process exit its threads may be running, and joining them could hang.
class Executor {
public:
    // False if there is no thread. Throws std::bad_alloc without any effect.
    bool start(const std::shared_ptr<Loop> &loop) {
        const auto wanted =
            static_cast<unsigned>(std::min<std::uint64_t>(loop->chunks(), thread_limit()));
        std::unique_lock hold(lock_);
        while (parked_ < wanted && threads_ < processors() && add_thread())
            ;
        if (threads_ == 0)
            return false;
        loops_.push_back(loop);
        started_.fetch_add(1, std::memory_order_relaxed);
        wanted_ = wanted;
        const unsigned asleep = wanted - std::min(wanted, awake_);
        hold.unlock();
        for (unsigned i = 0; i < asleep; ++i)
            work_.notify_one();
        return true;
    }

private:
    bool add_thread() {
        const bool added = start_thread([this] { work(); });
        threads_ += added;
        parked_ += added;  // new threads read the list before they sleep
        return added;
    }

    [[noreturn]] void work() {
        pthread_setname_np(pthread_self(), "entrepot-host");
        belongs_to_executor = true;
        std::unique_lock hold(lock_);
        while (true) {
            while (!loops_.empty() && !loops_.front()->wants_threads())
                loops_.pop_front();
            if (loops_.empty()) {
                const std::uint64_t seen = started_.load(std::memory_order_relaxed);
                if (awake_ < wanted_) {  // as many as the last loop wanted
                    ++awake_;
                    hold.unlock();
                    wait_briefly(seen);
                    hold.lock();
                    --awake_;
                }
                if (started_.load(std::memory_order_relaxed) == seen)
                    work_.wait(hold);
                continue;
            }
            std::shared_ptr<Loop> loop = loops_.front();
            --parked_;
            hold.unlock();
            loop->take_part();
            loop.reset();
            hold.lock();
            ++parked_;
        }
    }

    // Waits for the next loop without sleeping, for about the time that it takes to wake a thread.
    // Consecutive launches would otherwise wake a thread each.
    void wait_briefly(std::uint64_t seen) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
        while (started_.load(std::memory_order_relaxed) == seen &&
               std::chrono::steady_clock::now() < end)
            std::this_thread::yield();
    }

    // Number of loops so far. It changes under lock_: a thread that finds it unchanged there, and
    // sleeps, is woken by the next loop. Without lock_ it is a hint.
    std::atomic<std::uint64_t> started_{0};
    std::mutex lock_;  // guards what follows
    std::condition_variable work_;
    std::deque<std::shared_ptr<Loop>> loops_;
    unsigned threads_ = 0, parked_ = 0;
    // Threads in wait_briefly(), which look for a loop before they sleep, and how many may be
    // there.
    unsigned awake_ = 0, wanted_ = 0;
};

std::atomic<Executor *> current = nullptr;

// In a forked child the threads are gone and one may have held the lock, so the old executor is
// leaked.
void forget_threads() { current = nullptr; }

[[maybe_unused]] const int watching_threads = pthread_atfork(nullptr, nullptr, forget_threads);

Executor &executor() {
    if (Executor *const found = current.load(std::memory_order_acquire)) [[likely]]
        return *found;
    return publish(current, std::make_unique<Executor>());
}

}  // namespace

bool is_executor_thread() noexcept { return belongs_to_executor; }

void start(std::shared_ptr<Loop> loop) noexcept {
    try {
        if (executor().start(loop))
            return;
    } catch (const std::bad_alloc &) {
    }
    Loop::run_here(std::move(loop));
}

unsigned processors() noexcept { return usable_processors().count; }

namespace {

std::atomic<unsigned> limit{std::numeric_limits<unsigned>::max()};

}  // namespace

unsigned thread_limit() noexcept {
    return std::min(limit.load(std::memory_order_relaxed), processors());
}

void limit_threads(unsigned count) noexcept {
    ENTREPOT_ASSERT(count >= 1 && count <= processors());
    limit.store(count, std::memory_order_relaxed);
}

}  // namespace entrepot::backends::host
