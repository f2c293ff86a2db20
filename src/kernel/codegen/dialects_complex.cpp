// Functions of complex numbers in terms of real ones, shared by all dialects. The formulas are
// Kahan's ("Branch cuts for complex elementary functions", 1987). Python's cmath uses them, too.
// They preserve the sign of a zero, which selects the side of a branch cut.
#include "kernel/codegen/dialects.hpp"

#include <algorithm>

namespace entrepot::kernel {

namespace {

constexpr HelperRow rows[] = {
    {"phase", R"(
FUNCTION P phase_NAME(NAME z) {
    return {atan2}(z.y, z.x);
})",
     "type"},
    {"turn", R"(
FUNCTION NAME turn_NAME(NAME z) {
    return make_NAME(NEGATE(z.y), z.x);
})",
     "make"},
    {"turn_back", R"(
FUNCTION NAME turn_back_NAME(NAME z) {
    return make_NAME(z.y, NEGATE(z.x));
})",
     "make"},
    {"exp", R"(
FUNCTION NAME exp_NAME(NAME z) {
    P size = {exp}(z.x);
    if (z.x < 0 && {isinf}(z.x) && !{isfinite}(z.y))  // nothing, whatever its direction
        return make_NAME(0, 0);
    return z.y == 0 ? make_NAME(size, z.y) : make_NAME(size * {cos}(z.y), size * {sin}(z.y));
})",
     "make"},
    // Near the unit circle the logarithm of the distance is small, and the rounded distance has too
    // few digits for it. For large numbers the distance may overflow; near 0 it has few digits.
    {"log", R"(
FUNCTION NAME log_NAME(NAME z) {
    P size = {hypot}(z.x, z.y), most = {abs}(z.x), least = {abs}(z.y);
    if (most < least) {
        P other = most;
        most = least;
        least = other;
    }
    P real = {log}(size);
    if (size > (P)0.71 && size < (P)1.73)
        real = {log1p}((most - 1) * (most + 1) + least * least) / 2;
    else if (size > (P)1e37)
        real = {log}({hypot}(most / 2, least / 2)) + (P)0.693147180559945309;
    else if (size < (P)1e-30)
        real = {log}({hypot}(most * (P)18014398509481984.0, least * (P)18014398509481984.0)) -
               (P)37.4299477502370477;
    return make_NAME(real, {atan2}(z.y, z.x));
})",
     "make"},
    {"log10", R"(
FUNCTION NAME log10_NAME(NAME z) {
    NAME natural = log_NAME(z);
    return make_NAME(natural.x / (P)2.302585092994045684, natural.y / (P)2.302585092994045684);
})",
     "log"},
    // An eighth of the smallest numbers underflows. They are scaled by 2^54, and the root by 2^-27.
    {"sqrt", R"(
FUNCTION NAME sqrt_NAME(NAME z) {
    if (z.x == 0 && z.y == 0)
        return make_NAME(0, z.y);
    if ({isinf}(z.y))
        return make_NAME({abs}(z.y), z.y);
    P real = {abs}(z.x), imaginary = {abs}(z.y), back = 1;
    if (real < (P)1e-30 && imaginary < (P)1e-30) {
        real *= (P)18014398509481984.0;
        imaginary *= (P)18014398509481984.0;
        back = (P)7.450580596923828125e-9;
    }
    real /= 8;
    P size = 2 * {sqrt}(real + {hypot}(real, imaginary / 8));
    P other = imaginary / (2 * size) * back;
    size *= back;
    return z.x >= 0 ? make_NAME(size, {copysign}(other, z.y))
                    : make_NAME(other, {copysign}(size, z.y));
})",
     "make"},
    {"sinh", R"(
FUNCTION NAME sinh_NAME(NAME z) {
    return make_NAME({sinh}(z.x) * {cos}(z.y), {cosh}(z.x) * {sin}(z.y));
})",
     "make"},
    {"cosh", R"(
FUNCTION NAME cosh_NAME(NAME z) {
    return make_NAME({cosh}(z.x) * {cos}(z.y), {sinh}(z.x) * {sin}(z.y));
})",
     "make"},
    // From 20 on the real part is 1 in both precisions. The quotients below would divide infinity
    // by infinity.
    {"tanh", R"(
FUNCTION NAME tanh_NAME(NAME z) {
    if ({abs}(z.x) > 20)
        return make_NAME({copysign}((P)1, z.x),
                         4 * {sin}(z.y) * {cos}(z.y) * {exp}(-2 * {abs}(z.x)));
    P real = {tanh}(z.x), turn = {tan}(z.y), scale = 1 / {cosh}(z.x);
    P both = real * turn, size = 1 + both * both;
    return make_NAME(real * (1 + turn * turn) / size, turn / size * scale * scale);
})",
     "make"},
    {"sin", R"(
FUNCTION NAME sin_NAME(NAME z) {
    return turn_back_NAME(sinh_NAME(turn_NAME(z)));
})",
     "turn turn_back sinh"},
    {"cos", R"(
FUNCTION NAME cos_NAME(NAME z) {
    return cosh_NAME(turn_NAME(z));
})",
     "turn cosh"},
    {"tan", R"(
FUNCTION NAME tan_NAME(NAME z) {
    return turn_back_NAME(tanh_NAME(turn_NAME(z)));
})",
     "turn turn_back tanh"},
    {"asinh", R"(
FUNCTION NAME asinh_NAME(NAME z) {
    NAME above = sqrt_NAME(make_NAME(1 + z.y, NEGATE(z.x)));
    NAME below = sqrt_NAME(make_NAME(1 - z.y, z.x));
    return make_NAME({asinh}(above.x * below.y - below.x * above.y),
                     {atan2}(z.y, above.x * below.x - above.y * below.y));
})",
     "make sqrt"},
    {"asin", R"(
FUNCTION NAME asin_NAME(NAME z) {
    return turn_back_NAME(asinh_NAME(turn_NAME(z)));
})",
     "turn turn_back asinh"},
    {"acos", R"(
FUNCTION NAME acos_NAME(NAME z) {
    NAME left = sqrt_NAME(make_NAME(1 - z.x, NEGATE(z.y)));
    NAME right = sqrt_NAME(make_NAME(1 + z.x, z.y));
    return make_NAME(2 * {atan2}(left.x, right.x), {asinh}(right.x * left.y - right.y * left.x));
})",
     "make sqrt"},
    {"acosh", R"(
FUNCTION NAME acosh_NAME(NAME z) {
    NAME left = sqrt_NAME(make_NAME(z.x - 1, z.y)), right = sqrt_NAME(make_NAME(z.x + 1, z.y));
    return make_NAME({asinh}(left.x * right.x + left.y * right.y), 2 * {atan2}(left.y, right.x));
})",
     "make sqrt"},
    // For large numbers the inverse is accurate enough, and squares would overflow.
    {"atanh", R"(
FUNCTION NAME atanh_NAME(NAME z) {
    P sign = {copysign}((P)1, z.x), x = {abs}(z.x), y = sign * z.y, height = {abs}(z.y);
    if (x > (P)1e15 || height > (P)1e15) {
        P size = {hypot}(x / 2, y / 2);
        return make_NAME(sign * (x / 4 / size / size),
                         sign * {copysign}((P)1.570796326794896619, y));
    }
    P real = {log1p}(4 * x / ((1 - x) * (1 - x) + height * height)) / 4;
    P turn = {atan2}(2 * y, (1 - x) * (1 + x) - height * height) / 2;
    return make_NAME(sign * real, sign * turn);
})",
     "make"},
    {"atan", R"(
FUNCTION NAME atan_NAME(NAME z) {
    return turn_back_NAME(atanh_NAME(turn_NAME(z)));
})",
     "turn turn_back atanh"},
};

}  // namespace

const HelperRow *find_complex_helper(std::string_view name) {
    const auto row = std::ranges::find(rows, name, &HelperRow::name);
    return row == std::end(rows) ? nullptr : row;
}

}  // namespace entrepot::kernel
