// AddressRange: the memory from the first to the last element of an array, to find aliases.
#pragma once
#include <entrepot/array/array.hpp>

#include <cstddef>

namespace entrepot::kernel {

struct AddressRange {
    const std::byte *begin, *end;

    // `range` is the byte range of the layout.
    // Requires: the array's extent in bytes fits 64 bits.
    AddressRange(const Array &array, const ByteRange &range) noexcept
        : begin(static_cast<const std::byte *>(array.data()) + range.begin),
          end(begin + range.size()) {}
    explicit AddressRange(const Array &array)
        : AddressRange(array, array.layout().byte_range(array.itemsize())) {}

    // Conservative for strided arrays: the ranges of two arrays may overlap although they share no
    // element.
    bool overlaps(const AddressRange &other) const noexcept {
        return begin < other.end && other.begin < end;
    }
};

}  // namespace entrepot::kernel
