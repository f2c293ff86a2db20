// The buffer protocol (PEP 3118): host memory with a format, a shape and strides in bytes.
//
// This header knows the protocol and no Python. A Descriptor has the contents of a Py_buffer, which
// python/bind/exchange/buffer.cpp holds until the last view dies. A consumer may use the memory
// until it releases the Py_buffer, and writes only if that is not read-only.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/core/api.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#pragma GCC visibility push(default)
namespace entrepot::buffer {

ENTREPOT_LOCAL inline constexpr exchange::Speaker speaker{"buffer protocol", ErrorKind::exchange};

// Contents of the Py_buffer, not yet verified. All sizes are in bytes, as in the protocol.
struct Descriptor {
    void *data = nullptr;    // the first element, also where strides are negative
    std::int64_t bytes = 0;  // of all items, each counted once
    bool read_only = true;
    const char *format = nullptr;  // nullptr: bytes
    std::int64_t itemsize = 1;
    Extents shape{};
    // as many as the shape has extents; nullptr: C-contiguous
    const std::int64_t *strides = nullptr;
    const std::int64_t *suboffsets = nullptr;  // as many; a negative one means none
};

// Ownership: the Array holds `owner`; if verify throws, `owner` is released.
// Throws: ExchangeError for any of
// - a format that is not a single plain item in native byte order,
// - a number of bytes that contradicts the shape,
// - rows reached through pointers (suboffsets),
// - strides that are no multiple of the item size, or misaligned items.
Array verify(const Descriptor &descriptor, Owner owner, const Queue &queue = {});

}  // namespace entrepot::buffer
#pragma GCC visibility pop
