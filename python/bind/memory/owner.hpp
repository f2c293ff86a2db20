// Owners that are Python objects.
//
// Overview
//   An Owner of keep() holds one reference to an object. kept_object() returns that object.
//
// Lock order
//   The thread that releases holds no mutex, because the release may run Python code. Without the
//   GIL the release is queued and never acquires it (support/release.hpp).
//
// Lifetime
//   The reference is dropped by release_with_gil (support/release.hpp), which says what happens
//   while the interpreter ends. The object's destructor may release more memory.
#pragma once
#include "../support/release.hpp"

#include <entrepot/memory/memory.hpp>

#include <utility>

namespace entrepot::python {

// Returns: a borrowed reference to the object that `keep` refers to, or whose buffer is held;
//          nullptr for another kind of owner.
PyObject *kept_object(Owner::Release release, void *handle) noexcept;
inline PyObject *kept_object(const Owner &owner) noexcept {
    return kept_object(owner.release_function(), owner.handle());
}

// Returns: a borrowed reference to the object that owns borrowed memory, also if the memory is
//          pinned; nullptr without one. Not for the garbage collector: another memory may
//          share the reference.
PyObject *owner_of(const Memory &memory) noexcept;

// Returns: an owner that holds a new reference to `object`.
// GIL: must be held here. The release is callable on any thread.
inline Owner keep(PyObject *object) noexcept {
    return Owner(Py_NewRef(object), release_with_gil<decref>);
}

// Releases any owner. Saves the question for the GIL if it is one of keep().
// Requires: this thread holds the GIL and no mutex.
inline void release_here(Owner &&owner) noexcept {
    if (owner.release_function() == release_with_gil<decref>) [[likely]]
        return release_holding_gil<decref>(owner.detach());
    const Owner released = std::move(owner);
}

}  // namespace entrepot::python
