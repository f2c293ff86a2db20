// Loads the bytes of an element as a C++ number.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace entrepot::python {

template <class T> T load(const std::byte *item) noexcept {
    T value;
    std::memcpy(&value, item, sizeof value);
    return value;
}

// An integer of 8, 16, 32 or 64 bits, widened to the largest type.
template <class Of8, class Of16, class Of32, class Of64>
Of64 load_integer(const std::byte *item, int bits) noexcept {
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
