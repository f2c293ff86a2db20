// Typing: the common type of two numbers, and Python's arithmetic at compile time.
#include <doctest/doctest.h>

#include "kernel/frontend/fold.hpp"
#include "kernel/frontend/typing.hpp"
#include "kernel/tree.hpp"
#include "kernel/types.hpp"

#include <array>
#include <limits>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

namespace {

const Target everything;
const Target without_fp64 = [] {
    Target target;
    target.fp64 = false;
    return target;
}();

constexpr std::array<Dtype, 15> numbers{b1,  i8,  i16,  i32, i64, u8,  u16, u32,
                                        u64, f16, bf16, f32, f64, c64, c128};

Dtype met(Dtype a, Dtype b) { return unified({a}, {b}, everything).dtype; }
Dtype met(Dtype typed, Weak weak, const Target &target = everything) {
    return unified({typed}, weak_scalar(weak, target), target).dtype;
}

}  // namespace

TEST_CASE("common type does not depend on the order of operands") {
    for (const Dtype a : numbers) {
        CHECK(met(a, a) == a);
        for (const Dtype b : numbers)
            CHECK_MESSAGE(met(a, b) == met(b, a), name_of(a), " with ", name_of(b));
    }
}

TEST_CASE("signed with unsigned gives a signed type, never a float") {
    CHECK(met(i8, u8) == i16);
    CHECK(met(i8, u32) == i64);
    CHECK(met(i64, u8) == i64);
    CHECK(met(i64, u64) == i64);
    CHECK(met(u8, u32) == u32);
}

TEST_CASE("float takes precedence over integer, complex over both") {
    CHECK(met(i64, f32) == f32);
    CHECK(met(i64, f16) == f16);
    CHECK(met(f16, bf16) == f32);
    CHECK(met(f32, f64) == f64);
    CHECK(met(c64, i64) == c64);
    CHECK(met(c64, f64) == c128);
    CHECK(met(b1, i8) == i8);
}

TEST_CASE("untyped integer other than a literal is int64") {
    Scalar counter = weak_scalar(Weak::integer, everything);
    counter.varies = true;
    const Scalar literal = weak_scalar(Weak::integer, everything),
                 half = weak_scalar(Weak::floating, everything);
    for (const Scalar &integer :
         {counter, unified(counter, counter, everything), unified(literal, counter, everything)}) {
        CHECK(unified(integer, {u8}, everything).dtype == i64);
        CHECK(unified({u64}, integer, everything).dtype == i64);
        CHECK(unified(integer, {f32}, everything).dtype == f32);
    }
    CHECK(unified(unified(counter, half, everything), {f32}, everything).dtype == f32);
    CHECK(joined(literal, {u8}) == Scalar{u8});
    CHECK(joined(counter, {i64}) == Scalar{i64});
    for (const Scalar &assigned : {counter, *joined(counter, literal), *joined(half, counter)})
        for (const Dtype narrower : {u8, i32, u64, f32}) {
            CHECK(joined(assigned, {narrower}) == std::nullopt);
            CHECK(joined({narrower}, assigned) == std::nullopt);
        }
}

TEST_CASE("literal takes the type of the other operand") {
    CHECK(met(u8, Weak::integer) == u8);
    CHECK(met(f16, Weak::floating) == f16);
    CHECK(met(f32, Weak::complex) == c64);
    CHECK(met(b1, Weak::integer) == i64);
    CHECK(met(i32, Weak::floating) == f64);
    CHECK(met(i32, Weak::floating, without_fp64) == f32);
    CHECK(met(i64, Weak::floating, without_fp64) == f64);  // refused later, where it stands
}

TEST_CASE("variable joins literals with one type, not two types") {
    const auto weak = [](Weak kind) { return weak_scalar(kind, everything); };
    CHECK(joined({f32}, weak(Weak::integer)) == Scalar{f32});
    CHECK(joined(weak(Weak::floating), {f32}) == Scalar{f32});
    CHECK(joined(weak(Weak::integer), weak(Weak::floating)) == weak(Weak::floating));
    CHECK_FALSE(joined({f32}, {f64}));
    CHECK_FALSE(joined({i32}, weak(Weak::floating)));
    CHECK_FALSE(joined({b1}, weak(Weak::integer)));
}

TEST_CASE("constants are converted only where they fit") {
    const auto fits = [](auto value, Dtype dtype) {
        ir::Expression constant;
        constant.value = value;
        return constant_as(constant, dtype).has_value();
    };
    for (const Dtype dtype : numbers)
        CHECK_MESSAGE(fits(std::int64_t{0}, dtype), name_of(dtype));
    CHECK(fits(std::int64_t{-128}, i8));
    CHECK_FALSE(fits(std::int64_t{-129}, i8));
    CHECK(fits(std::int64_t{255}, u8));
    CHECK_FALSE(fits(std::int64_t{256}, u8));
    CHECK_FALSE(fits(std::int64_t{-1}, u64));
    CHECK(fits(INT64_MIN, i64));
    CHECK(fits(UINT64_MAX, u64));
    CHECK_FALSE(fits(UINT64_MAX, i64));
    CHECK(fits(255.9, u8));
    CHECK_FALSE(fits(256.0, u8));
    CHECK(fits(-0.5, u8));
    CHECK_FALSE(fits(0x1p63, i64));
    CHECK(fits(-0x1p63, i64));
    CHECK_FALSE(fits(1e39, f32));
    CHECK_FALSE(fits(70000.0, f16));
    CHECK(fits(70000.0, bf16));
    CHECK(fits(std::numeric_limits<double>::infinity(), f16));
    CHECK_FALSE(fits(std::complex(1.0, 0.0), f32));
}

TEST_CASE("literals are folded as in Python") {
    const auto integer = [](std::int64_t value) { return Number(value); };
    CHECK(folded("//", integer(-7), integer(2)) == integer(-4));
    CHECK(folded("%", integer(-7), integer(2)) == integer(1));
    CHECK(folded("%", integer(7), integer(-2)) == integer(-1));
    CHECK(folded("%", Number(-7.5), Number(2.0)) == Number(0.5));
    CHECK(folded("/", integer(1), integer(2)) == Number(0.5));
    const Number infinity = std::numeric_limits<double>::infinity();
    CHECK(folded("//", Number(-1.0), infinity) == Number(-1.0));
    CHECK(folded("//", Number(1.0), infinity) == Number(0.0));
    CHECK(folded("%", Number(-1.0), infinity) == infinity);
    CHECK(folded("//", Number(7.5), Number(-2.0)) == Number(-4.0));
    CHECK(folded("**", integer(2), integer(62)) == integer(std::int64_t{1} << 62));
    CHECK(folded("**", integer(2), integer(-1)) == Number(0.5));
    CHECK(folded("**", integer(-1), integer(1'000'000'000'001)) == integer(-1));
    CHECK(folded("<<", integer(1), integer(62)) == integer(std::int64_t{1} << 62));
    CHECK(folded(">>", integer(-5), integer(70)) == integer(-1));
    CHECK(folded("&", Number(true), Number(false)) == Number(false));
    CHECK(folded("+", Number(true), Number(true)) == integer(2));
    CHECK(folded("<", integer(1), Number(1.5)) == Number(true));
    CHECK(folded("~", integer(0)) == integer(-1));
}

TEST_CASE("folded integers beyond int64 become uint64 if they fit") {
    const auto number = [](std::uint64_t value) { return Number(value); };
    CHECK(folded(">>", number(UINT64_MAX), Number(std::int64_t{3})) ==
          Number(static_cast<std::int64_t>(UINT64_MAX >> 3)));
    CHECK(folded("+", Number(INT64_MAX), Number(std::int64_t{1})) ==
          number(std::uint64_t{1} << 63));
    CHECK(folded("<<", Number(std::int64_t{1}), Number(std::int64_t{63})) ==
          number(std::uint64_t{1} << 63));
    CHECK(folded("<", Number(std::int64_t{1}), number(UINT64_MAX)) == Number(true));
    CHECK(folded("-", number(std::uint64_t{1} << 63)) == Number(INT64_MIN));
    CHECK(folded("-", Number(INT64_MIN)) == number(std::uint64_t{1} << 63));
    CHECK(folded("//", Number(INT64_MIN), Number(std::int64_t{-1})) ==
          number(std::uint64_t{1} << 63));
    CHECK(folded("+", number(UINT64_MAX)) == number(UINT64_MAX));
    CHECK(folded("+", number(UINT64_MAX), Number(std::int64_t{-1})) == number(UINT64_MAX - 1));
    CHECK(folded("-", number(std::uint64_t{1} << 63), number((std::uint64_t{1} << 63) + 1)) ==
          Number(std::int64_t{-1}));
    CHECK(folded("*", number(std::uint64_t{1} << 63), Number(0.5)) == Number(0x1p62));
    CHECK(folded(">", Number(std::int64_t{-1}), number(std::uint64_t{1} << 63)) == Number(false));
    CHECK(folded(">", number(std::uint64_t{1} << 63), Number(1.5)) == Number(true));
    CHECK(folded("&", Number(std::int64_t{-1}), number(UINT64_MAX)) == number(UINT64_MAX));
    CHECK(folded("**", Number(std::int64_t{2}), Number(std::int64_t{63})) ==
          number(std::uint64_t{1} << 63));
    CHECK(folded("**", Number(std::int64_t{10}), Number(std::int64_t{19})) ==
          number(10'000'000'000'000'000'000u));
    CHECK_FALSE(folded("+", number(UINT64_MAX), Number(std::int64_t{1})));
    CHECK_FALSE(folded("<<", number(UINT64_MAX), Number(std::int64_t{1})));
}

TEST_CASE("literals are not folded if no type holds the result") {
    CHECK_FALSE(folded("*", Number(INT64_MAX), Number(std::int64_t{3})));
    CHECK_FALSE(folded("-", Number(INT64_MIN), Number(std::int64_t{1})));
    CHECK_FALSE(folded("**", Number(std::int64_t{10}), Number(std::int64_t{20})));
    CHECK_FALSE(folded("**", Number(std::int64_t{2}), Number(std::int64_t{64})));
    CHECK_FALSE(folded("<<", Number(std::int64_t{-1}), Number(std::int64_t{64})));
    CHECK_FALSE(folded("//", Number(std::int64_t{1}), Number(std::int64_t{0})));
    CHECK_FALSE(folded("-", Number(INT64_MIN), Number(std::uint64_t{1} << 63)));
    CHECK_FALSE(folded("-", Number(std::uint64_t{UINT64_MAX})));
    CHECK_FALSE(folded("**", Number(-1.0), Number(0.5)));
}

TEST_CASE("types print their dtype, axes and address space") {
    CHECK(name_of(array(f32).type) == "float32[::1]");
    CHECK(name_of(read_only(array(i16, 3, false)).type) == "read-only int16[:, :, :]");
    Type local = array(f64, 2).type;
    local.space = Space::local;
    local.shape = {4, 8};
    CHECK(name_of(local) == "float64[4, 8] in local memory");
    Type tuple;
    tuple.kind = Type::Kind::tuple;
    tuple.items = {scalar_type(i64)};
    CHECK(name_of(tuple) == "(int64,)");
}

TEST_CASE("Numba's rules combine integers in 64 bits and give literals types") {
    const Rules numba{everything, Typing::numba};
    const auto with = [&](Dtype a, Dtype b) { return combined({a}, {b}, numba).dtype; };
    const auto one_of = [&](Dtype a, Dtype b) { return unified({a}, {b}, numba).dtype; };
    CHECK(with(u8, u8) == u64);
    CHECK(with(i8, u64) == i64);
    CHECK(with(b1, b1) == i64);
    CHECK(with(u16, f32) == f64);
    CHECK(one_of(u16, f32) == f32);
    CHECK(one_of(i32, u64) == f64);
    CHECK(one_of(i8, i16) == i16);
    CHECK(with(bf16, i8) == bf16);
    const Scalar half = weak_scalar(Weak::floating, everything),
                 one = weak_scalar(Weak::integer, everything);
    CHECK(combined({f32}, half, numba).dtype == f64);
    CHECK(combined(one, {u8}, numba).dtype == i64);
    CHECK(combined(one, one, numba).weak == Weak::integer);
    CHECK(joined({i32}, {f32}, numba) == Scalar{f64});
    CHECK(joined(one, {u8}, numba) == Scalar{i64});
    CHECK_FALSE(joined({i32}, {f32}, Rules{everything}));
}

TEST_CASE("Numba's rules give float32 on a device without float64") {
    const Rules numba{without_fp64, Typing::numba};
    CHECK(combined({f32}, weak_scalar(Weak::floating, without_fp64), numba).dtype == f32);
    CHECK(combined({i32}, {f32}, numba).dtype == f32);
    CHECK(combined({i32}, {c64}, numba).dtype == c64);
    CHECK_MESSAGE(combined({f32}, {f64}, numba).dtype == f64, "which the device then refuses");
}
