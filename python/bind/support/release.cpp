// The list of releases that were queued on threads without the GIL.
#include "release.hpp"

#include <new>

namespace entrepot::python {

struct QueuedRelease {
    void *handle;
    void (*release)(void *);
    QueuedRelease *next;
};

// Any thread pushes. A thread that holds the GIL takes the whole list.
std::atomic<QueuedRelease *> released_list{nullptr};

namespace {

int drain_pending_call(void *) {
    drain_released();
    return 0;
}

}  // namespace

void enqueue_release(void *handle, void (*release)(void *)) noexcept {
    QueuedRelease *others = released_list.load(std::memory_order_relaxed);
    auto *entry = new (std::nothrow) QueuedRelease{handle, release, others};
    if (!entry)
        return;  // out of memory: leaked, as at interpreter shutdown
    while (!released_list.compare_exchange_weak(others, entry, std::memory_order_release,
                                                std::memory_order_relaxed))
        entry->next = others;
    // From here on the entry belongs to the thread that drains. One pending call drains the whole
    // list. If the interpreter's queue of pending calls is full, the next call into Entrepot drains
    // it.
    if (!others)
        Py_AddPendingCall(drain_pending_call, nullptr);
}

void drain_released_slow() noexcept {
    ENTREPOT_ASSERT(holds_gil());
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // a release runs any Python code
    const Release inside;
    while (QueuedRelease *entry = released_list.exchange(nullptr, std::memory_order_acquire))
        while (entry) {
            QueuedRelease *const next = entry->next;
            entry->release(entry->handle);
            delete entry;
            entry = next;
        }
}

}  // namespace entrepot::python
