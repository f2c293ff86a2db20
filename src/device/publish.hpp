// Objects that a device has once, made at the first request.
#pragma once
#include <atomic>
#include <memory>
#include <utility>

namespace entrepot {

// Publishes `made`, unless another thread was faster. Returns what is published.
// Lifetime: a published object is never destroyed.
template <class Made> const Made &publish(std::atomic<const Made *> &slot, Made made) {
    const Made *earlier = nullptr;
    auto own = std::make_unique<Made>(std::move(made));
    return *(slot.compare_exchange_strong(earlier, own.get(), std::memory_order_acq_rel)
                 ? own.release()
                 : earlier);
}

}  // namespace entrepot
