// Layouts of launch arguments against those that this compiler gives to structs, and the block
// around them.
#include "adapters/launch_arguments.hpp"
#include <entrepot/core/error.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace entrepot;
using namespace entrepot::adapters;

namespace {

struct Entry {
    std::size_t size, alignment;
};

template <class T> constexpr Entry entry = {sizeof(T), alignof(T)};

std::vector<std::size_t> offsets_of(LaunchLayout &layout, const std::vector<Entry> &entries) {
    std::vector<std::size_t> offsets;
    for (const Entry &each : entries)
        offsets.push_back(layout.add(each.size, each.alignment));
    return offsets;
}

struct Ints {
    std::int32_t values[3];
};
struct Chars {
    char values[3];
};
struct alignas(32) Wide {
    double values[4];
};

struct Documented {
    float a;
    std::int32_t b;
    std::int16_t c;
    std::int32_t d;
    float e;
    void *f;
};
struct WithStruct {
    std::int32_t a;
    Ints b;
    std::int32_t c;
};
struct WithChars {
    std::int8_t a;
    Chars b;
    std::int32_t c;
};
struct WithLongDouble {
    std::int32_t a;
    long double b;
};
struct WithWide {
    char a;
    Wide b;
    char c;
};

}  // namespace

TEST_CASE("arguments have the offsets of C struct members") {
    SUBCASE("documented example") {
        LaunchLayout layout;
        CHECK(offsets_of(layout, {entry<float>, entry<std::int32_t>, entry<std::int16_t>,
                                  entry<std::int32_t>, entry<float>, entry<void *>}) ==
              std::vector<std::size_t>{offsetof(Documented, a), offsetof(Documented, b),
                                       offsetof(Documented, c), offsetof(Documented, d),
                                       offsetof(Documented, e), offsetof(Documented, f)});
        CHECK(layout.size() == sizeof(Documented));
    }
    SUBCASE("struct of ints by value") {
        LaunchLayout layout;
        CHECK(offsets_of(layout, {entry<std::int32_t>, entry<Ints>, entry<std::int32_t>}) ==
              std::vector<std::size_t>{0, offsetof(WithStruct, b), offsetof(WithStruct, c)});
        CHECK(layout.size() == sizeof(WithStruct));
    }
    SUBCASE("struct of chars by value") {
        LaunchLayout layout;
        CHECK(offsets_of(layout, {entry<std::int8_t>, entry<Chars>, entry<std::int32_t>}) ==
              std::vector<std::size_t>{0, offsetof(WithChars, b), offsetof(WithChars, c)});
        CHECK(layout.size() == sizeof(WithChars));
    }
    SUBCASE("long double") {
        LaunchLayout layout;
        CHECK(offsets_of(layout, {entry<std::int32_t>, entry<long double>}) ==
              std::vector<std::size_t>{0, offsetof(WithLongDouble, b)});
        CHECK(layout.size() == sizeof(WithLongDouble));
    }
    SUBCASE("struct with 32-byte alignment") {
        LaunchLayout layout;
        CHECK(offsets_of(layout, {entry<char>, entry<Wide>, entry<char>}) ==
              std::vector<std::size_t>{0, offsetof(WithWide, b), offsetof(WithWide, c)});
        CHECK(layout.size() == sizeof(WithWide));
    }
}

TEST_CASE("block holds the address and size of the arguments") {
    LaunchLayout layout;
    offsets_of(layout, {entry<char>, entry<Wide>});
    CHECK(LaunchBlock::alignment_for(layout) == 32);
    alignas(32) std::byte block[256];
    REQUIRE(LaunchBlock::bytes_for(layout) <= sizeof block);
    std::byte *const arguments = LaunchBlock::begin(block, layout);
    auto *const extra = reinterpret_cast<void **>(block);
    CHECK(extra[0] == reinterpret_cast<void *>(1));
    CHECK(extra[1] == arguments);
    CHECK(extra[2] == reinterpret_cast<void *>(2));
    CHECK(*static_cast<std::size_t *>(extra[3]) == 64);
    CHECK(extra[4] == reinterpret_cast<void *>(3));
    CHECK(reinterpret_cast<std::uintptr_t>(arguments) % 32 == 0);
    CHECK(arguments + layout.size() == block + LaunchBlock::bytes_for(layout));
}

TEST_CASE("block without arguments is only a header") {
    const LaunchLayout layout;
    CHECK(layout.size() == 0);
    CHECK(LaunchBlock::bytes_for(layout) == sizeof(LaunchBlock));
}

TEST_CASE("alignment other than a power of two is refused") {
    LaunchLayout layout;
    CHECK_THROWS_AS(layout.add(4, 0), Error);
    CHECK_THROWS_AS(layout.add(4, 3), Error);
    CHECK(layout.size() == 0);
}

TEST_CASE("sizes beyond the address space are refused") {
    LaunchLayout layout;
    layout.add(8, 8);
    CHECK_THROWS_AS(layout.add(~std::size_t{0} - 4, 1), Error);
}
