// Peers: access of one device's kernels to the memory of another.
#include "native.hpp"

namespace entrepot::backends::sycl {

namespace {

ep_status peer_can_access(ep_device device, ep_device peer, std::int32_t *can) {
    return guarded([&] {
        if (device == peer) {
            *can = 1;
            return;
        }
        // The runtime throws for devices of different platforms, which have no access.
        *can = device->native.get_platform() == peer->native.get_platform() &&
               device->native.ext_oneapi_can_access_peer(peer->native);
    });
}

// Succeeds if other code in the process has enabled access before. The runtime cannot be asked
// about that, and reports it as invalid.
void enable(::sycl::device &device, const ::sycl::device &peer) {
    try {
        device.ext_oneapi_enable_peer_access(peer);
    } catch (const ::sycl::exception &error) {
        if (error.code() != ::sycl::errc::invalid)
            throw;
    }
}

// The runtime enables access between devices, not contexts. Enabling it twice is an error.
ep_status peer_enable_access(ep_context context, ep_device peer) {
    return guarded([&] {
        for (const ep_device device : context->devices) {
            std::int32_t can = 0;
            if (device == peer)
                continue;
            if (peer_can_access(device, peer, &can) != EP_OK || !can)
                refuse(EP_UNSUPPORTED, selector(device), " cannot reach the memory of ",
                       selector(peer), ": copy through the host");
            std::lock_guard lock(device->mutex);
            if (device->peers.contains(peer))
                continue;
            enable(device->native, peer->native);
            device->peers.insert(peer);  // only after success: a failure is retried
        }
    });
}

}  // namespace

void fill_peer_functions(ep_backend &table) {
    table.peer_can_access = peer_can_access;
    table.peer_enable_access = peer_enable_access;
}

}  // namespace entrepot::backends::sycl
