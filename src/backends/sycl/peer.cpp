// Peers: whether the kernels of one device may touch the memory of another.
#include "native.hpp"

namespace entrepot::backends::sycl {

namespace {

ep_status peer_can_access(ep_device device, ep_device peer, std::int32_t *can) {
    return guarded([&] {
        if (device == peer) {
            *can = 1;
            return;
        }
        // The runtime throws for two devices of different platforms, whose answer is no.
        *can = device->native.get_platform() == peer->native.get_platform() &&
               device->native.ext_oneapi_can_access_peer(peer->native);
    });
}

}  // namespace

void enter_peer(ep_backend &table) { table.peer_can_access = peer_can_access; }

}  // namespace entrepot::backends::sycl
