// Pinning: host memory of any owner, registered with a driver so that its devices use it in place.
#pragma once
#include <entrepot/memory/memory.hpp>

#include <cstddef>

#pragma GCC visibility push(default)
namespace entrepot {

// Pins the range [first, first + bytes) of host memory for `device` and the other devices that
// share its pins. The memory holds the registration until it ends, after the work on it is done.
// Ranges inside a pinned range share its registration, also those of other memories. The last
// memory ends it.
//
// Drivers whose devices have EP_PINS_PAGES register the whole pages of the range. So memories that
// share a page share its registration.
//
// Returns: false, and nothing was done, if the device uses memory of the process as it is and its
//          driver registers none.
// Requires: `bytes` is not 0, and the range lies in `memory`, which is of the host.
// Throws: Error(exchange) if the driver cannot pin it, or has a part of it registered already. Also
//         if a pinned range overlaps it without containing it. Error(allocation) if the system
//         locks no more pages.
// Thread safety: thread-safe.
// Blocks: inside the driver.
bool pin(const Memory &memory, void *first, std::size_t bytes, bool read_only,
         const Device &device);

// True if memory that is pinned for one of the devices is pinned for the other.
bool shares_pins(const Device &a, const Device &b);

}  // namespace entrepot
#pragma GCC visibility pop
