// Owners that are Python objects, and the list of those that were let go on threads without the GIL.
#include "owner.hpp"

#include "errors.hpp"
#include "exchange/held_buffer.hpp"
#include "gil.hpp"

#include <atomic>

namespace entrepot::python {
namespace {

struct Released {
    void *handle;
    void (*release)(void *);
    Released *next;
};

// How many releases run inside one another: beyond the deepest, the rest waits for the first to return.
ENTREPOT_GIL_GUARDED unsigned depth = 0;
constexpr unsigned deepest = 50;  // as in CPython's own containers

// Around foreign code that is run as in a destructor.
class Release {
public:
    Release() noexcept { ++depth; }
    ~Release() { --depth; }
    Release(const Release &) = delete;
    Release &operator=(const Release &) = delete;

private:
    const SetErrorAside aside_;
};

// Pushed by any thread, taken whole by the thread that holds the GIL.
std::atomic<Released *> released_list{nullptr};

int drain_pending_call(void *) {
    drain_released();
    return 0;
}

void enqueue(void *handle, void (*release)(void *)) noexcept {
    Released *others = released_list.load(std::memory_order_relaxed);
    auto *entry = new (std::nothrow) Released{handle, release, others};
    if (!entry)
        return;  // out of memory: leaked, as at the end of the interpreter
    while (!released_list.compare_exchange_weak(others, entry, std::memory_order_release, std::memory_order_relaxed))
        entry->next = others;
    // From here on the entry belongs to whoever drains. One call drains all; where the interpreter's list of pending calls is
    // full, our next entry does it.
    if (!others)
        Py_AddPendingCall(drain_pending_call, nullptr);
}

void decref(void *object) { Py_DECREF(static_cast<PyObject *>(object)); }

void release_object(void *object) { release_with_gil(object, decref); }

}  // namespace

Owner keep(PyObject *object) { return Owner(Py_NewRef(object), release_object); }

PyObject *kept_object(const Owner &owner) noexcept {
    if (owner.release_function() == release_object)
        return static_cast<PyObject *>(owner.handle());
    const Py_buffer *const view = held_view(owner);
    return view ? view->obj : nullptr;
}

void release_with_gil(void *handle, void (*release)(void *)) noexcept {
    if (!Py_IsInitialized() || is_finalizing())
        return;
    if (!PyGILState_Check() || depth >= deepest) [[unlikely]]
        return enqueue(handle, release);
    {
        const Release inside;
        release(handle);
    }
    if (depth == 0)
        drain_released();
}

void drain_released() noexcept {
    if (!released_list.load(std::memory_order_relaxed)) [[likely]]
        return;
    const Release inside;
    while (Released *entry = released_list.exchange(nullptr, std::memory_order_acquire))
        while (entry) {
            Released *const next = entry->next;
            entry->release(entry->handle);
            delete entry;
            entry = next;
        }
}

}  // namespace entrepot::python
