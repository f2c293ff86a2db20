// immortal_resource: a resource that is made at the first request and lives until process exit.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <atomic>

namespace entrepot {

// A forked child may call it at any time, like FirstUse (core/publish.hpp). Another thread may find
// the resource in a list before it is published. So its references are counted until then.
// Returns: the resource in `slot`. The first use makes it.
template <class Made, class Make> Made *immortal_resource(std::atomic<Made *> &slot, Make &&make) {
    if (Made *const known = slot.load(std::memory_order_acquire)) [[likely]]
        return known;
    ResourceRef resource = make();
    auto *const made = static_cast<Made *>(resource.get());
    Made *earlier = nullptr;
    if (!slot.compare_exchange_strong(earlier, made, std::memory_order_acq_rel))
        return earlier;
    resource.detach()->make_immortal();
    return made;
}

}  // namespace entrepot
