// Peers: access of one device's kernels to the memory of another.
#include "backends/gpu/native.hpp"

#include <algorithm>

namespace entrepot::backends::gpu {
namespace {

bool can_access(const Device &device, const Device &peer) {
    if (&device == &peer)
        return true;
    int can = 0;
    check(driver().cuDeviceCanAccessPeer(&can, device.native, peer.native),
          "cuDeviceCanAccessPeer");
    return can != 0;
}

ep_status peer_can_access(ep_device device, ep_device peer, std::int32_t *can) {
    return guarded([&] { *can = can_access(object(device), object(peer)); });
}

ep_status peer_enable_access(ep_context context, ep_device peer) {
    return guarded([&] { object(context).enable_peer(object(peer)); });
}

}  // namespace

void Context::enable_peer(Device &peer) {
    if (&peer == &device)
        return;
    const MutexLock lock(mutex_);
    if (std::find(peers_.begin(), peers_.end(), &peer) != peers_.end())
        return;
    if (!can_access(device, peer))
        refuse(EP_UNSUPPORTED, device.selector(), " has no way to the memory of ", peer.selector(),
               ": copy the data to the device that works on it");
    // Peer access concerns the context and no capturing stream.
    const RelaxedCaptureMode relaxed;
    IntrusivePtr<Context> of_peer = primary_context(peer);
    {
        const Current current(native);
        const CUresult code = driver().cuCtxEnablePeerAccess(of_peer->native, 0);
        if (code != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
            check(code, "cuCtxEnablePeerAccess");
    }
    peer.share_pool_with(device);
    peers_.push_back(&peer);
    of_peer.detach();  // never released, because access lasts as long as this context
}

void fill_peer_functions(ep_backend &table) {
    table.peer_can_access = peer_can_access;
    table.peer_enable_access = peer_enable_access;
}

}  // namespace entrepot::backends::gpu
