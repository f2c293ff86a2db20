// The GIL: given up for as long as a scope lasts, around everything that waits for a device or moves many bytes; the state that
// it guards, and what guards that in interpreters without one. No other file asks which of the two this is compiled for.
#pragma once
#include <Python.h>

#include <unistd.h>

#include <exception>
#include <mutex>

// ENTREPOT_GIL_GUARDED: of state that the GIL guards. Where there is none, each thread has its own; such state holds objects as
// CachedReference (reference.hpp), because a thread may end before the interpreter does.
//
// GilMutex: the lock of state that the GIL guards and all threads share. Nothing of Python's is called while it is held.
//
// Exclusive: while it lives, no other thread looks into the object or changes it, as far as both ask. Given up, as the GIL is,
// wherever this thread waits.
#ifdef Py_GIL_DISABLED

#define ENTREPOT_GIL_GUARDED thread_local

namespace entrepot::python {

inline constexpr bool has_gil = false;

using GilMutex = std::mutex;

class Exclusive {
public:
    explicit Exclusive(PyObject *object) noexcept { PyCriticalSection_Begin(&section_, object); }
    ~Exclusive() { PyCriticalSection_End(&section_); }
    Exclusive(const Exclusive &) = delete;
    Exclusive &operator=(const Exclusive &) = delete;

private:
    PyCriticalSection section_;
};

}  // namespace entrepot::python

#else

#define ENTREPOT_GIL_GUARDED

namespace entrepot::python {

inline constexpr bool has_gil = true;

struct GilMutex {
    void lock() noexcept {}
    void unlock() noexcept {}
};

struct Exclusive {
    explicit Exclusive(PyObject *) noexcept {}
    ~Exclusive() {}
    Exclusive(const Exclusive &) = delete;
    Exclusive &operator=(const Exclusive &) = delete;
};

}  // namespace entrepot::python

#endif

namespace entrepot::python {

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

// Whether this thread has the GIL. (PyGILState_Check() says yes to every thread once there was a subinterpreter, or once the
// interpreter has let go of its threads.)
inline bool holds_gil() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked() != nullptr;
#elif PY_VERSION_HEX >= 0x030C0000
    return _PyThreadState_UncheckedGet() != nullptr;  // this thread's; before, that of whoever has the GIL
#else
    return _PyThreadState_UncheckedGet() && _PyThreadState_UncheckedGet() == PyGILState_GetThisThreadState();
#endif
}

// Whether this thread may let go of objects. One that is unwound as above has no GIL: what it holds leaks, like everything at the
// interpreter's end.
inline bool may_let_go() noexcept {
#if PY_VERSION_HEX < 0x030E0000
    if (is_finalizing()) [[unlikely]]
        return holds_gil();
#endif
    return true;
}

// Around CPython's own functions that may take the GIL, where no C++ function above may be unwound. They throw no exception.
class RestAfterTheEnd {
public:
    RestAfterTheEnd() noexcept = default;
    ~RestAfterTheEnd() {
        if (!came_back_) [[unlikely]]
            rest_for_ever();
    }
    RestAfterTheEnd(const RestAfterTheEnd &) = delete;
    RestAfterTheEnd &operator=(const RestAfterTheEnd &) = delete;
    void came_back() noexcept { came_back_ = true; }

private:
    bool came_back_ = false;
};

// The same around calls that run Python code, whose exceptions are ours by the time that they come out.
class RestUnlessThrown {
public:
    RestUnlessThrown() noexcept = default;
    ~RestUnlessThrown() {
        if (!came_back_ && std::uncaught_exceptions() == exceptions_)  // then it is no exception that unwinds
            rest_for_ever();
    }
    RestUnlessThrown(const RestUnlessThrown &) = delete;
    RestUnlessThrown &operator=(const RestUnlessThrown &) = delete;
    void came_back() noexcept { came_back_ = true; }

private:
    bool came_back_ = false;
    int exceptions_ = std::uncaught_exceptions();
};

inline void take_gil_again(PyThreadState *state) {
    RestAfterTheEnd rest;
    PyEval_RestoreThread(state);
    rest.came_back();
}

class ReleaseGil {
public:
    ReleaseGil() noexcept : state_(PyEval_SaveThread()) {}
    ~ReleaseGil() noexcept(false) { take_gil_again(state_); }
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

// Lets the core give the GIL up around what may block there: InterpreterLock.
void set_interpreter_lock() noexcept;

template <class Body> auto without_gil(Body &&body) {
    const ReleaseGil released;
    return body();
}

// Calls `body`, with the GIL if it `needs` it, which is acquired where this thread does not hold it.
// Requires: the caller holds no mutex.
// Returns: what `body` returns; a value-initialised result, without a call, once the interpreter is finalizing.
template <class Body> auto with_gil_if(bool needs, Body &&body) -> decltype(body()) {
    if (!needs || holds_gil())
        return body();
    if (is_finalizing())
        return {};
    const AcquireGil acquired;
    return body();
}

}  // namespace entrepot::python
