// RenewedMutex: one mutex for each process that has locked it.
#include "core/renewed_mutex.hpp"

#include <pthread.h>

namespace entrepot {
namespace {

std::atomic<unsigned> forks{0};

// Registered when the library is loaded, since the first fork may come before any call of this
// file.
[[maybe_unused]] const int counting = pthread_atfork(nullptr, nullptr, []() noexcept { ++forks; });

}  // namespace

unsigned fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

RenewedMutex::~RenewedMutex() { delete newest_.load(std::memory_order_relaxed); }

std::unique_lock<std::recursive_mutex> RenewedMutex::lock() {
    OfProcess *newest = newest_.load(std::memory_order_acquire);
    while (!newest || newest->generation != fork_generation()) {
        auto next = std::make_unique<OfProcess>();
        next->generation = fork_generation();
        next->of_parent.reset(newest);
        if (newest_.compare_exchange_strong(newest, next.get(), std::memory_order_acq_rel))
            newest = next.release();
        else
            static_cast<void>(next->of_parent.release());
    }
    return std::unique_lock(newest->mutex);
}

}  // namespace entrepot
