// The CUDA array interface (CAI), version 3: a dict that names memory of a CUDA or HIP device and
// the stream of its pending work.
//
// This header knows the protocol and no Python. The dict becomes a Descriptor in
// python/bind/exchange/cai.cpp. As the dict names no device, verify() asks the driver about the
// pointer, and returns an Array.
//
// The dict keeps nothing alive: a consumer holds the exporting object while its work uses the
// memory. It does not write if the dict says read-only.
//
// HIP libraries use the protocol under the same name. CUDA's driver is asked first; HIP's runtime
// is asked if CUDA's does not know the pointer.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/core/api.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#include <cstdint>
#include <optional>

#pragma GCC visibility push(default)
namespace entrepot::cai {

inline constexpr int version = 3;
inline constexpr int oldest_version = 0;  // each has only added keys; PyTorch writes 2
ENTREPOT_LOCAL inline constexpr exchange::Speaker speaker{"CUDA array interface",
                                                          ErrorKind::interface};

// Contents of the dict, not yet verified. Strides are in bytes.
struct Descriptor {
    void *data = nullptr;
    bool read_only = false;
    Dtype dtype;
    Extents shape{};
    // as many as the shape has extents; nullptr: C-contiguous
    const std::int64_t *strides = nullptr;
    // Stream of the producer's pending work: 1 is the legacy default stream, 2 the per-thread one,
    // other values a CUstream. None: no pending work.
    std::optional<std::uintptr_t> stream;
    // the stream library that the object belongs to (stream_library.hpp)
    std::optional<unsigned> library;
    // Set if the object's library states the device. The driver is then not asked about device and
    // size.
    Device device{};
};

// Asks the driver about the range from the lowest to the highest byte of the elements, and orders
// the Array after the producer's stream. Does not block.
//
// A pointer without elements is not looked up. Its array is on `queue`'s device, else on the
// current one if that is a CUDA or HIP device, else on the first.
//
// Ownership: the Array holds `owner`; if verify throws, `owner` is released.
// Throws: InterfaceError for any of
// - invalid shape, strides or stream,
// - no CUDA or HIP device, or a pointer that no driver knows,
// - an element outside the allocation, or a misaligned item.
Array verify(const Descriptor &descriptor, Owner owner, const Queue &queue = {});

// Returns: the stream that the consumer must synchronize with, as the dict names it; none if no
//          work on the array is pending. Later operations on the array wait for the work that the
//          consumer submits to that stream.
// Throws: InterfaceError for memory that is neither CUDA's nor HIP's, DeviceError of the driver.
std::optional<std::uintptr_t> stream_for_consumer(const Array &array);

}  // namespace entrepot::cai
#pragma GCC visibility pop
