// Owners of borrowed memory that are still needed: by work that has not ended.
#pragma once
#include <entrepot/memory/release.hpp>
#include <entrepot/memory/resource.hpp>

namespace entrepot {

// Releases the owner once the uses of its memory are done. Never blocks; what cannot be noted leaks.
void release_after(const Context &context, std::vector<Use> uses, Owner owner) noexcept;

void wait_for_owners() noexcept;

}  // namespace entrepot
