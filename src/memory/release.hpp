// Deferred release: memory with pending accesses is released by a later call into Entrepot.
//
// Overview
//   A release is polled and not notified, because a driver's callback may call neither the driver
//   nor Python. Every allocation, import and release polls the owners of borrowed memory.
//   A resource polls its own blocks when it allocates; `direct` and `shareable` also when a block
//   returns. A pool does so for large blocks,
//   when the thread's magazine has no block of the size, and after every few deferrals.
//   release_finished() polls everything.
//
// Lock order
//   The caller holds no mutex: a release runs foreign code. Lists are locked by leaf mutexes, and
//   never while a device is asked or something is released.
//
// Lifetime
//   may_call() is false for devices in a marked child of fork() (fork_guard.hpp) and after
//   leak_from_now_on(). The Python module calls it when the interpreter ends
//   (python/bind/memory/resource.cpp). In a program that embeds Python this is final. From then on
//   memory of devices leaks, and so do its owners. Memory of the host is released as before.
#pragma once
#include <entrepot/device/backend.hpp>
#include <entrepot/memory/memory.hpp>

#include <atomic>
#include <cstddef>

#pragma GCC visibility push(default)
namespace entrepot {

// Releases owners and blocks whose pending work is done by now. Never waits for work of a device.
// Worth a call after waiting for a queue.
void release_finished() noexcept;

// Releases owners alone, at every allocation, import and release.
void release_owners_of_finished_work() noexcept;
// atomic; nearly always 0, and then nothing is called
extern std::atomic<std::size_t> owners_waiting;
inline void release_finished_owners() noexcept {
    if (owners_waiting.load(std::memory_order_relaxed) != 0) [[unlikely]]
        release_owners_of_finished_work();
}

// Releases the owner in a later call into Entrepot, for threads that may neither block nor release
// it now.
void release_later(Owner owner) noexcept;

// For Queue::keep: calls release(handle) as release_later does.
template <void (*release)(void *handle)> void release_in_later_call(void *handle) noexcept {
    release_later({handle, release});
}

// Releases everything that is deferred now. Memory of failed work is kept.
// Blocks: until that work is done.
void wait_and_release() noexcept;

// At process exit: from now on no memory of devices is released, and no runtime but the host's is
// polled for a release. The system reclaims all memory.
extern std::atomic<bool> process_ends;
inline void leak_from_now_on() noexcept { process_ends.store(true, std::memory_order_relaxed); }

// True if runtimes of devices may be called for a release: neither in a marked child of fork()
// (fork_guard::is_usable) nor at exit.
inline bool may_call_devices() noexcept {
    return !(process_ends.load(std::memory_order_relaxed) || fork_guard::is_child());
}
// True if the runtime of the backend may be. The host's may always be called.
inline bool may_call(const Backend &backend) noexcept {
    return backend.is_host() || may_call_devices();
}

// The producer's queue is dropped unused: the release does not wait for the producer.
[[gnu::always_inline]] inline Memory::Record::Contents Memory::Record::take_contents() noexcept {
    ENTREPOT_ASSERT(!resource && count() <= 1);
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    pending_queue.store(0, std::memory_order_relaxed);
    Contents contents{std::move(prior_queue), std::move(owner_queue), std::move(context),
                      std::move(owner)};
    if (!may_call(contents.context.backend())) [[unlikely]]
        contents.owner.detach();
    return contents;
}

}  // namespace entrepot
#pragma GCC visibility pop
