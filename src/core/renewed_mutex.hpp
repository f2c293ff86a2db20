// RenewedMutex: a recursive mutex that may be held for seconds, as by a compiler or dlopen.
//
// A fork does not wait for it: the child gets an unlocked one, even if a thread holds it in the
// parent. A thread that forks while it holds the mutex does not hold it in the child.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#pragma GCC visibility push(default)
namespace entrepot {

// Grows by one in a forked child: work that began in another generation belongs to the parent.
unsigned fork_generation() noexcept;

// Thread safety: thread-safe.
class RenewedMutex {
public:
    RenewedMutex() = default;
    ~RenewedMutex();
    RenewedMutex(const RenewedMutex &) = delete;
    RenewedMutex &operator=(const RenewedMutex &) = delete;

    // Blocks: while another thread of this process holds it.
    std::unique_lock<std::recursive_mutex> lock();

private:
    struct OfProcess {
        unsigned generation;
        std::unique_ptr<OfProcess> of_parent;  // kept: the thread that forked may still unlock it
        std::recursive_mutex mutex;
    };
    std::atomic<OfProcess *> newest_{nullptr};
};

}  // namespace entrepot
#pragma GCC visibility pop
