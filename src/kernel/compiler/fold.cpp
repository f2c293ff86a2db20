#include "kernel/compiler/fold.hpp"

#include <cmath>

namespace entrepot::kernel {

namespace {

std::optional<std::int64_t> integer_of(const Number &number) {
    if (const auto *const value = std::get_if<bool>(&number))
        return *value;
    const auto *const value = std::get_if<std::int64_t>(&number);
    return value ? std::optional(*value) : std::nullopt;
}

std::optional<double> real_of(const Number &number) {
    if (const auto *const value = std::get_if<double>(&number))
        return *value;
    const auto value = integer_of(number);
    return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

std::int64_t floored(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0); }

std::optional<Number> power(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0)
        return base == 0 ? std::nullopt
                         : std::optional<Number>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    std::int64_t result = 1;
    if (base == 0 || base == 1 || base == -1)
        return exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? std::int64_t{1} : base;
    for (; exponent > 0; --exponent)
        if (__builtin_mul_overflow(result, base, &result))
            return std::nullopt;
    return result;
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

std::optional<Number> bits(std::string_view sign, std::int64_t a, std::int64_t b) {
    if (sign == "&")
        return a & b;
    if (sign == "|")
        return a | b;
    if (sign == "^")
        return a ^ b;
    if (b < 0)
        return std::nullopt;
    if (sign == ">>")
        return b > 63 ? (a < 0 ? std::int64_t{-1} : std::int64_t{0}) : a >> b;
    if (sign == "<<" && (a == 0 || b < 63)) {
        const std::int64_t shifted = a == 0 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
        return a == 0 || shifted >> b == a ? std::optional<Number>(shifted) : std::nullopt;
    }
    return std::nullopt;
}

std::optional<Number> integers(std::string_view sign, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (sign == "+")
        return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional<Number>(result);
    if (sign == "-")
        return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional<Number>(result);
    if (sign == "*")
        return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional<Number>(result);
    if (sign == "**")
        return power(a, b);
    if (sign == "/" || sign == "//" || sign == "%") {
        if (b == 0 || (a == INT64_MIN && b == -1))
            return std::nullopt;
        if (sign == "/")
            return static_cast<double>(a) / static_cast<double>(b);
        return sign == "//" ? floored(a, b) : a - floored(a, b) * b;
    }
    const auto truth = compared(sign, a, b);
    return truth ? truth : bits(sign, a, b);
}

// As CPython does it, which is right for infinite divisors too.
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
    return whole == 0 ? std::copysign(0.0, a / b) : std::floor(whole) + (whole - std::floor(whole) > 0.5 ? 1 : 0);
}

std::optional<std::uint64_t> natural_of(const Number &number) {
    if (const auto *const value = std::get_if<std::uint64_t>(&number))
        return *value;
    const auto value = integer_of(number);
    return value && *value >= 0 ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

std::optional<std::uint64_t> power(std::uint64_t base, std::uint64_t exponent) {
    std::uint64_t result = 1;
    for (; exponent > 0 && result != 0; --exponent)
        if (__builtin_mul_overflow(result, base, &result))
            return std::nullopt;
    return result;
}

Number smallest(std::uint64_t value) {
    return value <= std::uint64_t{INT64_MAX} ? Number(static_cast<std::int64_t>(value)) : Number(value);
}

// Of ints that are not negative, where one of them or the result is beyond int64.
std::optional<Number> naturals(std::string_view sign, std::uint64_t a, std::uint64_t b) {
    std::uint64_t result = 0;
    if (sign == "+")
        return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(smallest(result));
    if (sign == "*")
        return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(smallest(result));
    if (sign == "-" && a >= b)
        return smallest(a - b);
    if (sign == "**" && a > 1)
        if (const auto raised = power(a, b))
            return smallest(*raised);
    if (sign == "/" && b != 0)
        return static_cast<double>(a) / static_cast<double>(b);
    if ((sign == "//" || sign == "%") && b != 0)
        return smallest(sign == "//" ? a / b : a % b);
    if (sign == "&" || sign == "|" || sign == "^")
        return smallest(sign == "&" ? a & b : sign == "|" ? a | b : a ^ b);
    if (sign == ">>")
        return smallest(b > 63 ? 0 : a >> b);
    if (sign == "<<" && b < 64 && a << b >> b == a)
        return smallest(a << b);
    return compared(sign, a, b);
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
    if (const auto left = integer_of(a), right = integer_of(b); left && right) {
        const bool logical = std::holds_alternative<bool>(a) && std::holds_alternative<bool>(b);
        if (logical && (sign == "&" || sign == "|" || sign == "^"))
            return sign == "&" ? (*left & *right) != 0 : sign == "|" ? (*left | *right) != 0 : *left != *right;
        if (const auto number = integers(sign, *left, *right))
            return number;
    }
    if (const auto left = natural_of(a), right = natural_of(b); left && right)
        return naturals(sign, *left, *right);
    const auto is_whole = [](const Number &number) { return !std::holds_alternative<double>(number); };
    if (is_whole(a) && is_whole(b))
        return std::nullopt;
    const auto left = real_of(a), right = real_of(b);
    return left && right ? reals(sign, *left, *right) : std::nullopt;
}

std::optional<Number> folded(std::string_view sign, const Number &a) {
    if (const auto *const value = std::get_if<std::complex<double>>(&a))
        return sign == "-" ? std::optional<Number>(-*value) : sign == "+" ? std::optional<Number>(*value) : std::nullopt;
    if (const auto *const value = std::get_if<double>(&a))
        return sign == "-" ? std::optional<Number>(-*value) : sign == "+" ? std::optional<Number>(*value) : std::nullopt;
    if (sign == "-" && a == Number(std::uint64_t{1} << 63))  // Python's -9223372036854775808 is two tokens
        return INT64_MIN;
    const auto value = integer_of(a);
    if (!value)
        return std::nullopt;
    if (sign == "-" && *value == INT64_MIN)
        return std::uint64_t{1} << 63;
    return sign == "-" ? -*value : sign == "~" ? ~*value : *value;
}

}  // namespace entrepot::kernel
