// The closest known name, if it is close enough.
#include "core/closest.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace entrepot;

TEST_CASE("misspelt name has a suggestion") {
    const std::vector<std::string> known{"get_global_id", "get_local_id", "sqrt",
                                         "float32",       "idx",          "i"};
    CHECK(closest("get_globl_id", known) == "get_global_id");  // left out
    CHECK(closest("get_gobal_idd", known) == "get_global_id");
    CHECK(closest("sqtr", known) == "sqrt");  // swapped
    CHECK(closest("sqr", known) == "sqrt");
    CHECK(closest("Float32", known) == "float32");  // the case alone
    CHECK(closest("ids", known) == "idx");
    CHECK(closest("id", known) == "idx");
    CHECK(did_you_mean("sqtr", known) == "; did you mean `sqrt`?");
}

TEST_CASE("distant or exact name has no suggestion") {
    const std::vector<std::string> known{"get_global_id", "sqrt", "i", "j"};
    CHECK(closest("barrier", known).empty());
    CHECK(closest("k", known).empty());  // any other letter has the same distance
    CHECK(closest("sqrt", known).empty());
    CHECK(closest("", known).empty());
    CHECK(did_you_mean("barrier", known).empty());
    CHECK(closest("sqrt", {}).empty());
}
