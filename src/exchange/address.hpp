// Memory that a caller names by its address alone, seen as an Array. The drivers say which device
// it is on; an address that no driver knows is ordinary host memory.
#pragma once
#include <entrepot/array/array.hpp>

#pragma GCC visibility push(default)
namespace entrepot::address {

// The caller's description, not yet verified.
struct Descriptor {
    void *data = nullptr;  // the first and lowest element: callers free memory by this address
    Dtype dtype;
    Layout layout;
    bool read_only = false;
    Device device;  // expected; none: any. The host accepts all memory that it can reach
    // Names the context of the memory on `device`; none: the device's default context. Pending work
    // in it counts as a write: later accesses wait for it, and so does release.
    Queue queue;
};

// Asks the drivers about the range from the lowest to the highest byte of the elements. An address
// without elements is not looked up.
//
// Ownership: the Array holds `owner`; if verify throws, `owner` is released.
// Throws: OverflowError: the number of bytes exceeds 64 bits.
// Throws: ValueError: NULL with elements, a misaligned address, elements below the address or
//         beyond the address space.
// Throws: ExchangeError: memory elsewhere than named or unknown to the drivers, elements outside
//         their allocation, memory that the named host cannot reach.
// Throws: DeviceError: the driver of the named device cannot be asked.
Array verify(Descriptor descriptor, Owner owner);

}  // namespace entrepot::address
#pragma GCC visibility pop
