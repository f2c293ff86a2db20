// Values at the limits of C's integer types, written and read back.
#include "adapters/elements.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace entrepot::adapters;

namespace {

Integer positive(std::uint64_t value) { return {value, false}; }
Integer negative(std::int64_t value) { return {static_cast<std::uint64_t>(value), true}; }

bool round_trips(const ElementType &type, Integer value) {
    std::uint64_t cell = 0x5555'5555'5555'5555;
    if (!type.store(&cell, value))
        return false;
    const Integer found = type.load(&cell);
    return found.bits == value.bits && found.is_negative == value.is_negative;
}

}  // namespace

TEST_CASE("integer types accept their limits and refuse values beyond") {
    for (const ElementType &type : element_table) {
        CAPTURE(type.c_name);
        const unsigned bits = 8 * type.size;
        const std::uint64_t highest = ~std::uint64_t{0} >> (64 - bits + (type.is_signed ? 1 : 0));
        CHECK(round_trips(type, positive(0)));
        CHECK(round_trips(type, positive(highest)));
        if (highest != ~std::uint64_t{0})
            CHECK_FALSE(round_trips(type, positive(highest + 1)));
        if (type.is_signed) {
            const auto lowest = -static_cast<std::int64_t>(highest) - 1;
            CHECK(round_trips(type, negative(-1)));
            CHECK(round_trips(type, negative(lowest)));
            if (bits < 64)
                CHECK_FALSE(round_trips(type, negative(lowest - 1)));
        } else {
            CHECK_FALSE(round_trips(type, negative(-1)));
        }
    }
}

TEST_CASE("refused value leaves the cell unchanged") {
    int cell = 7;
    CHECK_FALSE(element_table[0].store(&cell, positive(std::uint64_t{1} << 31)));
    CHECK(cell == 7);
}

TEST_CASE("only the type's own bytes are written") {
    int cells[2] = {1, 2};
    CHECK(element_table[0].store(&cells[0], negative(-1)));
    CHECK(cells[0] == -1);
    CHECK(cells[1] == 2);
}
