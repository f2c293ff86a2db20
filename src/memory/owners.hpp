// Owners of borrowed memory that are still needed: by work that has not ended.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <atomic>
#include <cstddef>

namespace entrepot {

// Releases the owner once the uses of its memory are done. Never blocks; what cannot be noted leaks.
void release_after(const Context &context, std::vector<Use> uses, Owner owner) noexcept;

void release_owners_of_finished_work() noexcept;
void wait_for_owners() noexcept;

inline std::atomic<std::size_t> owners_waiting{0};  // nearly always 0: then nothing is called
inline void release_finished_owners() noexcept {
    if (owners_waiting.load(std::memory_order_relaxed) != 0) [[unlikely]]
        release_owners_of_finished_work();
}

}  // namespace entrepot
