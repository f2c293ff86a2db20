// Releases that need the GIL: on a thread without it they are queued, never done inside a driver's
// callback.
//
// Overview
//   The last reference to an object may be dropped on any thread. On a thread with the GIL it is
//   dropped at once. On another one, enqueue_release() queues it. A pending call of the interpreter
//   or the next call into Entrepot then drops it.
//
// Lock order
//   A release runs any Python code, so its thread holds no mutex. The list of queued releases is
//   lock-free: any thread pushes, and a thread with the GIL takes the whole list.
//
// Fast paths
//   drain_released() is one load if nothing is queued.
//
// Lifetime
//   At interpreter shutdown, what is queued leaks.
#pragma once
#include <Python.h>

#include "gil.hpp"

#include <atomic>

namespace entrepot::python {

struct QueuedRelease;
extern std::atomic<QueuedRelease *> released_list;
void drain_released_slow() noexcept;

// Runs the queued releases. Called by the import, export and allocation functions.
// Requires: this thread holds the GIL and no mutex.
inline void drain_released() noexcept {
    if (released_list.load(std::memory_order_relaxed)) [[unlikely]]
        drain_released_slow();
}

// Counts releases that run inside one another, as one object drops the next. Beyond a depth,
// further ones are queued and run when the outermost has returned.
class Release {
public:
    Release() noexcept { ++depth; }
    ~Release() {
        ENTREPOT_ASSERT(depth != 0);
        if (--depth == 0)
            drain_released();
    }
    Release(const Release &) = delete;
    Release &operator=(const Release &) = delete;

    static bool is_deepest() noexcept { return depth >= 50; }  // as in CPython's own containers

private:
    static inline ENTREPOT_GIL_GUARDED unsigned depth = 0;  // guarded by the GIL, or thread-local
};

// Queues a release. Callable on any thread, with or without the GIL.
void enqueue_release(void *handle, void (*release)(void *)) noexcept;

// The `release` of one reference.
inline void decref(void *object) { Py_DECREF(static_cast<PyObject *>(object)); }

// Releases now, or queues if too many releases are nested.
// Requires: this thread holds the GIL and no mutex.
template <auto release> void release_holding_gil(void *handle) noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    if (is_finalizing()) [[unlikely]]
        return;
    ENTREPOT_ASSERT(holds_gil());
    if (Release::is_deepest()) [[unlikely]]
        return enqueue_release(handle, release);
    const Release inside;
    release(handle);
}

// Runs `release(handle)` with the GIL held, at once or queued. Callable on any thread.
template <auto release> void release_with_gil(void *handle) noexcept {
    if (holds_gil()) [[likely]]
        return release_holding_gil<release>(handle);
    if (!is_finalizing() && Py_IsInitialized())
        enqueue_release(handle, release);
}

}  // namespace entrepot::python
