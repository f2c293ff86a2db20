// What is let go late: memory whose uses are still running waits, and is released at a later entry of ours.
#pragma once
#include <entrepot/device/backend.hpp>
#include <entrepot/memory/memory.hpp>

#include <atomic>
#include <cstddef>

namespace entrepot {

// Releases what has waited for work that is done by now: owners of borrowed memory, blocks of every resource. Never blocks.
// Allocating and letting go do it by themselves; whoever has waited for a queue does well to call it.
void release_finished() noexcept;

// The owners alone, at every entry that borrows or lets go.
void release_owners_of_finished_work() noexcept;
inline std::atomic<std::size_t> owners_waiting{0};  // nearly always 0: then nothing is called
inline void release_finished_owners() noexcept {
    if (owners_waiting.load(std::memory_order_relaxed) != 0) [[unlikely]]
        release_owners_of_finished_work();
}

// Releases the owner at a later entry of ours: from threads that may do nothing but note it.
void release_later(Owner owner) noexcept;

// For Queue::keep, of what release(handle) lets go.
template <void (*release)(void *handle)> void let_go_later(void *handle) noexcept { release_later({handle, release}); }

// Blocks until everything that waits now is released. What failed work holds stays.
void wait_and_release() noexcept;

// The process ends: from now on nothing is asked of, or given back to, any runtime but the host's; the system takes it all.
inline std::atomic<bool> process_ends{false};
inline void leak_from_now_on() noexcept { process_ends.store(true, std::memory_order_relaxed); }

// Whether the backend's runtime may be called: the host's always, others neither in a forked child nor once the process ends.
inline bool may_call(const Backend &backend) noexcept {
    return backend.is_host() || !(process_ends.load(std::memory_order_relaxed) || fork_guard::is_child());
}

}  // namespace entrepot
