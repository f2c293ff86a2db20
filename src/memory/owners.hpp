// Owners of borrowed memory that pending work still needs.
//
// Overview
//   One list for the process (Deferred). The counter of release.hpp makes a poll of an empty list
//   cost one load.
//
// Lock order
//   The list has a leaf mutex of its own. Owners are released without it, and the caller holds
//   none.
//
// Lifetime
//   The list is never destroyed. Owners of device memory leak at process exit and in a marked child
//   of fork() (may_call). Owners of host memory are released as before.
#pragma once
#include "memory/release.hpp"
#include <entrepot/memory/resource.hpp>

namespace entrepot {

// Releases the owner once the uses of its memory are done. Never blocks. Without memory for the
// list, the owner leaks.
void release_after(const Context &context, std::vector<Use> uses, Owner owner) noexcept;

// Releases all owners of the list. Blocks: until their work is done. Owners of failed work stay.
void wait_for_owners() noexcept;

}  // namespace entrepot
