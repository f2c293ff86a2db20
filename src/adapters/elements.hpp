// Elements of the list adapters: C integer types with a list adapter, and conversion of values.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace entrepot::adapters {

// A 64-bit integer of either sign.
struct Integer {
    std::uint64_t bits = 0;  // two's complement if negative
    bool is_negative = false;
};

struct ElementType {
    const char *list;    // Python name of the list adapter
    const char *single;  // Python name of the adapter for one element
    const char *c_name;
    std::uint8_t size;
    bool is_signed;

    // Returns: false, without writing, if the value is out of range.
    bool store(void *to, Integer value) const noexcept {
        const std::uint64_t highest = ~std::uint64_t{0} >> (64 - 8 * size + (is_signed ? 1 : 0));
        if (value.is_negative ? !is_signed || ~value.bits > highest : value.bits > highest)
            return false;
        std::memcpy(to, &value.bits, size);  // little-endian
        return true;
    }

    Integer load(const void *from) const noexcept {
        Integer value;
        std::memcpy(&value.bits, from, size);
        const unsigned unused = 64 - 8 * size;
        value.is_negative = is_signed && value.bits >> (63 - unused) & 1;
        if (value.is_negative)
            value.bits |= ~(~std::uint64_t{0} >> unused);
        return value;
    }
};

inline constexpr std::array<ElementType, 6> element_table{{
    {"ListOfInt", "PointerToInt", "int", sizeof(int), true},
    {"ListOfUnsigned", "PointerToUnsigned", "unsigned int", sizeof(unsigned), false},
    {"ListOfLong", "PointerToLong", "long", sizeof(long), true},
    {"ListOfUnsignedLong", "PointerToUnsignedLong", "unsigned long", sizeof(unsigned long), false},
    {"ListOfInt64", "PointerToInt64", "int64_t", 8, true},
    {"ListOfUInt64", "PointerToUInt64", "uint64_t", 8, false},
}};

}  // namespace entrepot::adapters
