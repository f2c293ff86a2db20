// Small floats: float16 and bfloat16 as bits, for compilers without such types.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#pragma GCC visibility push(default)
namespace entrepot {

// An IEEE 754 interchange format of 16 bits, by the widths of its fields.
template <int exponent_bits, int fraction_bits> struct SmallFloat {
    static_assert(exponent_bits + fraction_bits == 15);
    static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    static constexpr int infinity_exponent = (1 << exponent_bits) - 1;

    // Rounds to nearest, ties to even; values that are too large become infinity.
    static std::uint16_t encode(double value) noexcept {
        const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000u : 0u);
        const auto infinity =
            static_cast<std::uint16_t>(sign | (infinity_exponent << fraction_bits));
        if (std::isnan(value))
            return static_cast<std::uint16_t>(infinity | (1u << (fraction_bits - 1)));
        if (std::isinf(value))
            return infinity;
        if (value == 0)
            return sign;
        int exponent = 0;
        std::frexp(value, &exponent);  // value = m · 2^exponent, m in [0.5, 1)
        const int biased = std::max(exponent - 1 + bias, 1);
        // In units of the last place; reaches 2^(fraction_bits + 1) when rounding carries, which
        // then increments the exponent.
        const double units =
            std::nearbyint(std::ldexp(std::fabs(value), fraction_bits + bias - biased));
        const auto bits = static_cast<std::uint32_t>(units) +
                          (static_cast<std::uint32_t>(biased - 1) << fraction_bits);
        return bits >= static_cast<std::uint32_t>(infinity_exponent << fraction_bits)
                   ? infinity
                   : static_cast<std::uint16_t>(sign | bits);
    }

    static double decode(std::uint16_t bits) noexcept {
        const double sign = bits & 0x8000u ? -1.0 : 1.0;
        const int exponent = (bits >> fraction_bits) & infinity_exponent;
        const int fraction = bits & ((1 << fraction_bits) - 1);
        if (exponent == infinity_exponent)
            return fraction ? std::nan("") : sign * INFINITY;
        const int significand = exponent ? fraction | (1 << fraction_bits) : fraction;
        return sign * std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
    }
};

using Float16 = SmallFloat<5, 10>;
using BFloat16 = SmallFloat<8, 7>;

}  // namespace entrepot
#pragma GCC visibility pop
