// The version of a class, by which CPython's own caches know whether what they found in it is still so.
#pragma once
#include <Python.h>

#include <atomic>

namespace entrepot::python {

// 0 where it has none; no two that a class has are the same, and no two classes have the same. Another thread may be changing the
// class.
inline unsigned version_of(PyTypeObject *type) noexcept {
#if PY_VERSION_HEX < 0x030C0000
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG))  // the number of a class that was changed stays there
        return 0;
#endif
    return std::atomic_ref(type->tp_version_tag).load(std::memory_order_relaxed);
}

}  // namespace entrepot::python
