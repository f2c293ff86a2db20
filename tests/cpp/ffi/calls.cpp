// Calls and closures: arguments and results of every kind, and the calling conventions of structs.
#include "ffi/signature.hpp"
#include <entrepot/core/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

using namespace entrepot;
using namespace entrepot::ffi;

namespace {

struct Small {
    std::int32_t a;
    float b;
};
struct Floats {
    float x, y, z;
};
struct Large {
    std::int64_t values[4];
};
union IntegerOrFloat {
    float real;
    std::int32_t whole;
};

std::int8_t narrow(std::int8_t value, std::uint16_t other) {
    return static_cast<std::int8_t>(value + other);
}
double mixed(float a, double b, std::int64_t c, bool d) {
    return a + b + static_cast<double>(c) + d;
}
Small twice(Small in) { return {in.a * 2, in.b * 2}; }
Floats rotated(Floats in) { return {in.y, in.z, in.x}; }
Large reversed(Large in) { return {{in.values[3], in.values[2], in.values[1], in.values[0]}}; }
std::int32_t whole_of(IntegerOrFloat in, std::int32_t more) { return in.whole + more; }

template <class Result, class... Arguments>
Result call(const Signature &signature, Result (*function)(Arguments...), Arguments... arguments) {
    std::array<void *, sizeof...(Arguments)> values{&arguments...};
    std::array<std::byte, 64> result{};
    signature.call(reinterpret_cast<void *>(function), result.data(), values.data());
    return *reinterpret_cast<Result *>(result.data());
}

}  // namespace

TEST_CASE("numbers are passed with their widths and signs") {
    const Type narrow_arguments[] = {Kind::int8, Kind::uint16};
    CHECK(call<std::int8_t, std::int8_t, std::uint16_t>(Signature(Kind::int8, narrow_arguments),
                                                        narrow, -7, 3) == -4);
    const Type mixed_arguments[] = {Kind::float32, Kind::float64, Kind::int64, Kind::boolean};
    CHECK(call(Signature(Kind::float64, mixed_arguments), mixed, 0.5f, 0.25, std::int64_t{1} << 40,
               true) == doctest::Approx(0.75 + (1LL << 40) + 1));
}

TEST_CASE("structs are passed by value in registers and memory") {
    const Scalar small_scalars[] = {{0, Kind::int32}, {4, Kind::float32}};
    const Type small = Type::record(sizeof(Small), alignof(Small), small_scalars);
    const Small doubled = call(Signature(small, std::span(&small, 1)), twice, Small{21, 1.5f});
    CHECK(doubled.a == 42);
    CHECK(doubled.b == 3.0f);

    const Scalar float_scalars[] = {{0, Kind::float32}, {4, Kind::float32}, {8, Kind::float32}};
    const Type floats = Type::record(sizeof(Floats), alignof(Floats), float_scalars);
    const Floats turned = call(Signature(floats, std::span(&floats, 1)), rotated, Floats{1, 2, 3});
    CHECK(turned.x == 2);
    CHECK(turned.z == 1);

    const Scalar large_scalars[] = {
        {0, Kind::int64}, {8, Kind::int64}, {16, Kind::int64}, {24, Kind::int64}};
    const Type large = Type::record(sizeof(Large), alignof(Large), large_scalars);
    CHECK(call(Signature(large, std::span(&large, 1)), reversed, Large{{1, 2, 3, 4}}).values[0] ==
          4);
}

TEST_CASE("union of int and float is passed as an integer") {
    const Scalar overlapping[] = {{0, Kind::float32}, {0, Kind::int32}};
    const Type either[] = {
        Type::record(sizeof(IntegerOrFloat), alignof(IntegerOrFloat), overlapping), Kind::int32};
    IntegerOrFloat value;
    value.whole = 40;
    CHECK(call(Signature(Kind::int32, either), whole_of, value, 2) == 42);
}

TEST_CASE("invalid records are refused") {
    const Scalar outside[] = {{4, Kind::int64}};
    const Scalar packed[] = {{0, Kind::int8}, {1, Kind::int32}};
    const auto kind_of = [&](std::size_t size, std::size_t alignment,
                             std::span<const Scalar> scalars) {
        try {
            (void)Type::record(size, alignment, scalars);
        } catch (const Error &error) {
            return error.kind();
        }
        return ErrorKind::entrepot;
    };
    CHECK(kind_of(0, 8, outside) == ErrorKind::value);
    CHECK(kind_of(8, 3, outside) == ErrorKind::value);
    CHECK(kind_of(8, 8, outside) == ErrorKind::value);
    CHECK(kind_of(5, 1, packed) == ErrorKind::value);
}

TEST_CASE("closure calls its function with its context") {
    struct Seen {
        std::int32_t a = 0;
        double b = 0;
    } seen;
    const Type arguments[] = {Kind::int32, Kind::float64};
    const Signature signature(Kind::int64, arguments);
    const Closure closure(
        signature,
        [](void *context, void *result, void **values) noexcept {
            Seen &into = *static_cast<Seen *>(context);
            into = {*static_cast<std::int32_t *>(values[0]), *static_cast<double *>(values[1])};
            *static_cast<std::int64_t *>(result) = -5;
        },
        &seen);
    CHECK(reinterpret_cast<std::int64_t (*)(std::int32_t, double)>(closure.address())(-3, 2.5) ==
          -5);
    CHECK(seen.a == -3);
    CHECK(seen.b == 2.5);
}
