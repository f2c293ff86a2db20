// Deferred release: polls the owners and the blocks of every resource.
#include "memory/release.hpp"

#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/pool.hpp>
#include <entrepot/memory/shareable.hpp>
#include <memory/owners.hpp>

namespace entrepot {

constinit std::atomic<bool> process_ends{false};

void release_finished() noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    release_finished_owners();
    try {
        for (const ResourceRef &pool : waiting_pools())
            static_cast<PoolResource &>(*pool).take_finished();
        direct_resource()->take_finished();
        shareable_resource()->take_finished();
    } catch (...) {  // no memory for the lists: tried again by a later call
    }
}

void wait_and_release() noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    wait_for_owners();
    try {
        for (const ResourceRef &pool : live_pools())
            static_cast<PoolResource &>(*pool).wait_for_all();
        direct_resource()->wait_for_all();
        shareable_resource()->wait_for_all();
    } catch (...) {
    }
}

}  // namespace entrepot
