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
//          reference to `memory`, and ends the registration with the last range that shares it. If
//          the device uses all memory of the process, an empty Memory, and nothing was done.
// Requires: the range lies in `memory`, which is of the host.
// Throws: Error(exchange) if the driver cannot pin it, or if a part of it is registered already.
//         So it does if a pinned range overlaps it without containing it. Error(allocation) if the
//         system locks no more pages.
// Blocks: inside the driver.
Memory pin(const Memory &memory, void *first, std::size_t bytes, bool read_only,
           const Device &device);

// Returns: the memory that was pinned, if the owner is that of pinned memory; else nullptr.
const Memory *pinned_source(const Owner &owner) noexcept;

}  // namespace entrepot
#pragma GCC visibility pop
