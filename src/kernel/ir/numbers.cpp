#include "kernel/ir/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <variant>

namespace entrepot::kernel {

namespace {

double largest_of(Dtype dtype) {
    if (dtype == dtypes::float16)
        return 65504;
    if (dtype == dtypes::bfloat16)
        return 0x1.FEp127;
    return dtype.bits == 64 ? std::numeric_limits<double>::max()
                            : double{std::numeric_limits<float>::max()};
}

// True if the type holds the integer part of `value`.
bool holds(Dtype integer, double value) {
    const double end = std::ldexp(1.0, integer.bits - (is_signed(integer) ? 1 : 0)),
                 whole = std::trunc(value);
    return whole < end && whole >= (is_signed(integer) ? -end : 0.0);
}

bool holds(Dtype integer, std::int64_t value) {
    if (is_unsigned(integer))
        return value >= 0 && (integer.bits == 64 || value < std::int64_t{1} << integer.bits);
    const std::int64_t most = integer.bits == 64 ? std::numeric_limits<std::int64_t>::max()
                                                 : (std::int64_t{1} << (integer.bits - 1)) - 1;
    return value <= most && value >= -most - 1;
}

bool holds(Dtype integer, std::uint64_t value) {
    if (value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()})
        return holds(integer, static_cast<std::int64_t>(value));
    return integer == dtypes::uint64;
}

// Nearest number of the type, ties to even. Dialects round literals of float32 and float64
// themselves. Types without literals are rounded here, once.
double nearest(double value, Dtype dtype) {
    if (dtype.bits != 16 || value == 0 || !std::isfinite(value))
        return value;
    const bool is_half = dtype == dtypes::float16;
    const int digits = is_half ? 11 : 8, least_exponent = is_half ? -24 : -133;
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    const int last_digit = std::max(exponent - digits, least_exponent);
    return std::ldexp(std::nearbyint(std::ldexp(value, -last_digit)), last_digit);
}

std::optional<ir::Expression> as_real(ir::Expression made, double value, Dtype dtype) {
    const double rounded = nearest(value, dtype), slack = dtype.bits == 16 ? 1 : 1 + 0x1p-25;
    if (std::isfinite(value) && std::abs(rounded) > largest_of(dtype) * slack)
        return std::nullopt;
    made.value = rounded;
    return made;
}

template <class Number>
std::optional<ir::Expression> as_integer(ir::Expression made, Number value, Dtype dtype) {
    if (!holds(dtype, value))
        return std::nullopt;
    if (dtype == dtypes::uint64)
        made.value = static_cast<std::uint64_t>(value);
    else
        made.value = static_cast<std::int64_t>(value);
    return made;
}

std::string text_of_double(double value) {
    if (!std::isfinite(value))
        return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    const std::string text(buffer, end);
    return text.find_first_of(".en") == text.npos ? text + ".0" : text;
}

}  // namespace

bool is_number(Dtype dtype) {
    if (dtype.lanes != 1 || find_dtype(dtype) == nullptr)
        return false;
    return is_boolean(dtype) || is_integer(dtype) || is_float(dtype) ||
           (is_complex(dtype) && dtype.bits >= 64);
}

Dtype part_of(Dtype complex) {
    return {TypeCode::floating, static_cast<std::uint8_t>(complex.bits / 2)};
}

Dtype complex_of(Dtype part) {
    return part == dtypes::float64 ? dtypes::complex128 : dtypes::complex64;
}

std::optional<ir::Expression> constant_as(const ir::Expression &constant, Dtype dtype) {
    ir::Expression made = constant;
    made.type = scalar_type(dtype);
    return std::visit(
        [&](const auto &value) -> std::optional<ir::Expression> {
            using Number = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Number, std::monostate> ||
                          std::is_same_v<Number, std::string>) {
                return std::nullopt;
            } else if constexpr (std::is_same_v<Number, std::complex<double>>) {
                made.value = value;
                return is_complex(dtype) ? std::optional(made) : std::nullopt;
            } else {
                if (is_boolean(dtype))
                    made.value = value != Number{};
                else if (is_complex(dtype))
                    made.value = std::complex<double>(static_cast<double>(value));
                else if (is_float(dtype))
                    return as_real(made, static_cast<double>(value), dtype);
                else if constexpr (std::is_same_v<Number, bool>)
                    return as_integer(made, std::int64_t{value}, dtype);
                else
                    return as_integer(made, value, dtype);
                return made;
            }
        },
        constant.value);
}

std::string text_of_constant(const ir::Expression &constant) {
    return std::visit(
        [](const auto &value) -> std::string {
            using Number = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Number, std::monostate>)
                return "None";
            else if constexpr (std::is_same_v<Number, std::string>)
                return "'" + value + "'";
            else if constexpr (std::is_same_v<Number, std::complex<double>>)
                return "(" + text_of_double(value.real()) + " + " + text_of_double(value.imag()) +
                       "j)";
            else if constexpr (std::is_same_v<Number, bool>)
                return value ? "True" : "False";
            else if constexpr (std::is_same_v<Number, double>)
                return text_of_double(value);
            else
                return std::to_string(value);
        },
        constant.value);
}

}  // namespace entrepot::kernel
