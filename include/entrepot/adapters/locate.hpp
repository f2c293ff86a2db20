// Locating: whose memory an address is that a native allocator returned. The drivers are asked: nothing else tells HIP's from
// CUDA's.
#pragma once
#include <entrepot/exchange/foreign_layout.hpp>
#include <entrepot/memory/memory.hpp>

namespace entrepot::adapters {

inline constexpr exchange::Speaker speaker{"DeviceArray", ErrorKind::exchange};

// The whole allocation that the bytes lie in, where its driver tells how large that is, so that all parts of it are of one
// Memory; else the bytes alone. Throws ExchangeError, with `owner` released: no driver that is here knows the address, or the
// bytes leave the allocation.
Memory locate(const exchange::Reach &reach, Owner owner);

}  // namespace entrepot::adapters
