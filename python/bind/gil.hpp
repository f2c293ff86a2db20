// The GIL: given up for as long as a scope lasts, around everything that waits for a device or moves many bytes; and the
// state that it guards.
#pragma once
#include <Python.h>

#include <unistd.h>

#include <exception>
#include <mutex>

// Of state that the GIL guards: where there is none, each thread has its own.
#ifdef Py_GIL_DISABLED
#define ENTREPOT_GIL_GUARDED thread_local
#else
#define ENTREPOT_GIL_GUARDED
#endif

namespace entrepot::python {

// The lock of state that the GIL guards and all threads share: none where there is a GIL.
#ifdef Py_GIL_DISABLED
using GilMutex = std::mutex;
#else
struct GilMutex {
    void lock() noexcept {}
    void unlock() noexcept {}
};
#endif

// Before 3.14, CPython ends a thread that asks for the GIL after the interpreter's end: it unwinds the stack, and the process
// dies at the first C++ function that lets nothing through. Such a thread rests instead, as in CPython itself from 3.14 on.
[[noreturn]] inline void rest_for_ever() noexcept {
    for (;;)
        pause();
}

inline bool is_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

// Whether this thread may let go of objects. One that is unwound as above has no GIL: what it holds leaks, like everything at the
// interpreter's end. (PyGILState_Check() says yes to it, once the interpreter has let go of its threads.)
inline bool may_let_go() noexcept {
#if PY_VERSION_HEX < 0x030D0000
    if (is_finalizing()) [[unlikely]]
        return _PyThreadState_UncheckedGet() && _PyThreadState_UncheckedGet() == PyGILState_GetThisThreadState();
#elif PY_VERSION_HEX < 0x030E0000
    if (is_finalizing()) [[unlikely]]
        return PyThreadState_GetUnchecked() != nullptr;
#endif
    return true;
}

// Around calls that may take the GIL, or run Python code, where no C++ function above may be unwound.
class RestAfterTheEnd {
public:
    RestAfterTheEnd() noexcept = default;
    ~RestAfterTheEnd() {
        if (!came_back_ && std::uncaught_exceptions() == exceptions_)  // then it is no exception that unwinds
            rest_for_ever();
    }
    RestAfterTheEnd(const RestAfterTheEnd &) = delete;
    RestAfterTheEnd &operator=(const RestAfterTheEnd &) = delete;
    void came_back() noexcept { came_back_ = true; }

private:
    bool came_back_ = false;
    int exceptions_ = std::uncaught_exceptions();
};

class ReleaseGil {
public:
    ReleaseGil() noexcept : state_(PyEval_SaveThread()) {}
    ~ReleaseGil() noexcept(false) {
        RestAfterTheEnd rest;
        PyEval_RestoreThread(state_);
        rest.came_back();
    }
    ReleaseGil(const ReleaseGil &) = delete;
    ReleaseGil &operator=(const ReleaseGil &) = delete;

private:
    PyThreadState *state_;
};

// On any thread, also one that Python knows nothing of. The interpreter must exist.
class AcquireGil {
public:
    AcquireGil() {
        RestAfterTheEnd rest;
        state_ = PyGILState_Ensure();
        rest.came_back();
    }
    ~AcquireGil() { PyGILState_Release(state_); }
    AcquireGil(const AcquireGil &) = delete;
    AcquireGil &operator=(const AcquireGil &) = delete;

private:
    PyGILState_STATE state_;
};

template <class Body> auto without_gil(Body &&body) {
    const ReleaseGil released;
    return body();
}

}  // namespace entrepot::python
