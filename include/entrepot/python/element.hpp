// The element types of arrays in C++: element<T> and dtype_of<T>, and types for float16 and
// bfloat16.
#pragma once
#include <entrepot/core/api.hpp>
#include <entrepot/core/dtype.hpp>

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#if __has_include(<stdfloat>)
#include <stdfloat>
#endif

#pragma GCC visibility push(hidden)
namespace entrepot {
inline namespace extension {

namespace detail {

struct Binary16 {
    static constexpr int exponent_bits = 5, fraction_bits = 10;
    static constexpr Dtype dtype = dtypes::float16;

    static constexpr std::uint16_t encode(float value) noexcept {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fff'ffff;
        if (magnitude > 0x7f80'0000)  // NaN
            return static_cast<std::uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
        if (magnitude >= 0x477f'f000)  // 65520, and what is larger: infinity
            return static_cast<std::uint16_t>(sign | 0x7c00);
        if (magnitude >= 0x3880'0000)  // 2^-14: a normal number, also after rounding
            return static_cast<std::uint16_t>(
                sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x3800'0000) >> 13);
        const std::uint32_t exponent = magnitude >> 23;
        if (exponent < 102)  // less than 2^-25: 0
            return static_cast<std::uint16_t>(sign);
        const std::uint32_t significand = (magnitude & 0x7f'ffff) | 0x80'0000;
        const std::uint32_t shift = 126 - exponent, half = 1u << (shift - 1);  // units of 2^-24
        const std::uint32_t units = significand >> shift, rest = significand & (2 * half - 1);
        return static_cast<std::uint16_t>(sign |
                                          (units + (rest > half || (rest == half && (units & 1)))));
    }
    static constexpr float decode(std::uint16_t bits) noexcept {
        const std::uint32_t sign = (bits & 0x8000u) << 16, fraction = bits & 0x3ffu;
        const std::uint32_t exponent = bits >> 10 & 0x1fu;
        if (exponent == 0)
            return std::bit_cast<float>(
                sign | std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f));
        return std::bit_cast<float>(sign | (exponent == 0x1f ? 0xff : exponent + 112) << 23 |
                                    fraction << 13);
    }
};

struct BrainFloat16 {
    static constexpr int exponent_bits = 8, fraction_bits = 7;
    static constexpr Dtype dtype = dtypes::bfloat16;

    static constexpr std::uint16_t encode(float value) noexcept {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        if ((bits & 0x7fff'ffff) > 0x7f80'0000)  // NaN, whose fraction a carry could clear
            return static_cast<std::uint16_t>(bits >> 16 | 0x40);
        return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    static constexpr float decode(std::uint16_t bits) noexcept {
        return std::bit_cast<float>(std::uint32_t{bits} << 16);
    }
};

}  // namespace detail

// A float of 16 bits, for compilers without std::float16_t and std::bfloat16_t. Arithmetic is
// that of float. Conversions from float round to nearest, ties to even; values that are too
// large become infinity.
template <class Format> class small_float {
public:
    small_float() = default;
    constexpr explicit small_float(float value) noexcept : bits_(Format::encode(value)) {}
    constexpr operator float() const noexcept { return Format::decode(bits_); }
    static constexpr small_float from_bits(std::uint16_t bits) noexcept {
        small_float made(0.0f);
        made.bits_ = bits;
        return made;
    }
    constexpr std::uint16_t bits() const noexcept { return bits_; }

    constexpr small_float &operator=(float value) noexcept {
        bits_ = Format::encode(value);
        return *this;
    }
    constexpr small_float &operator+=(float other) noexcept { return *this = *this + other; }
    constexpr small_float &operator-=(float other) noexcept { return *this = *this - other; }
    constexpr small_float &operator*=(float other) noexcept { return *this = *this * other; }
    constexpr small_float &operator/=(float other) noexcept { return *this = *this / other; }

private:
    std::uint16_t bits_;
};

using float16_t = small_float<detail::Binary16>;       // IEEE 754's binary16
using bfloat16_t = small_float<detail::BrainFloat16>;  // the upper half of a float

// The dtype of a C++ type. Specialize it for a type of your own:
//
//     template <> struct entrepot::element<__half> {
//         static constexpr entrepot::Dtype dtype = entrepot::dtypes::float16;
//     };
template <class T> struct element;

namespace detail {

template <class T> constexpr Dtype plain_dtype(TypeCode code) noexcept {
    return {code, static_cast<std::uint8_t>(8 * sizeof(T))};
}

template <class T> constexpr Dtype checked_dtype() noexcept {
    constexpr Dtype dtype = element<T>::dtype;
    static_assert(dtype.itemsize() == static_cast<std::int64_t>(sizeof(T)),
                  "element<T>::dtype has another size than T");
    static_assert(std::is_trivially_copyable_v<T>, "elements are copied as bytes");
    return dtype;
}

// `float32`, `float32x4`; for types without a name `code 3, 24 bits`.
inline std::string text_of(Dtype dtype) {
    const DtypeRow *const row = find_dtype({dtype.code, dtype.bits});
    const std::string lane = row ? std::string(row->name)
                                 : "code " + std::to_string(static_cast<int>(dtype.code)) + ", " +
                                       std::to_string(dtype.bits) + " bits";
    return dtype.lanes == 1 ? lane : lane + "x" + std::to_string(dtype.lanes);
}

}  // namespace detail

template <std::integral T>
    requires(sizeof(T) <= 8)
struct element<T> {
    static constexpr Dtype dtype =
        detail::plain_dtype<T>(std::same_as<T, bool> ? TypeCode::boolean
                               : std::is_signed_v<T> ? TypeCode::integer
                                                     : TypeCode::unsigned_integer);
};
template <std::floating_point T>
    requires(sizeof(T) <= 8)
struct element<T> {
    static constexpr Dtype dtype = detail::plain_dtype<T>(TypeCode::floating);
};
template <class T>
    requires(std::same_as<T, float> || std::same_as<T, double>)
struct element<std::complex<T>> {
    static constexpr Dtype dtype = detail::plain_dtype<std::complex<T>>(TypeCode::complex);
};
template <class Format> struct element<small_float<Format>> {
    static constexpr Dtype dtype = Format::dtype;
};
#ifdef __STDCPP_BFLOAT16_T__
template <> struct element<std::bfloat16_t> {
    static constexpr Dtype dtype = dtypes::bfloat16;
};
#endif

// The dtype of elements that C++ sees as T or const T.
template <class T>
ENTREPOT_LOCAL inline constexpr Dtype dtype_of = detail::checked_dtype<std::remove_const_t<T>>();

}  // namespace extension
}  // namespace entrepot

template <class Format>
class std::numeric_limits<entrepot::small_float<Format>> : public std::numeric_limits<float> {
    using Number = entrepot::small_float<Format>;
    static constexpr int fraction_bits = Format::fraction_bits;
    static constexpr std::uint16_t infinity_bits = ((1 << Format::exponent_bits) - 1)
                                                   << fraction_bits;
    static constexpr int bias = (1 << (Format::exponent_bits - 1)) - 1;

public:
    static constexpr int digits = fraction_bits + 1;
    static constexpr int digits10 = fraction_bits * 301 / 1000;
    static constexpr int max_digits10 = 2 + digits * 301 / 1000;
    static constexpr int min_exponent = 2 - bias, max_exponent = 1 + bias;
    static constexpr int min_exponent10 = -((bias - 1) * 301 / 1000);
    static constexpr int max_exponent10 = max_exponent * 301 / 1000;

    static constexpr Number min() noexcept { return Number::from_bits(1 << fraction_bits); }
    static constexpr Number max() noexcept { return Number::from_bits(infinity_bits - 1); }
    static constexpr Number lowest() noexcept {
        return Number::from_bits(0x8000 | (infinity_bits - 1));
    }
    static constexpr Number epsilon() noexcept {
        return Number::from_bits((bias - fraction_bits) << fraction_bits);
    }
    static constexpr Number round_error() noexcept { return Number(0.5f); }
    static constexpr Number infinity() noexcept { return Number::from_bits(infinity_bits); }
    static constexpr Number quiet_NaN() noexcept {
        return Number::from_bits(infinity_bits | 1 << (fraction_bits - 1));
    }
    static constexpr Number signaling_NaN() noexcept {
        return Number::from_bits(infinity_bits | 1);
    }
    static constexpr Number denorm_min() noexcept { return Number::from_bits(1); }
};

#pragma GCC visibility pop
