// The version tag of a type, which CPython's own caches compare to detect changes of the type.
#pragma once
#include <Python.h>

#include <atomic>

namespace entrepot::python {

// Returns 0 if the type has no version. A version is never reused, for this or another type.
// Atomic, because another thread may be changing the type.
inline unsigned version_of(PyTypeObject *type) noexcept {
#if PY_VERSION_HEX < 0x030C0000
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG))  // after a change the old tag stays
        return 0;
#endif
    return std::atomic_ref(type->tp_version_tag).load(std::memory_order_relaxed);
}

}  // namespace entrepot::python
