// CheckedMutex and LeafMutex: std::mutex, with a list of the mutexes that each thread holds in
// builds with assertions.
//
// Lock order
//   1. The GIL (InterpreterLock). A thread that acquires it holds no mutex.
//   2. CheckedMutex: may be held during a driver call. With the GIL held, a thread locks only those
//   that are held for moments:
//   - the tables of live contexts and queues, and Queue::Record::owners_mutex;
//   - Queue::Record::mutex of a queue of the host;
//   - the backends' tables of handles.
//   Any other may be held during a call that blocks, and is locked without the GIL. Queue asserts
//   it for Queue::Record::mutex.
//   3. LeafMutex: while it is held, no other mutex is locked, and no driver, Python code or release
//   function is called.
//
// Use std::mutex with condition variables, and for tables that a fork locks together with many
// others: HeldMutexes has room for a few mutexes.
//
// The core's std::mutexes have an order as well. A fork takes all of them, except for Row::loading
// of devices.
//   1. The list of fork locks (device/fork_guard.cpp).
//   2. Row::loading (device/registry.cpp), held while a backend is loaded, and locked without the
//   GIL.
//   3. The registry's mutex, and the file server's (memory/fd_server.cpp): no other of these is
//   locked while one of them is held.
//   4. The list of ForkSafeMutex (device/fork_safe_mutex.cpp), then the mutexes in it.
// Except at a fork, no other mutex is locked while one of the two lists is locked.
//
// The macro ENTREPOT_ASSERTIONS is the same in all files that are linked into one library or
// program. The layout is that of std::mutex in every build. But the linker keeps one copy of each
// inline function, and a mutex that is locked without assertions and unlocked with them aborts.
// Entrepot's build defines the macro for all its files (cmake/compiler.cmake) or for none.
//
// A program that links libentrepot defines it as the library does: entrepot::entrepot and
// pkg-config pass it on. An extension that links nothing has copies of its own and may differ.
#pragma once
#include <entrepot/core/assert.hpp>
#include <entrepot/core/thread_safety.hpp>

#include <mutex>

#pragma GCC visibility push(default)
namespace entrepot {

// The mutexes of this file that the calling thread holds. For ENTREPOT_ASSERT alone: without
// assertions the functions are declared and not defined.
class HeldMutexes {
public:
    static bool is_empty() noexcept;
    static bool has_leaf() noexcept;
    static bool has(const std::mutex &mutex) noexcept;

private:
    template <bool is_leaf> friend class TrackedMutex;
    static void add(const std::mutex &mutex, bool is_leaf) noexcept;
    static void remove(const std::mutex &mutex) noexcept;

#ifdef ENTREPOT_ASSERTIONS
    static constexpr unsigned most = 8;
    struct List {
        const std::mutex *all[most];
        unsigned count;
        const std::mutex *leaf;
    };
    // a plugin, which links nothing of the library, has one of its own
    static constinit thread_local List list;
#endif
};

template <bool is_leaf> class ENTREPOT_CAPABILITY TrackedMutex : public std::mutex {
public:
    // True if the calling thread holds the mutex. For ENTREPOT_ASSERT alone.
    bool held() const noexcept { return HeldMutexes::has(*this); }
    // For functions whose caller holds the mutex, where Clang's analysis cannot see it.
    void assert_held() const noexcept ENTREPOT_ASSERTS_HELD { ENTREPOT_ASSERT(held()); }

    // std::mutex is not annotated, so these bodies are not analyzed.
    void lock() ENTREPOT_ACQUIRE() ENTREPOT_NO_THREAD_SAFETY_ANALYSIS {
#ifdef ENTREPOT_ASSERTIONS
        // first, so that a mutex that is locked twice is reported instead of a hang
        HeldMutexes::add(*this, is_leaf);
#endif
        std::mutex::lock();
    }
    bool try_lock() ENTREPOT_TRY_ACQUIRE(true) ENTREPOT_NO_THREAD_SAFETY_ANALYSIS {
        const bool is_locked = std::mutex::try_lock();
#ifdef ENTREPOT_ASSERTIONS
        if (is_locked)
            HeldMutexes::add(*this, is_leaf);
#endif
        return is_locked;
    }
    void unlock() ENTREPOT_RELEASE() ENTREPOT_NO_THREAD_SAFETY_ANALYSIS {
#ifdef ENTREPOT_ASSERTIONS
        HeldMutexes::remove(*this);
#endif
        std::mutex::unlock();
    }
};

using CheckedMutex = TrackedMutex<false>;
using LeafMutex = TrackedMutex<true>;
static_assert(sizeof(CheckedMutex) == sizeof(std::mutex));

// Holds a mutex of this file until the end of its scope, like std::lock_guard, and tells Clang's
// analysis.
template <class Mutex> class ENTREPOT_SCOPED_CAPABILITY MutexLock {
public:
    explicit MutexLock(Mutex &mutex) ENTREPOT_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
    ~MutexLock() ENTREPOT_RELEASE() { mutex_.unlock(); }
    MutexLock(const MutexLock &) = delete;
    MutexLock &operator=(const MutexLock &) = delete;

private:
    Mutex &mutex_;
};

}  // namespace entrepot
#pragma GCC visibility pop
