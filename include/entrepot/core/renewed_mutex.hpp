// RenewedMutex: a recursive mutex for what may take seconds, as a compiler or dlopen does.
//
// A fork does not wait for it: the child gets an unlocked one, whichever thread holds it in the
// parent. The thread that forks while it holds the mutex holds none in the child.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

namespace entrepot {

// Grows by one in the child of a fork: work that began under another number is the parent's.
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
