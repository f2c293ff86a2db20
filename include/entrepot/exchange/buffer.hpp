// The buffer protocol (PEP 3118): host memory with a format, a shape and strides in bytes.
//
// This header knows the protocol and no Python: Descriptor is what a Py_buffer says. python/bind/exchange/buffer.cpp asks for
// the Py_buffer and holds it until the last view dies.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

namespace entrepot::buffer {

inline constexpr exchange::Speaker speaker{"buffer protocol", ErrorKind::exchange};

// What the exporter filled in, before anyone believed it. Everything in bytes, as the protocol has it.
struct Descriptor {
    void *data = nullptr;    // the first element, also where strides are negative
    std::int64_t bytes = 0;  // of all items, each counted once
    bool read_only = true;
    const char *format = nullptr;  // nullptr: bytes
    std::int64_t itemsize = 1;
    Extents shape{};
    const std::int64_t *strides = nullptr;     // as many as the shape has extents; nullptr: C-contiguous
    const std::int64_t *suboffsets = nullptr;  // as many; a negative one means none
};

// The Array keeps `owner` alive. Throws ExchangeError, with `owner` released: a format that is no single plain item in native
// byte order, a number of bytes that contradicts the shape, rows that are reached through pointers (suboffsets), strides that the
// item size does not divide, misaligned items.
Array verify(const Descriptor &descriptor, Owner owner, const Queue &queue = {});

}  // namespace entrepot::buffer
