// Addresses: memory that a caller names by nothing but where it is, seen as an Array. What is there, and on which device, the
// drivers are asked; what none of them knows is ordinary host memory.
#pragma once
#include <entrepot/array/array.hpp>

namespace entrepot::address {

// What the caller said, before anyone believed it.
struct Descriptor {
    void *data = nullptr;  // the first element, which is the lowest: memory is given back by the address that it was named by
    Dtype dtype;
    Layout layout;
    bool read_only = false;
    Device device;  // that the memory is on; none: whichever it is. The host takes what others let it reach, too
    // In whose context the memory is, on `device`; none: the device's default context. What it holds now is a use of the memory:
    // other accesses come behind it, and letting go does.
    Queue queue;
};

// Asks the drivers what the address is, for the lowest and the highest byte that an element has; an address without elements is
// not asked. The Array keeps `owner` alive; on refusal it is released, and nothing else has happened.
// Throws OverflowError: more bytes than 64 bits count; ValueError: NULL with elements, misaligned, elements below the address or
// beyond the address space; ExchangeError: memory of another place than the one named, or of none; elements outside of their
// allocation; memory that the named host cannot reach; DeviceError: the device that is named cannot be asked.
Array verify(Descriptor descriptor, Owner owner);

}  // namespace entrepot::address
