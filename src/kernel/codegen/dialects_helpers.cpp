// Helper functions, added to programs that call them.
#include "kernel/codegen/dialects.hpp"

namespace entrepot::kernel {

namespace {

enum class For : std::uint8_t {
    any,
    integer,
    signed_integer,
    unsigned_integer,
    floating,
    half,
    complex
};

struct Row {
    For types;
    std::uint8_t dialects;  // one bit per dialect
    HelperRow helper;
};

constexpr std::uint8_t bit(Dialect dialect) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(dialect));
}
constexpr std::uint8_t everywhere = 0x1f, opencl = bit(Dialect::opencl_c),
                       sycl = bit(Dialect::sycl), cuda = bit(Dialect::cuda),
                       hip = bit(Dialect::hip), host = bit(Dialect::cpp);

constexpr Row rows[] = {
    // ------------------------------------------------------------ Python's division of integers
    {For::signed_integer,
     everywhere,
     {"floor_divide", R"(
FUNCTION T floor_divide_NAME(T a, T b) {
    if (b == 0)
        return 0;
    if (b == -1)
        return (T)(0 - (U)a);
    T quotient = (T)(a / b);
    return (T)(quotient - ((T)(quotient * b) != a && (a < 0) != (b < 0)));
})",
      ""}},
    {For::signed_integer,
     everywhere,
     {"floor_modulo", R"(
FUNCTION T floor_modulo_NAME(T a, T b) {
    if (b == 0 || b == -1)
        return 0;
    T rest = (T)(a % b);
    return (T)(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
})",
      ""}},
    {For::unsigned_integer,
     everywhere,
     {"floor_divide", R"(
FUNCTION T floor_divide_NAME(T a, T b) {
    return (T)(b == 0 ? 0 : a / b);
})",
      ""}},
    {For::unsigned_integer,
     everywhere,
     {"floor_modulo", R"(
FUNCTION T floor_modulo_NAME(T a, T b) {
    return (T)(b == 0 ? 0 : a % b);
})",
      ""}},
    {For::floating,
     everywhere,
     {"floor_modulo", R"(
FUNCTION T floor_modulo_NAME(T a, T b) {
    T rest = {fmod}(a, b);
    if (rest == 0)
        return {copysign}((T)0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
})",
      ""}},
    // float16 with native arithmetic: computed in float, which holds the integer quotient, and
    // rounded once.
    {For::half,
     opencl | sycl,
     {"floor_divide", R"(
FUNCTION T floor_divide_NAME(T a, T b) {
    float x = (float)a, y = (float)b;
    if (y == 0)
        return (T)(x / y);
    float rest = {fmod}(x, y), quotient = (x - rest) / y;
    if (rest != 0 && (rest < 0) != (y < 0))
        quotient = quotient - 1;
    return (T)(quotient == 0 ? {copysign}(0.0f, x / y) : {rint}(quotient));
})",
      ""}},
    {For::floating,
     everywhere,
     {"floor_divide", R"(
FUNCTION T floor_divide_NAME(T a, T b) {
    if (b == 0)
        return a / b;
    T rest = {fmod}(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0))
        quotient = quotient - 1;
    if (quotient == 0)
        return {copysign}((T)0, a / b);
    T whole = {floor}(quotient);
    return quotient - whole > (T)0.5 ? whole + 1 : whole;
})",
      ""}},
    // The factor 1u makes the product unsigned. C would compute a product of two 16-bit factors as
    // int, which does not hold 65535 * 65535.
    {For::signed_integer,
     everywhere,
     {"power", R"(
FUNCTION T power_NAME(T base, T exponent) {
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
    U factor = (U)base, product = 1;
    for (; exponent != 0; exponent /= 2) {
        if (exponent % 2 != 0)
            product = (U)(1u * product * factor);
        factor = (U)(1u * factor * factor);
    }
    return (T)product;
})",
      ""}},
    {For::unsigned_integer,
     everywhere,
     {"power", R"(
FUNCTION T power_NAME(T base, T exponent) {
    T product = 1;
    for (; exponent != 0; exponent /= 2) {
        if (exponent % 2 != 0)
            product = (T)(1u * product * base);
        base = (T)(1u * base * base);
    }
    return product;
})",
      ""}},
    {For::integer,
     everywhere,
     {"shift_left", R"(
FUNCTION T shift_left_NAME(T a, T count) {
    return (U)count < BITS ? (T)((U)a << count) : 0;
})",
      ""}},
    {For::signed_integer,
     everywhere,
     {"shift_right", R"(
FUNCTION T shift_right_NAME(T a, T count) {
    return (T)(a >> ((U)count < BITS ? count : BITS - 1));
})",
      ""}},
    {For::unsigned_integer,
     everywhere,
     {"shift_right", R"(
FUNCTION T shift_right_NAME(T a, T count) {
    return (T)(count < BITS ? a >> count : 0);
})",
      ""}},
    {For::any,
     everywhere,
     {"min", R"(
FUNCTION T min_NAME(T a, T b) {
    return b < a ? b : a;
})",
      ""}},
    {For::any,
     everywhere,
     {"max", R"(
FUNCTION T max_NAME(T a, T b) {
    return b > a ? b : a;
})",
      ""}},
    // Minimum and maximum of NumPy and of group functions propagate NaN. If `a` accumulates the
    // result, the chain of dependencies is no longer than that of Python's min and max.
    {For::floating,
     everywhere,
     {"minimum", R"(
FUNCTION T minimum_NAME(T a, T b) {
    T least = b < a ? b : a;
    return b == b ? least : b;
})",
      ""}},
    {For::floating,
     everywhere,
     {"maximum", R"(
FUNCTION T maximum_NAME(T a, T b) {
    T most = b > a ? b : a;
    return b == b ? most : b;
})",
      ""}},
    // C's remainder, which NumPy's fmod uses for integers.
    {For::signed_integer,
     everywhere,
     {"fmod", R"(
FUNCTION T fmod_NAME(T a, T b) {
    return (T)(b == 0 || b == -1 ? 0 : a % b);
})",
      ""}},
    {For::unsigned_integer,
     everywhere,
     {"fmod", R"(
FUNCTION T fmod_NAME(T a, T b) {
    return (T)(b == 0 ? 0 : a % b);
})",
      ""}},
    {For::signed_integer,
     everywhere,
     {"abs", R"(
FUNCTION T abs_NAME(T a) {
    return (T)(a < 0 ? 0 - (U)a : (U)a);
})",
      ""}},
    {For::integer,
     everywhere,
     {"range_length", R"(
FUNCTION T range_length_NAME(T start, T stop, T step) {
    if (step == 0)
        return 0;
    if (step > 0)
        return (T)(start < stop ? ((U)stop - (U)start - 1) / (U)step + 1 : 0);
    return (T)(start > stop ? ((U)start - (U)stop - 1) / (0 - (U)step) + 1 : 0);
})",
      ""}},
    // ------------------------------------------------------------ integers of Python's math
    {For::signed_integer,
     everywhere,
     {"gcd", R"(
FUNCTION T gcd_NAME(T a, T b) {
    U larger = (U)abs_NAME(a), smaller = (U)abs_NAME(b);
    while (smaller != 0) {
        U rest = (U)(larger % smaller);
        larger = smaller;
        smaller = rest;
    }
    return (T)larger;
})",
      "abs"}},
    {For::unsigned_integer,
     everywhere,
     {"gcd", R"(
FUNCTION T gcd_NAME(T a, T b) {
    while (b != 0) {
        T rest = (T)(a % b);
        a = b;
        b = rest;
    }
    return a;
})",
      ""}},
    {For::signed_integer,
     everywhere,
     {"lcm", R"(
FUNCTION T lcm_NAME(T a, T b) {
    U common = (U)gcd_NAME(a, b);
    return (T)(common == 0 ? 0 : 1u * ((U)abs_NAME(a) / common) * (U)abs_NAME(b));
})",
      "gcd"}},
    {For::unsigned_integer,
     everywhere,
     {"lcm", R"(
FUNCTION T lcm_NAME(T a, T b) {
    T common = gcd_NAME(a, b);
    return (T)(common == 0 ? 0 : 1u * (a / common) * b);
})",
      "gcd"}},
    // The bits of the absolute value, as in NumPy.
    {For::integer,
     everywhere,
     {"bitwise_count", R"(
FUNCTION unsigned char bitwise_count_NAME(T a) {
    U magnitude = a < 0 ? (U)(0 - (U)a) : (U)a;
    return (unsigned char){popcount}(magnitude);
})",
      ""}},
    {For::integer,
     everywhere,
     {"isqrt", R"(
FUNCTION T isqrt_NAME(T n) {
    if (n <= 0)
        return 0;
    U rest = (U)n, root = 0, bit = (U)((U)1 << (BITS - 2));
    while (bit > rest)
        bit = (U)(bit >> 2);
    for (; bit != 0; bit = (U)(bit >> 2)) {
        U tried = (U)(root + bit);
        root = (U)(root >> 1);
        if (rest >= tried) {
            rest = (U)(rest - tried);
            root = (U)(root + bit);
        }
    }
    return (T)root;
})",
      ""}},
    // 0 if the result does not fit. All factors but the last are at least 2, so that the loop ends
    // early for any `k`.
    {For::signed_integer,
     everywhere,
     {"perm", R"(
FUNCTION T perm_NAME(T n, T k) {
    if (k < 0 || k > n)
        return 0;
    T product = 1;
    for (T factor = n; factor > n - k; --factor) {
        if (product > (T)((U)~(U)0 >> 1) / factor)
            return 0;
        product = (T)(product * factor);
    }
    return product;
})",
      ""}},
    {For::signed_integer,
     everywhere,
     {"factorial", R"(
FUNCTION T factorial_NAME(T n) {
    return perm_NAME(n, n);
})",
      "perm"}},
    // Divides before it multiplies, so that no intermediate value exceeds the result.
    {For::signed_integer,
     everywhere,
     {"comb", R"(
FUNCTION T comb_NAME(T n, T k) {
    if (k < 0 || k > n)
        return 0;
    T taken = k < n - k ? k : n - k, ways = 1;
    for (T i = 1; i <= taken; ++i) {
        T common = gcd_NAME(ways, i);
        T factor = (n - taken + i) / (i / common);
        ways = ways / common;
        if (ways > (T)((U)~(U)0 >> 1) / factor)
            return 0;
        ways = (T)(ways * factor);
    }
    return ways;
})",
      "gcd"}},
    // ------------------------------------------------------------ floats and their exponents
    {For::floating,
     everywhere,
     {"exponent", R"(
FUNCTION int exponent_NAME(T x) {
    return x != 0 && {isfinite}(x) ? {ilogb}(x) + 1 : 0;
})",
      ""}},
    {For::floating,
     host,
     {"plus_zero", R"(
FUNCTION T plus_zero_NAME(T x) {
    return x + 0;
})",
      ""}},
    // ------------------------------------------------------------ floats of 16 bits
    // Rounds to odd (a sticky bit in the last place), to avoid double rounding from double to 16
    // bits.
    {For::floating,
     everywhere,
     {"to_odd", R"(
FUNCTION float to_odd_NAME(T x) {
    float y = (float)x;
    UINT bits = BITCAST(UINT, y);
    if ((T)y != x && x == x)
        bits = (bits - (((T)y > x) == (x > 0) ? 1u : 0u)) | 1u;
    return BITCAST(float, bits);
})",
      ""}},
    // ------------------------------------------------------------ floats of 16 bits, carried in 32
    {For::floating,
     everywhere,
     {"load_bfloat16", R"(
FUNCTION float load_bfloat16(S bits) {
    return BITCAST(float, (UINT)bits << 16);
})",
      ""}},
    {For::floating,
     everywhere,
     {"bits_bfloat16", R"(
FUNCTION S bits_bfloat16(float x) {
    UINT bits = BITCAST(UINT, x);
    return (S)(x != x ? bits >> 16 | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
})",
      ""}},
    {For::floating,
     everywhere,
     {"round_bfloat16", R"(
FUNCTION float round_bfloat16(float x) {
    return load_bfloat16(bits_bfloat16(x));
})",
      "load_bfloat16 bits_bfloat16"}},
    {For::floating,
     cuda,
     {"load_float16", R"(
FUNCTION float load_float16(S bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
})",
      ""}},
    {For::floating,
     cuda,
     {"bits_float16", R"(
FUNCTION S bits_float16(float x) {
    S bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
})",
      ""}},
    {For::floating,
     host | hip,
     {"load_float16", R"(
FUNCTION float load_float16(S bits) {
#if defined(__clang__) && defined(__x86_64__) && !defined(__FLT16_MANT_DIG__)  // before Clang 15
    return (float)__builtin_bit_cast(__fp16, bits);
#else
    return (float)__builtin_bit_cast(_Float16, bits);
#endif
})",
      ""}},
    {For::floating,
     host | hip,
     {"bits_float16", R"(
FUNCTION S bits_float16(float x) {
#if defined(__clang__) && defined(__x86_64__) && !defined(__FLT16_MANT_DIG__)
    return __builtin_bit_cast(unsigned short, (__fp16)x);
#else
    return __builtin_bit_cast(unsigned short, (_Float16)x);
#endif
})",
      ""}},
    {For::floating,
     cuda | hip | host,
     {"round_float16", R"(
FUNCTION float round_float16(float x) {
    return load_float16(bits_float16(x));
})",
      "load_float16 bits_float16"}},
    {For::floating,
     everywhere,
     {"nextafter_bfloat16", R"(
FUNCTION float nextafter_bfloat16(float x, float y) {
    if (x != x || y != y)
        return x + y;
    if (x == y)
        return y;
    if (x == 0)
        return {copysign}(load_bfloat16(1), y);
    S bits = bits_bfloat16(x);
    return load_bfloat16((S)((x < y) == (x > 0) ? bits + 1 : bits - 1));
})",
      "load_bfloat16 bits_bfloat16"}},
    {For::floating,
     cuda | hip | host,
     {"nextafter_float16", R"(
FUNCTION float nextafter_float16(float x, float y) {
    if (x != x || y != y)
        return x + y;
    if (x == y)
        return y;
    if (x == 0)
        return {copysign}(load_float16(1), y);
    S bits = bits_float16(x);
    return load_float16((S)((x < y) == (x > 0) ? bits + 1 : bits - 1));
})",
      "load_float16 bits_float16"}},
    // ------------------------------------------------------------ complex numbers
    {For::complex,
     opencl,
     {"type", R"(
typedef P2 NAME;)",
      ""}},
    {For::complex,
     everywhere & ~opencl,
     {"type", R"(
struct NAME {
    P x, y;
};)",
      ""}},
    {For::complex,
     everywhere,
     {"make", R"(
FUNCTION NAME make_NAME(P real, P imaginary) {
    NAME z;
    z.x = real;
    z.y = imaginary;
    return z;
})",
      "type"}},
    {For::complex,
     everywhere,
     {"add", R"(
FUNCTION NAME add_NAME(NAME a, NAME b) {
    return make_NAME(a.x + b.x, a.y + b.y);
})",
      "make"}},
    {For::complex,
     everywhere,
     {"subtract", R"(
FUNCTION NAME subtract_NAME(NAME a, NAME b) {
    return make_NAME(a.x - b.x, a.y - b.y);
})",
      "make"}},
    {For::complex,
     everywhere,
     {"multiply", R"(
FUNCTION NAME multiply_NAME(NAME a, NAME b) {
    return make_NAME(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
})",
      "make"}},
    {For::complex,
     everywhere,
     {"divide", R"(
FUNCTION NAME divide_NAME(NAME a, NAME b) {
    if ({abs}(b.x) >= {abs}(b.y)) {
        P ratio = b.y / b.x, scale = b.x + b.y * ratio;
        return make_NAME((a.x + a.y * ratio) / scale, (a.y - a.x * ratio) / scale);
    }
    P ratio = b.x / b.y, scale = b.x * ratio + b.y;
    return make_NAME((a.x * ratio + a.y) / scale, (a.y * ratio - a.x) / scale);
})",
      "make"}},
    {For::complex,
     everywhere,
     {"negate", R"(
FUNCTION NAME negate_NAME(NAME a) {
    return make_NAME(NEGATE(a.x), NEGATE(a.y));
})",
      "make"}},
    {For::complex,
     everywhere,
     {"conj", R"(
FUNCTION NAME conj_NAME(NAME a) {
    return make_NAME(a.x, NEGATE(a.y));
})",
      "make"}},
    {For::complex,
     everywhere,
     {"equal", R"(
FUNCTION bool equal_NAME(NAME a, NAME b) {
    return a.x == b.x && a.y == b.y;
})",
      "type"}},
    {For::complex,
     everywhere,
     {"abs", R"(
FUNCTION P abs_NAME(NAME a) {
    return {hypot}(a.x, a.y);
})",
      "type"}},
    {For::complex,
     everywhere,
     {"power", R"(
FUNCTION NAME power_NAME(NAME base, NAME exponent) {
    if (exponent.x == 0 && exponent.y == 0)
        return make_NAME(1, 0);
    P times = {abs}(exponent.x);
    // Multiplied, as Python and NumPy do.
    if (exponent.y == 0 && times <= 100 && times == {floor}(times)) {
        NAME product = make_NAME(1, 0);
        bool is_one = true;
        for (int left = (int)times; left != 0; left /= 2) {
            if (left % 2 != 0) {
                product = is_one ? base : multiply_NAME(product, base);
                is_one = false;
            }
            base = multiply_NAME(base, base);
        }
        return exponent.x < 0 ? divide_NAME(make_NAME(1, 0), product) : product;
    }
    if (base.x == 0 && base.y == 0) {
        if (exponent.x > 0)
            return make_NAME(0, 0);
        P none = base.x / base.x;
        return make_NAME(none, none);
    }
    P size = {log}({hypot}(base.x, base.y)), angle = {atan2}(base.y, base.x);
    P scale = {exp}(exponent.x * size - exponent.y * angle);
    P turn = exponent.x * angle + exponent.y * size;
    return make_NAME(scale * {cos}(turn), scale * {sin}(turn));
})",
      "make multiply divide"}},
};

bool takes(For types, Dtype dtype) {
    switch (types) {
    case For::any:
        return true;
    case For::integer:
        return dtype.code == TypeCode::integer || dtype.code == TypeCode::unsigned_integer;
    case For::signed_integer:
        return dtype.code == TypeCode::integer;
    case For::unsigned_integer:
        return dtype.code == TypeCode::unsigned_integer;
    case For::floating:
        return dtype.code == TypeCode::floating || dtype.code == TypeCode::bfloat;
    case For::half:
        return dtype.code == TypeCode::floating && dtype.bits == 16;
    case For::complex:
        break;
    }
    return dtype.code == TypeCode::complex;
}

}  // namespace

const HelperRow *find_helper(std::string_view name, Dialect dialect, Dtype dtype) {
    for (const Row &row : rows)
        if (row.helper.name == name && (row.dialects & bit(dialect)) != 0 &&
            takes(row.types, dtype))
            return &row.helper;
    return takes(For::complex, dtype) ? find_complex_helper(name) : nullptr;
}

}  // namespace entrepot::kernel
