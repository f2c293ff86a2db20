#include <entrepot/device/stream.hpp>

#include <entrepot/core/publish.hpp>

#include <utility>

namespace entrepot {

const Queue &make_legacy_stream_of(const Device &device) {
    Queue made = wrap_stream(device, 0);
    made.make_default_stream();  // before another thread can find it
    return publish(device.record()->legacy_stream, std::move(made));
}

Queue wrap_stream(const Device &device, std::uintptr_t stream) {
    return Queue::from_native(device.backend(), &stream, device.default_context());
}

}  // namespace entrepot
