// InterpreterLock: releases the lock of an interpreter, such as Python's GIL, around calls that can
// block inside a driver.
//
// Overview
//   A driver call may wait for a callback that needs the GIL. A thread that made the call with the
//   GIL held would deadlock. The interpreter registers how its lock is released and reacquired
//   (set). A program without an interpreter registers nothing.
//
// Lock order
//   The GIL comes before every mutex. Release it before locking a mutex that is held across a
//   driver call, and reacquire it after unlocking. Released asserts that its thread holds no mutex
//   (core/checked_mutex.hpp) at both moments, if it released the lock.
//
// Lifetime
//   At interpreter shutdown `acquire` may never return: the thread blocks until the process exits
//   (python/bind/support/gil.hpp).
#pragma once
#include <entrepot/core/checked_mutex.hpp>

#include <atomic>

#pragma GCC visibility push(default)
namespace entrepot {

class InterpreterLock {
public:
    struct Functions {
        // Returns: what `acquire` needs; nullptr if this thread does not hold the lock, which is
        //          then not acquired either.
        void *(*release)() noexcept;
        // Throws: nothing. It may never return.
        void (*acquire)(void *released);
        bool (*is_held)() noexcept;  // by this thread
    };
    // Lifetime: the functions must live as long as the process.
    static void set(const Functions *functions) noexcept {
        functions_.store(functions, std::memory_order_release);
    }

    // For ENTREPOT_ASSERT alone.
    static bool is_held() noexcept {
        const Functions *const functions = functions_.load(std::memory_order_acquire);
        return functions && functions->is_held();
    }

    // Releases the lock for its own lifetime. A no-op if this thread does not hold the lock, so
    // scopes nest.
    class Released {
    public:
        explicit Released(bool is_needed = true) noexcept
            : functions_(is_needed ? InterpreterLock::functions_.load(std::memory_order_acquire)
                                   : nullptr),
              released_(functions_ ? functions_->release() : nullptr) {
            ENTREPOT_ASSERT(!released_ || HeldMutexes::is_empty());
        }
        ~Released() {
            if (released_) {
                // else: deadlock with the thread that holds the GIL
                ENTREPOT_ASSERT(HeldMutexes::is_empty());
                functions_->acquire(released_);
            }
        }
        Released(const Released &) = delete;
        Released &operator=(const Released &) = delete;

    private:
        const Functions *functions_;
        void *released_;
    };

private:
    static std::atomic<const Functions *> functions_;
};

}  // namespace entrepot
#pragma GCC visibility pop
