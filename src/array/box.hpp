// The layout of an array as the backends take it: shape and strides in bytes.
#pragma once
#include <entrepot/array/array.hpp>

#include <array>
#include <cstdint>

namespace entrepot {

using ByteStrides = std::array<std::int64_t, EP_MAX_NDIM>;

inline ByteStrides byte_strides(const Array &array) {
    ByteStrides result{};
    for (std::size_t axis = 0; axis < array.ndim(); ++axis)
        if (array.shape()[axis] != 1)  // else the stride is arbitrary, and might overflow
            result[axis] = array.strides()[axis] * array.itemsize();
    return result;
}

// Lifetime: the box points to the shape of the array.
inline ep_box box_of(const Array &array) {
    return {array.ndim(), static_cast<std::size_t>(array.itemsize()), array.shape().data()};
}

}  // namespace entrepot
