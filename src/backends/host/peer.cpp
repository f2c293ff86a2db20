// Peer access: the host accesses its own memory; other backends report which of their memory it can
// access.
#include "backends/host/native.hpp"

namespace entrepot::backends::host {
namespace {

ep_status peer_can_access(ep_device device, ep_device peer, std::int32_t *can) {
    return guarded([&] {
        check_device(device);
        *can = peer == device;
    });
}

ep_status peer_enable_access(ep_context context, ep_device peer) {
    return guarded([&] {
        check_context(context);
        check_device(peer);
    });
}

}  // namespace

void fill_peer_functions(ep_backend &table) {
    table.peer_can_access = peer_can_access;
    table.peer_enable_access = peer_enable_access;
}

}  // namespace entrepot::backends::host
