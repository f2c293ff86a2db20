// Pinning: host memory of any owner, registered with a driver so that its devices use it in place.
#pragma once
#include <entrepot/memory/memory.hpp>

#include <cstddef>

#pragma GCC visibility push(default)
namespace entrepot {

// Pins the range [first, first + bytes) of host memory for `device` and the other devices of its
// backend. Ranges inside a pinned range share its registration.
//
// Returns: memory of kind `host` in the device's default context, at the same address. It owns a
//          reference to `memory`, and ends the registration with the last range that shares it. An
//          empty Memory, and nothing was done, if the device uses memory of the process as it is.
// Requires: the range lies in `memory`, which is of the host.
// Throws: Error(exchange) if the driver cannot pin it, or has a part of it registered already. Also
//         if a pinned range overlaps it without containing it. Error(allocation) if the system
//         locks no more pages.
// Blocks: inside the driver.
Memory pin(const Memory &memory, void *first, std::size_t bytes, bool read_only,
           const Device &device);

// Returns: the memory that was pinned, if the owner is that of pinned memory; else nullptr.
const Memory *pinned_source(const Owner &owner) noexcept;

}  // namespace entrepot
#pragma GCC visibility pop
