// What is let go late: all lists of what waits, and the end of the process.
#include <entrepot/memory/release.hpp>

#include <entrepot/device/backend.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/pool.hpp>
#include <memory/owners.hpp>

namespace entrepot {
namespace {

std::atomic<bool> leaking{false};

}  // namespace

void release_finished() noexcept {
    release_finished_owners();
    try {
        for (const ResourceRef &pool : live_pools())
            static_cast<PoolResource &>(*pool).take_finished();
        direct_resource()->trim();
    } catch (...) {  // no memory for the lists: at the next entry
    }
}

void wait_and_release() noexcept {
    wait_for_owners();
    try {
        for (const ResourceRef &pool : live_pools())
            static_cast<PoolResource &>(*pool).wait_for_all();
        direct_resource()->wait_for_all();
    } catch (...) {
    }
}

void leak_from_now_on() noexcept { leaking.store(true, std::memory_order_relaxed); }

bool may_call(const Backend &backend) noexcept {
    return backend.is_host() || !(leaking.load(std::memory_order_relaxed) || fork_guard::is_child());
}

}  // namespace entrepot
