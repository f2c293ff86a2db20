// Loads numbers from memory of any alignment, such as elements of arrays and fields of C records.
#pragma once
#include <entrepot/core/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace entrepot::python {

// Requires: `item` points to at least sizeof(T) bytes.
template <class T> T load(const std::byte *item) noexcept {
    T value;
    std::memcpy(&value, item, sizeof value);
    return value;
}

// An integer of `bits` bits, widened to the largest type.
// Requires: `bits` is 8, 16, 32 or 64.
template <class Of8, class Of16, class Of32, class Of64>
Of64 load_integer(const std::byte *item, int bits) noexcept {
    ENTREPOT_ASSERT(bits == 8 || bits == 16 || bits == 32 || bits == 64);
    switch (bits) {
    case 8:
        return load<Of8>(item);
    case 16:
        return load<Of16>(item);
    case 32:
        return load<Of32>(item);
    default:
        return load<Of64>(item);
    }
}

inline std::int64_t load_signed(const std::byte *item, int bits) noexcept {
    return load_integer<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(item, bits);
}

inline std::uint64_t load_unsigned(const std::byte *item, int bits) noexcept {
    return load_integer<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(item, bits);
}

}  // namespace entrepot::python
