// Errors: the table is in the order of its kinds, and messages print numbers plainly.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include <entrepot/core/error.hpp>

#include "core/grouped_digits.hpp"

using namespace entrepot;

TEST_CASE("table has kinds in order, bases before derived kinds") {
    for (std::size_t i = 0; i < error_table.size(); ++i) {
        CAPTURE(error_table[i].name);
        CHECK(static_cast<std::size_t>(error_table[i].kind) == i);
        if (error_table[i].base == nullptr)
            continue;
        bool base_seen = false;
        for (std::size_t j = 0; j < i; ++j)
            base_seen |= std::string_view(error_table[j].name) == error_table[i].base;
        CHECK(base_seen);
    }
}

TEST_CASE("message has its parts in order, error has its kind") {
    const Error error(ErrorKind::index, "index ", 7, " of ", std::string_view("axis"), ' ',
                      Hex(reinterpret_cast<void *>(0xbeef)), " ", 10);
    CHECK(std::string(error.what()) == "index 7 of axis 0xbeef 10");
    CHECK(error.kind() == ErrorKind::index);
}

TEST_CASE("program's locale does not group digits") {
    const GroupedDigits grouped;
    const Error error(ErrorKind::allocation, 1234567, " bytes");
    CHECK(std::string(error.what()) == "1234567 bytes");
}
