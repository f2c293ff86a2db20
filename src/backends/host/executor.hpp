// The executor: threads that share the host's parallel loops.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace entrepot::backends::host {

// Work that the calling thread runs if no other thread is available or memory is short.
class Deferred {
public:
    // Runs `what` on this thread: now, or after the Deferred that is already running here, so
    // chains do not use the stack. Allocates nothing.
    static void run_here(Deferred &what) noexcept;

protected:
    ~Deferred() = default;

private:
    virtual void run_deferred() noexcept = 0;  // may destroy the object

    Deferred *next_ = nullptr;
};

// A loop over [0, count), count > 0, in chunks that any thread may take. No thread waits for it:
// the last thread to finish a chunk finishes the loop.
//
// The chunks are divided into one part for each thread. A processor begins with the same part in
// each loop of the same size, since its caches may have it. After its own part, a thread takes
// chunks of the others.
class Loop : Deferred {
public:
    Loop(std::uint64_t count, std::uint64_t chunk);
    virtual ~Loop() = default;
    Loop(const Loop &) = delete;
    Loop &operator=(const Loop &) = delete;

    // Runs chunks until none is left to begin. A no-op if as many threads as it may use already do.
    // One more would preempt another within its chunk, which all would then wait for.
    void take_part() noexcept;
    // True if another thread could take part. Once false, it stays false.
    bool wants_threads() const noexcept;
    std::uint64_t chunks() const noexcept { return (count_ - 1) / chunk_ + 1; }
    static void run_here(std::shared_ptr<Loop> loop) noexcept;

private:
    void run_deferred() noexcept override;
    virtual void run(std::uint64_t first, std::uint64_t last) noexcept = 0;
    virtual void finished() noexcept = 0;

    // Consecutive chunks, on a cache line of their own.
    //
    // Invariant: a chunk belongs to one part, and `next` passes it once, so one thread runs it.
    struct alignas(64) Part {
        std::atomic<std::uint64_t> next{0};  // the first chunk that has not begun
        std::uint64_t end = 0;
        std::atomic<bool> has_thread{false};  // a thread began with this part
    };

    std::size_t first_part() noexcept;
    void run_part(Part &part, std::uint64_t left) noexcept;

    const std::uint64_t count_, chunk_;
    std::vector<Part> parts_;
    std::atomic<std::uint64_t> begun_{0};  // chunks
    std::atomic<unsigned> threads_{0};     // that take part, until no chunk is left
    std::atomic<std::uint64_t> unfinished_;
    std::shared_ptr<Loop> self_;  // while deferred
};

// Submits the loop to the threads, which are started on demand and parked when idle. If no thread
// can be started or memory is short, the caller runs the loop: see Deferred.
void start(std::shared_ptr<Loop> loop) noexcept;

// True on the executor's own threads.
bool is_executor_thread() noexcept;

// Processors that this process may use; the executor has at most as many threads.
unsigned processors() noexcept;

// Threads that one loop may use, 1 to processors().
unsigned thread_limit() noexcept;
void limit_threads(unsigned count) noexcept;

}  // namespace entrepot::backends::host
