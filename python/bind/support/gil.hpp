// The GIL: scopes that release and acquire it, and what guards shared state in interpreters with
// and without a GIL.
//
// Overview
//   ReleaseGil and without_gil() are for code that waits for a device or moves many bytes. The core
//   releases the GIL itself where a driver may block (InterpreterLock). No other file asks if the
//   interpreter has a GIL.
//
// Lock order
//   A thread that acquires or reacquires the GIL holds no mutex of the core
//   (core/checked_mutex.hpp). GilMutex is locked with the GIL held. Nothing of Python is called
//   while GilMutex is held.
//
// Lifetime
//   Before 3.14, CPython ends a thread that acquires the GIL after interpreter shutdown: it unwinds
//   the thread's stack. The first noexcept frame would then terminate the process. Such a thread
//   hangs until process exit instead, as in CPython itself from 3.14 on. At interpreter shutdown,
//   references that a thread without the GIL holds leak.
#pragma once
#include <Python.h>

#include <entrepot/core/checked_mutex.hpp>

#include <unistd.h>

#include <exception>
#include <mutex>

// ENTREPOT_GIL_GUARDED: marks state that the GIL guards. Without a GIL each thread has its own.
// Such state holds objects as CachedReference (reference.hpp), because a thread may end before the
// interpreter does.
//
// GilMutex: guards state that all threads share. With a GIL it is a no-op.
//
// Exclusive: a critical section of the object, which excludes other Exclusive scopes of it. Like
// the GIL, it is released where this thread waits.
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

// Blocks this thread until process exit, as CPython's PyThread_hang_thread() does: see Lifetime.
[[noreturn]] inline void hang_thread() noexcept {
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

// True if this thread holds the GIL. The function PyGILState_Check() is no help: once a
// subinterpreter has existed, or the interpreter has cleared its thread states, it is true for
// every thread.
inline bool holds_gil() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked() != nullptr;
#elif PY_VERSION_HEX >= 0x030C0000
    // this thread's; before 3.12, that of the thread with the GIL
    return _PyThreadState_UncheckedGet() != nullptr;
#else
    return _PyThreadState_UncheckedGet() &&
           _PyThreadState_UncheckedGet() == PyGILState_GetThisThreadState();
#endif
}

// True if this thread may drop references. A thread that CPython unwinds does not hold the GIL, and
// its references leak: see Lifetime.
inline bool may_decref() noexcept {
#if PY_VERSION_HEX < 0x030E0000
    if (is_finalizing()) [[unlikely]]
        return holds_gil();
#endif
    return true;
}

// Scope of CPython functions that may acquire the GIL and throw no exception. If CPython ends the
// thread inside such a function, the forced unwind stops here and the thread hangs: see Lifetime.
// Requires: dismiss() is called once the functions have returned.
class HangOnThreadExit {
public:
    HangOnThreadExit() noexcept = default;
    ~HangOnThreadExit() {
        if (!dismissed_) [[unlikely]]
            hang_thread();
    }
    HangOnThreadExit(const HangOnThreadExit &) = delete;
    HangOnThreadExit &operator=(const HangOnThreadExit &) = delete;
    void dismiss() noexcept { dismissed_ = true; }

private:
    bool dismissed_ = false;
};

// HangOnThreadExit for calls that run Python code and may throw C++ exceptions. An exception leaves
// the scope. An unwind without one is CPython's, and the thread hangs.
class HangOnForcedUnwind {
public:
    HangOnForcedUnwind() noexcept = default;
    ~HangOnForcedUnwind() {
        if (!dismissed_ && std::uncaught_exceptions() == exceptions_)
            hang_thread();
    }
    HangOnForcedUnwind(const HangOnForcedUnwind &) = delete;
    HangOnForcedUnwind &operator=(const HangOnForcedUnwind &) = delete;
    void dismiss() noexcept { dismissed_ = true; }

private:
    bool dismissed_ = false;
    int exceptions_ = std::uncaught_exceptions();
};

// Reacquires the GIL that PyEval_SaveThread() released.
// Requires: this thread holds no mutex and does not hold the GIL.
inline void reacquire_gil(PyThreadState *state) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    ENTREPOT_ASSERT(!has_gil || !holds_gil());
    HangOnThreadExit hang;
    PyEval_RestoreThread(state);
    hang.dismiss();
}

class ReleaseGil {
public:
    // Requires: this thread holds the GIL and no mutex.
    ReleaseGil() noexcept : state_(PyEval_SaveThread()) {
        ENTREPOT_ASSERT(HeldMutexes::is_empty());
    }
    ~ReleaseGil() noexcept(false) { reacquire_gil(state_); }
    ReleaseGil(const ReleaseGil &) = delete;
    ReleaseGil &operator=(const ReleaseGil &) = delete;

private:
    PyThreadState *state_;
};

// Works on any thread, also one that Python has not seen.
// Requires: the interpreter exists, and this thread holds no mutex.
class AcquireGil {
public:
    AcquireGil() {
        ENTREPOT_ASSERT(HeldMutexes::is_empty() || holds_gil());
        HangOnThreadExit hang;
        state_ = PyGILState_Ensure();
        hang.dismiss();
    }
    ~AcquireGil() { PyGILState_Release(state_); }
    AcquireGil(const AcquireGil &) = delete;
    AcquireGil &operator=(const AcquireGil &) = delete;

private:
    PyGILState_STATE state_;
};

// Lets the core release the GIL around calls that may block: InterpreterLock.
void set_interpreter_lock() noexcept;

template <class Body> auto without_gil(Body &&body) {
    const ReleaseGil released;
    return body();
}

// Calls `body`, with the GIL if it `needs` it, which is acquired where this thread does not hold
// it.
// Requires: the caller holds no mutex.
// Returns: what `body` returns; a value-initialized result, without a call, once the interpreter is
//          finalizing.
template <class Body> auto with_gil_if(bool needs, Body &&body) -> decltype(body()) {
    if (!needs || holds_gil())
        return body();
    if (is_finalizing())
        return {};
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    const AcquireGil acquired;
    return body();
}

}  // namespace entrepot::python
