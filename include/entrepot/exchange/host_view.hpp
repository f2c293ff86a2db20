// Host views: ordinary host memory that a protocol has described, seen as an Array. Shared by the
// buffer protocol, the array interface and NumPy's own arrays.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#include <utility>

#pragma GCC visibility push(default)
namespace entrepot::exchange {

// `first` is the first element. No driver can be asked about host memory, so a consistent
// description is trusted. `borrow` is Memory::borrow_host, or a function that does the same.
//
// Ownership: if view_host throws, `owner` is released.
// Throws: the protocol's error: misaligned, NULL with elements, or outside the address space.
template <class Borrow = Memory (&)(void *, std::size_t, Owner)>
inline Array view_host(const Speaker &speaker, void *first, Dtype dtype, Layout &&layout,
                       bool read_only, Owner &&owner, const Queue &queue,
                       Borrow &&borrow = Memory::borrow_host) {
    if (layout.size() == 0)
        return Array(borrow(first, 0, std::move(owner)), first, dtype, std::move(layout), read_only,
                     queue);
    if (!first)
        throw speaker.refusal("the data pointer is NULL, but ", layout, " has elements");
    check_alignment(speaker, first, dtype);
    const Reach reach = reach_of(speaker, layout, first, dtype.itemsize());
    return Array(borrow(reach.lowest, reach.bytes, std::move(owner)), first, dtype,
                 std::move(layout), read_only, queue);
}

}  // namespace entrepot::exchange
#pragma GCC visibility pop
