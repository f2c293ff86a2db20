#include "kernel/frontend/fold.hpp"

#include <cmath>

namespace entrepot::kernel {

namespace {

// Type of results: it holds all values of int64 and uint64, and combinations of two of them. The
// range of a result is checked afterwards.
__extension__ using Wide = __int128;

std::optional<Wide> whole_of(const Number &number) {
    if (const auto *const value = std::get_if<bool>(&number))
        return *value;
    if (const auto *const value = std::get_if<std::uint64_t>(&number))
        return *value;
    const auto *const value = std::get_if<std::int64_t>(&number);
    return value ? std::optional<Wide>(*value) : std::nullopt;
}

std::optional<double> real_of(const Number &number) {
    if (const auto *const value = std::get_if<double>(&number))
        return *value;
    const auto value = whole_of(number);
    return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

// Returns: the value as int64 if it fits, else as uint64; nullopt if it fits neither.
std::optional<Number> as_number(Wide value) {
    if (value >= INT64_MIN && value <= INT64_MAX)
        return static_cast<std::int64_t>(value);
    if (value >= 0 && value <= Wide{UINT64_MAX})
        return static_cast<std::uint64_t>(value);
    return std::nullopt;
}

Wide floored(Wide a, Wide b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0); }

std::optional<Number> power(Wide base, Wide exponent) {
    if (exponent < 0)
        return base == 0 ? std::nullopt
                         : std::optional<Number>(
                               std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    if (base == 0 || base == 1 || base == -1)
        return exponent == 0
                   ? std::int64_t{1}
                   : static_cast<std::int64_t>(base == -1 && exponent % 2 == 0 ? 1 : base);
    Wide result = 1;
    for (; exponent > 0; --exponent)
        if (__builtin_mul_overflow(result, base, &result))
            return std::nullopt;
    return as_number(result);
}

template <class Value> std::optional<Number> compared(std::string_view sign, Value a, Value b) {
    if (sign == "<")
        return a < b;
    if (sign == "<=")
        return a <= b;
    if (sign == ">")
        return a > b;
    if (sign == ">=")
        return a >= b;
    if (sign == "==")
        return a == b;
    if (sign == "!=")
        return a != b;
    return std::nullopt;
}

std::optional<Number> bits(std::string_view sign, Wide a, Wide b) {
    constexpr int most = 64;  // a larger shift gives 0, -1 or a value beyond both types
    if (sign == "&")
        return as_number(a & b);
    if (sign == "|")
        return as_number(a | b);
    if (sign == "^")
        return as_number(a ^ b);
    if (b < 0)
        return std::nullopt;
    if (sign == ">>")
        return as_number(b > most ? (a < 0 ? -1 : 0) : a >> static_cast<int>(b));
    Wide shifted = 0;
    if (sign == "<<" && (a == 0 || (b < most && !__builtin_mul_overflow(
                                                    a, Wide{1} << static_cast<int>(b), &shifted))))
        return as_number(shifted);
    return std::nullopt;
}

std::optional<Number> integers(std::string_view sign, Wide a, Wide b) {
    Wide product = 0;
    if (sign == "+")
        return as_number(a + b);
    if (sign == "-")
        return as_number(a - b);
    if (sign == "*")
        return __builtin_mul_overflow(a, b, &product) ? std::nullopt : as_number(product);
    if (sign == "**")
        return power(a, b);
    if (sign == "/" || sign == "//" || sign == "%") {
        if (b == 0)
            return std::nullopt;
        if (sign == "/")
            return static_cast<double>(a) / static_cast<double>(b);
        return as_number(sign == "//" ? floored(a, b) : a - floored(a, b) * b);
    }
    const auto truth = compared(sign, a, b);
    return truth ? truth : bits(sign, a, b);
}

// Algorithm of CPython, which is also correct for infinite divisors.
double floored(bool quotient, double a, double b) {
    double rest = std::fmod(a, b), whole = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        whole -= 1;
    } else if (rest == 0) {
        rest = std::copysign(0.0, b);
    }
    if (!quotient)
        return rest;
    return whole == 0 ? std::copysign(0.0, a / b)
                      : std::floor(whole) + (whole - std::floor(whole) > 0.5 ? 1 : 0);
}

std::optional<Number> reals(std::string_view sign, double a, double b) {
    if (sign == "+")
        return a + b;
    if (sign == "-")
        return a - b;
    if (sign == "*")
        return a * b;
    if (sign == "**")
        return a < 0 && b != std::trunc(b) ? std::nullopt : std::optional<Number>(std::pow(a, b));
    if ((sign == "/" || sign == "//" || sign == "%") && b == 0)
        return std::nullopt;
    if (sign == "/")
        return a / b;
    if (sign == "//" || sign == "%")
        return floored(sign == "//", a, b);
    return compared(sign, a, b);
}

}  // namespace

std::optional<Number> folded(std::string_view sign, const Number &a, const Number &b) {
    if (const auto left = whole_of(a), right = whole_of(b); left && right) {
        const bool logical = std::holds_alternative<bool>(a) && std::holds_alternative<bool>(b);
        if (logical && (sign == "&" || sign == "|" || sign == "^"))
            return sign == "&"   ? (*left & *right) != 0
                   : sign == "|" ? (*left | *right) != 0
                                 : *left != *right;
        return integers(sign, *left, *right);
    }
    const auto left = real_of(a), right = real_of(b);
    return left && right ? reals(sign, *left, *right) : std::nullopt;
}

std::optional<Number> folded(std::string_view sign, const Number &a) {
    if (const auto *const value = std::get_if<std::complex<double>>(&a))
        return sign == "-"   ? std::optional<Number>(-*value)
               : sign == "+" ? std::optional<Number>(*value)
                             : std::nullopt;
    if (const auto *const value = std::get_if<double>(&a))
        return sign == "-"   ? std::optional<Number>(-*value)
               : sign == "+" ? std::optional<Number>(*value)
                             : std::nullopt;
    const auto value = whole_of(a);
    return value ? as_number(sign == "-" ? -*value : sign == "~" ? ~*value : *value) : std::nullopt;
}

}  // namespace entrepot::kernel
