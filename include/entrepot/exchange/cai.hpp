// The CUDA array interface (CAI), version 3: a dict that names memory of a CUDA or HIP device and the stream that its work is on.
//
// This header knows the protocol and no Python. python/bind/exchange/cai.cpp turns the dict into a Descriptor; verify() turns
// the Descriptor into an Array after asking the driver what the pointer is, because the dict does not name a device. HIP's
// libraries speak it under its name: CUDA's driver is asked first, and HIP's runtime where that does not know the pointer.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#include <cstdint>
#include <optional>

namespace entrepot::cai {

inline constexpr int version = 3;
inline constexpr int oldest_version = 0;  // each has only added keys; PyTorch writes 2
inline constexpr exchange::Speaker speaker{"CUDA array interface", ErrorKind::interface};

// What the dict said, before anyone believed it. Strides are in bytes, as the protocol has them.
struct Descriptor {
    void *data = nullptr;
    bool read_only = false;
    Dtype dtype;
    Extents shape{};
    const std::int64_t *strides = nullptr;  // as many as the shape has extents; nullptr: C-contiguous
    // The producer's work is in it: 1 the legacy default stream, 2 that of this thread, else a CUstream. None: there is no work.
    std::optional<std::uintptr_t> stream;
    std::optional<unsigned> library;  // the stream library that the object belongs to (stream_library.hpp)
    // The device and the extent of the allocation are believed if the object's library says which device it is; else the driver
    // is asked.
    Device device{};
};

// Asks the driver what the pointer is, for the lowest and the highest byte that an element has. The Array keeps `owner` alive and
// is ordered behind the producer's stream; nothing waits here. A pointer without elements is not asked: the array is on `queue`'s
// device, else on the current one where that is a CUDA or HIP device, else on the first. Throws InterfaceError, with `owner`
// released: shape, strides or stream say something impossible, no such device is here or none knows the pointer, an element lies
// outside of the allocation, the item is misaligned.
Array verify(const Descriptor &descriptor, Owner owner, const Queue &queue = {});

// The stream that a consumer has to come behind, as the dict names it; none where no work on the array is known. Throws
// InterfaceError for memory that is neither CUDA's nor HIP's, DeviceError of the driver.
std::optional<std::uintptr_t> hand_over(const Array &array);

}  // namespace entrepot::cai
