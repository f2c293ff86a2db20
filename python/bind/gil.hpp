// The GIL: given up for as long as a scope lasts, around everything that waits for a device or moves many bytes; and the
// state that it guards.
#pragma once
#include <Python.h>

// Of state that the GIL guards: where there is none, each thread has its own.
#ifdef Py_GIL_DISABLED
#define ENTREPOT_GIL_GUARDED thread_local
#else
#define ENTREPOT_GIL_GUARDED
#endif

namespace entrepot::python {

class ReleaseGil {
public:
    ReleaseGil() noexcept : state_(PyEval_SaveThread()) {}
    ~ReleaseGil() { PyEval_RestoreThread(state_); }
    ReleaseGil(const ReleaseGil &) = delete;
    ReleaseGil &operator=(const ReleaseGil &) = delete;

private:
    PyThreadState *state_;
};

template <class Body> auto without_gil(Body &&body) {
    const ReleaseGil released;
    return body();
}

}  // namespace entrepot::python
