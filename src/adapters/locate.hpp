// Locating: finds the driver of an address from a native allocator. Only the drivers can tell HIP's
// memory from CUDA's.
#pragma once
#include <entrepot/exchange/foreign_layout.hpp>
#include <entrepot/memory/memory.hpp>

namespace entrepot::adapters {

inline constexpr exchange::Speaker speaker{"DeviceArray", ErrorKind::exchange};

// Returns: the whole allocation around the bytes, if its driver reports the size, so that all parts
//          of it share one Memory. Otherwise the bytes alone.
// Ownership: the Memory holds `owner`; if locate throws, `owner` is released.
// Throws: ExchangeError if no driver knows the address, or the bytes exceed the allocation.
Memory locate(const exchange::Reach &reach, Owner owner);

}  // namespace entrepot::adapters
