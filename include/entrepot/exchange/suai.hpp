// The SYCL USM Array Interface (SUAI), version 1: a dict that names USM memory and the context that
// it is bound to.
//
// This header knows the protocol and no Python. The dict becomes a Descriptor in
// python/bind/exchange/suai.cpp. verify() asks the driver about the pointer and returns an Array.
//
// The dict keeps nothing alive: a consumer holds the exporting object while its work uses the
// memory. It does not write if the dict says read-only.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/core/api.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#include <string_view>

#pragma GCC visibility push(default)
namespace entrepot::suai {

inline constexpr int version = 1;
ENTREPOT_LOCAL inline constexpr exchange::Speaker speaker{"SUAI", ErrorKind::interface};

// Contents of the dict, not yet verified. Strides and offset are in elements.
struct Descriptor {
    void *data = nullptr;  // `offset` elements before the first element
    bool read_only = false;
    std::string_view typestr;
    Extents shape{};
    // as many as the shape has extents; nullptr: C-contiguous
    const std::int64_t *strides = nullptr;
    std::int64_t offset = 0;
    Context context;  // that the pointer is bound to; may be absent for a buffer
    Queue queue;      // of the producer, if it gave one; its work may still be running
    // Size of the object's buffer, which is used if the dict has no `data`; else -1.
    std::int64_t buffer_bytes = -1;
};

// Asks the context about the range from the lowest to the highest byte of the elements, and orders
// the Array after the producer's queue. Does not block. A pointer without elements is not looked
// up. A buffer that the context does not know is ordinary host memory.
//
// Ownership: the Array holds `owner`; if verify throws, `owner` is released and nothing else has
//            changed.
// Throws: InterfaceError: an invalid typestr, shape or strides, a pointer unknown in the context,
//         an element outside the allocation or the buffer, a misaligned item.
Array verify(Descriptor descriptor, Owner owner);

// Returns: the queue for the consumer to use: the array's own if it is in the memory's context,
//          else an in-order queue in that context. It waits for all work on the array. Later work
//          on the array waits for the consumer's work in it.
// Throws: InterfaceError for memory that is not SYCL's, DeviceError of the runtime.
Queue queue_for_consumer(const Array &array);

}  // namespace entrepot::suai
#pragma GCC visibility pop
