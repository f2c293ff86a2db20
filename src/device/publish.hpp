// What a device has once, made when it is first asked for.
#pragma once
#include <atomic>
#include <memory>
#include <utility>

namespace entrepot {

// Publishes what was made for a device; where another thread was faster, its own counts and ours goes.
template <class Made> const Made &publish(std::atomic<const Made *> &slot, Made made) {
    const Made *earlier = nullptr;
    auto own = std::make_unique<Made>(std::move(made));
    return *(slot.compare_exchange_strong(earlier, own.get(), std::memory_order_acq_rel) ? own.release() : earlier);
}

}  // namespace entrepot
