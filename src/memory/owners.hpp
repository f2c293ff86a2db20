// Owners of borrowed memory that are still needed: by work that has not ended.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <atomic>
#include <cstddef>

namespace entrepot {

// Releases the owner once the uses of its memory are done. Never blocks; what cannot be noted leaks.
void release_after(const Context &context, std::vector<Use> uses, Owner owner) noexcept;

inline std::atomic<std::size_t> owners_waiting{0};  // nearly always 0: spares the rest of the way
void release_finished_owners() noexcept;
void wait_for_owners() noexcept;

}  // namespace entrepot
