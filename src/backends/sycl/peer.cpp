// Peers: access of one device's kernels to the memory of another.
#include "backends/sycl/native.hpp"

namespace entrepot::backends::sycl {
namespace {

bool can_access(Device &device, const Device &peer) {
    if (&device == &peer)
        return true;
    // The runtime throws for devices of different platforms, which have no access.
    return device.native.get_platform() == peer.native.get_platform() &&
           device.native.ext_oneapi_can_access_peer(peer.native);
}

// Like can_access, but false if the runtime cannot be asked.
bool is_known_to_access(Device &device, const Device &peer) noexcept {
    try {
        return can_access(device, peer);
    } catch (...) {
        return false;
    }
}

ep_status peer_can_access(ep_device device, ep_device peer, std::int32_t *can) {
    return guarded([&] { *can = can_access(object(device), object(peer)); });
}

// The runtime enables access between devices, not contexts.
ep_status peer_enable_access(ep_context context, ep_device peer) {
    return guarded([&] {
        for (Device *const device : object(context).devices)
            device->enable_peer(object(peer));
    });
}

}  // namespace

void Device::enable_peer(Device &peer) {
    if (&peer == this)
        return;
    if (!is_known_to_access(*this, peer))
        refuse(EP_UNSUPPORTED, selector(), " cannot reach the memory of ", peer.selector(),
               ": copy through the host");
    const MutexLock lock(mutex_);
    if (peers_.contains(&peer))
        return;
    try {
        native.ext_oneapi_enable_peer_access(peer.native);
    } catch (const ::sycl::exception &error) {
        // Other code in the process has enabled access before. The runtime cannot be asked about
        // that, and reports it as invalid.
        if (error.code() != ::sycl::errc::invalid)
            throw;
    }
    peers_.insert(&peer);  // only after success: a failure is retried
}

void fill_peer_functions(ep_backend &table) {
    table.peer_can_access = peer_can_access;
    table.peer_enable_access = peer_enable_access;
}

}  // namespace entrepot::backends::sycl
