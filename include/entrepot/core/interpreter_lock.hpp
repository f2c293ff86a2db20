// The lock of an interpreter that calls us, as Python's GIL is one: given up around everything that a runtime may keep a thread
// for, because what the runtime waits for may be a callback that wants it. Who has such a lock says how it is given up and taken
// again; in a program of C++ there is none.
#pragma once
#include <atomic>

namespace entrepot {

class InterpreterLock {
public:
    struct Functions {
        void *(*release)() noexcept;      // nullptr where this thread does not have it, else what it is taken again with
        void (*acquire)(void *released);  // throws nothing, though it may never return
    };
    // The functions live as long as the process.
    static void set(const Functions *functions) noexcept { functions_.store(functions, std::memory_order_release); }

    // While it lives, this thread does not have the lock. It comes before mutexes that are held while a runtime is called, and
    // goes after them: nobody waits for the interpreter with one of those, nor for one of those with the interpreter.
    class Released {
    public:
        explicit Released(bool is_needed = true) noexcept
            : functions_(is_needed ? InterpreterLock::functions_.load(std::memory_order_acquire) : nullptr),
              released_(functions_ ? functions_->release() : nullptr) {}
        ~Released() {
            if (released_)
                functions_->acquire(released_);
        }
        Released(const Released &) = delete;
        Released &operator=(const Released &) = delete;

    private:
        const Functions *functions_;
        void *released_;
    };

private:
    static inline std::atomic<const Functions *> functions_{nullptr};
};

}  // namespace entrepot
