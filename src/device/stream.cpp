#include <entrepot/device/stream.hpp>

#include <atomic>

namespace entrepot {
namespace {

// One per device, never freed, as devices are.
struct Legacy {
    Queue queue;
    const Legacy *next;
};
std::atomic<const Legacy *> legacy_streams{nullptr};

// Two threads that meet here add the same stream twice, which is harmless.
const Queue &remember(const Device &device) {
    auto *const fresh = new Legacy{wrap_stream(device, 0), legacy_streams.load(std::memory_order_acquire)};
    fresh->queue.make_immortal();
    while (!legacy_streams.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_acquire)) {
    }
    return fresh->queue;
}

}  // namespace

const Queue &legacy_stream_of(const Device &device) {
    for (const Legacy *each = legacy_streams.load(std::memory_order_acquire); each; each = each->next)
        if (each->queue.device() == device)
            return each->queue;
    return remember(device);
}

Queue wrap_stream(const Device &device, std::uintptr_t stream) {
    return Queue::from_native(device.backend(), &stream, device.default_context());
}

}  // namespace entrepot
