#include <entrepot/device/stream.hpp>

#include "device/publish.hpp"

namespace entrepot {

const Queue &make_legacy_stream_of(const Device &device) {
    const Queue &made = publish(device.record()->legacy_stream, wrap_stream(device, 0));
    made.make_default_stream();
    return made;
}

Queue wrap_stream(const Device &device, std::uintptr_t stream) {
    return Queue::from_native(device.backend(), &stream, device.default_context());
}

}  // namespace entrepot
