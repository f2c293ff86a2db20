// The element types of arrays in C++: element<T> and dtype_of<T>, and types for float16 and
// bfloat16.
#pragma once
#include <entrepot/core/dtype.hpp>
#include <entrepot/core/small_float.hpp>

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#if __has_include(<stdfloat>)
#include <stdfloat>
#endif

namespace entrepot {
inline namespace extension {

// IEEE 754's binary16, for compilers without std::float16_t. Arithmetic is that of float.
class float16_t {
public:
    float16_t() = default;
    // Rounds to nearest, ties to even; values that are too large become infinity.
    float16_t(float value) noexcept : bits_(encode(value)) {}
    operator float() const noexcept { return decode(bits_); }

    float16_t &operator+=(float other) noexcept { return *this = *this + other; }
    float16_t &operator-=(float other) noexcept { return *this = *this - other; }
    float16_t &operator*=(float other) noexcept { return *this = *this * other; }
    float16_t &operator/=(float other) noexcept { return *this = *this / other; }

private:
// Clang had _Float16 only for processors with AVX-512 before version 15.
#if defined(__FLT16_MANT_DIG__) && (!defined(__clang__) || __clang_major__ >= 15)
    static std::uint16_t encode(float value) noexcept {
        return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    }
    static float decode(std::uint16_t bits) noexcept {
        return static_cast<float>(std::bit_cast<_Float16>(bits));
    }
#else
    static std::uint16_t encode(float value) noexcept { return Float16::encode(value); }
    static float decode(std::uint16_t bits) noexcept {
        return static_cast<float>(Float16::decode(bits));
    }
#endif

    std::uint16_t bits_;
};

// The upper half of a float, for compilers without std::bfloat16_t. Arithmetic is that of float.
class bfloat16_t {
public:
    bfloat16_t() = default;
    // Rounds to nearest, ties to even.
    bfloat16_t(float value) noexcept : bits_(encode(value)) {}
    operator float() const noexcept { return std::bit_cast<float>(std::uint32_t{bits_} << 16); }

    bfloat16_t &operator+=(float other) noexcept { return *this = *this + other; }
    bfloat16_t &operator-=(float other) noexcept { return *this = *this - other; }
    bfloat16_t &operator*=(float other) noexcept { return *this = *this * other; }
    bfloat16_t &operator/=(float other) noexcept { return *this = *this / other; }

private:
    static std::uint16_t encode(float value) noexcept {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        if (value != value)  // adding could carry a NaN's fraction into infinity
            return static_cast<std::uint16_t>(bits >> 16 | 0x40);
        return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }

    std::uint16_t bits_;
};

// The dtype of a C++ type. Specialize it for a type of your own:
//
//     template <> struct entrepot::element<__half> {
//         static constexpr entrepot::Dtype dtype{entrepot::TypeCode::floating, 16};
//     };
template <class T> struct element;

template <class T> constexpr Dtype plain_dtype(TypeCode code) noexcept {
    return {code, static_cast<std::uint8_t>(8 * sizeof(T))};
}

template <std::integral T>
    requires(sizeof(T) <= 8)
struct element<T> {
    static constexpr Dtype dtype =
        plain_dtype<T>(std::same_as<T, bool> ? TypeCode::boolean
                       : std::is_signed_v<T> ? TypeCode::integer
                                             : TypeCode::unsigned_integer);
};
template <std::floating_point T>
    requires(sizeof(T) <= 8)
struct element<T> {
    static constexpr Dtype dtype = plain_dtype<T>(TypeCode::floating);
};
template <class T>
    requires(std::same_as<T, float> || std::same_as<T, double>)
struct element<std::complex<T>> {
    static constexpr Dtype dtype = plain_dtype<std::complex<T>>(TypeCode::complex);
};
template <> struct element<float16_t> {
    static constexpr Dtype dtype = dtypes::float16;
};
template <> struct element<bfloat16_t> {
    static constexpr Dtype dtype = dtypes::bfloat16;
};
#ifdef __STDCPP_BFLOAT16_T__
template <> struct element<std::bfloat16_t> {
    static constexpr Dtype dtype = dtypes::bfloat16;
};
#endif

// The dtype of elements that C++ sees as T or const T.
template <class T> inline constexpr Dtype dtype_of = element<std::remove_const_t<T>>::dtype;

// `float32`; for types that C++ code cannot ask for, `type code 3 of 24 bits`.
inline std::string text_of(Dtype dtype) {
    const DtypeRow *const row = find_dtype(dtype);
    return row ? std::string(row->name)
               : "type code " + std::to_string(static_cast<int>(dtype.code)) + " of " +
                     std::to_string(dtype.bits) + " bits and " + std::to_string(dtype.lanes) +
                     " lanes";
}

}  // namespace extension
}  // namespace entrepot
