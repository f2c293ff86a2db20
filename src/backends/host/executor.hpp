// The executor: the threads that share the host's parallel loops.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace entrepot::backends::host {

// Work that the calling thread runs if no other thread is available or memory is short.
class Deferred {
public:
    // Runs it on this thread: now, or when what this thread runs so already returns. So a chain of
    // any length takes no stack. Allocates nothing.
    static void run_here(Deferred &what) noexcept;

protected:
    ~Deferred() = default;

private:
    virtual void run_deferred() noexcept = 0;  // may end the object

    Deferred *next_ = nullptr;
};

// A loop over [0, count), count > 0, in chunks that any thread may take. It ends on whichever thread finishes the last chunk,
// so that nobody has to wait for it.
class Loop : Deferred {
public:
    Loop(std::uint64_t count, std::uint64_t chunk) : count_(count), chunk_(chunk), unfinished_(count) {}
    virtual ~Loop() = default;
    Loop(const Loop &) = delete;
    Loop &operator=(const Loop &) = delete;

    // Runs chunks until none is left to begin. Where as many threads as there are processors do so already, nothing: one more
    // would take the place of another in the midst of its chunk, and all would wait for that one in the end.
    void take_part() noexcept;
    // Whether who takes part now would have something to do. Never again, once it is not so.
    bool wants_threads() const noexcept;
    std::uint64_t chunks() const noexcept { return (count_ - 1) / chunk_ + 1; }
    static void run_here(std::shared_ptr<Loop> loop) noexcept;

private:
    void run_deferred() noexcept override;
    virtual void run(std::uint64_t first, std::uint64_t last) noexcept = 0;
    virtual void finished() noexcept = 0;

    const std::uint64_t count_, chunk_;
    std::atomic<std::uint64_t> next_{0};
    std::atomic<unsigned> threads_{0};  // that have taken part; they stay until no chunk is left
    std::atomic<std::uint64_t> unfinished_;
    std::shared_ptr<Loop> self_;  // while it waits to be run here
};

// Hands the loop to the threads, which are started when they are first needed and parked when there
// is nothing to do. Where no thread can be started at all, or there is no memory for the list, the
// caller runs the loop: see Deferred.
void start(std::shared_ptr<Loop> loop) noexcept;

// Processors that this process may use; the executor has as many threads.
unsigned processors() noexcept;

}  // namespace entrepot::backends::host
