// The SYCL USM Array Interface (SUAI), version 1: a dict that names USM memory and the context that it is bound to.
//
// This header knows the protocol and no Python. python/bind/exchange/suai.cpp turns the dict into a Descriptor; verify()
// turns the Descriptor into an Array after asking the driver what the pointer is.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#include <string_view>

namespace entrepot::suai {

inline constexpr int version = 1;
inline constexpr exchange::Speaker speaker{"SUAI", ErrorKind::interface};

// What the dict said, before anyone believed it. Strides and offset are in elements, as the protocol has them.
struct Descriptor {
    void *data = nullptr;  // an allocation's base or the first element: `offset` makes it the first element
    bool read_only = false;
    std::string_view typestr;
    Extents shape{};
    const std::int64_t *strides = nullptr;  // as many as the shape has extents; nullptr: C-contiguous
    std::int64_t offset = 0;
    Context context;  // that the pointer is bound to; none only of an object's buffer
    Queue queue;      // of the producer, where it gave one: its work on the memory may still be running
    // Where the dict had no `data`, the object's buffer is meant: its bytes. -1 where the dict had it.
    std::int64_t buffer_bytes = -1;
};

// Asks the context what the pointer is, for the lowest and the highest byte that an element has. The Array keeps `owner` alive
// and is ordered behind the producer's queue; nothing waits here. A pointer without elements is not asked. An object's
// buffer that the context does not know is ordinary host memory.
// Throws InterfaceError: typestr, shape or strides say something impossible; the pointer is unknown in the context; an element
// lies outside the allocation or buffer; the item is misaligned. The owner is released then, and nothing else has happened.
Array verify(Descriptor descriptor, Owner owner);

// The queue that a consumer shall use: the array's own where it lives in the memory's context, else one in order in that
// context. It is ordered behind all work on the array, and later work on the array behind what the consumer submits to it.
// Throws InterfaceError for memory that is not SYCL's, DeviceError of the runtime.
Queue hand_over(const Array &array);

}  // namespace entrepot::suai
