// Owners that are Python objects: kept by a reference, let go with the GIL held and never inside a driver's callback.
#pragma once
#include <Python.h>

#include "gil.hpp"

#include <entrepot/memory/memory.hpp>

#include <atomic>

namespace entrepot::python {

// The object that `keep` keeps, or whose buffer is held, borrowed; nullptr where the owner is something else. Where a handle is
// another's, as in an adapter, it is asked about with its release.
PyObject *kept_object(Owner::Release release, void *handle) noexcept;
inline PyObject *kept_object(const Owner &owner) noexcept { return kept_object(owner.release_function(), owner.handle()); }

// Drops what was queued. Called with the GIL held at the entry of the import, export and allocation functions: a load when there
// is nothing.
struct LetGo;
extern std::atomic<LetGo *> released_list;
void drop_released() noexcept;
inline void drain_released() noexcept {
    if (released_list.load(std::memory_order_relaxed)) [[unlikely]]
        drop_released();
}

// Releases that run inside one another, by one letting go of the next. Beyond the deepest, the rest waits for the first to
// return.
class Release {
public:
    Release() noexcept { ++depth; }
    ~Release() {
        if (--depth == 0)
            drain_released();
    }
    Release(const Release &) = delete;
    Release &operator=(const Release &) = delete;

    static bool is_deepest() noexcept { return depth >= 50; }  // as in CPython's own containers

private:
    static inline ENTREPOT_GIL_GUARDED unsigned depth = 0;
};

void enqueue_release(void *handle, void (*release)(void *)) noexcept;

// The `release` of one reference.
inline void decref(void *object) { Py_DECREF(static_cast<PyObject *>(object)); }

// On a thread that holds the GIL.
template <auto release> void release_holding_gil(void *handle) noexcept {
    if (is_finalizing()) [[unlikely]]
        return;
    if (Release::is_deepest()) [[unlikely]]
        return enqueue_release(handle, release);
    const Release inside;
    release(handle);
}

// For owners that are more than a reference (a held Py_buffer, a managed tensor): runs `release(handle)` with the GIL held,
// at once or queued as above.
template <auto release> void release_with_gil(void *handle) noexcept {
    if (holds_gil()) [[likely]]
        return release_holding_gil<release>(handle);
    if (!is_finalizing() && Py_IsInitialized())
        enqueue_release(handle, release);
}

// Keeps `object` alive. Released at once on a thread that holds the GIL, though no deeper inside one another than the stack
// bears; elsewhere it is queued, and dropped by a pending call or at our next entry, whichever comes first. When the interpreter
// is finalising, it is leaked.
inline Owner keep(PyObject *object) noexcept { return Owner(Py_NewRef(object), release_with_gil<decref>); }

// Lets go of any owner on a thread that holds the GIL, which need not be asked for what `keep` keeps.
inline void release_here(Owner &&owner) noexcept {
    if (owner.release_function() == release_with_gil<decref>) [[likely]]
        return release_holding_gil<decref>(owner.detach());
    const Owner released = std::move(owner);
}

}  // namespace entrepot::python
