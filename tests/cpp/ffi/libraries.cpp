// Libraries: search paths, lazy loading, and errors that list the attempts.
#include "ffi/library.hpp"
#include <entrepot/core/error.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

using namespace entrepot;
using namespace entrepot::ffi;

namespace {

std::string refusal(Library &library, const char *symbol) {
    try {
        (void)library.require(symbol);
    } catch (const Error &error) {
        CHECK(error.kind() == ErrorKind::library);
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("C library has malloc, unknown functions are refused") {
    Library libc({"libc", "", {}, {"libc.so.6"}, ""});
    CHECK(libc.is_there());
    CHECK(libc.find("malloc") != nullptr);
    CHECK(libc.find("no_such_symbol") == nullptr);
    CHECK(refusal(libc, "no_such_symbol").find("has no no_such_symbol") != std::string::npos);
    CHECK(libc.path().find("libc.so.6") != std::string::npos);
}

TEST_CASE("tried libraries are listed in order, with advice") {
    setenv("ENTREPOT_TEST_ROOT", "/somewhere", 1);
    Library missing({"nothing",
                     "",
                     {"$ENTREPOT_TEST_ROOT/lib", "$ENTREPOT_TEST_UNSET/lib"},
                     {"libnothing.so.2"},
                     "install it"});
    CHECK_FALSE(missing.is_there());
    const std::string said = refusal(missing, "malloc");
    const std::size_t first = said.find("/somewhere/lib/libnothing.so.2"),
                      last = said.find("\n  libnothing.so.2");
    CHECK(first != std::string::npos);
    CHECK(last != std::string::npos);
    CHECK(first < last);
    CHECK(said.find("install it") != std::string::npos);
    CHECK(said.find("UNSET") == std::string::npos);
}

TEST_CASE("path named by the user is the only one tried") {
    setenv("ENTREPOT_TEST_LIBRARY", "/no/such/libc.so.6", 1);
    Library named({"libc", "ENTREPOT_TEST_LIBRARY", {}, {"libc.so.6"}, ""});
    CHECK(refusal(named, "malloc").find("ENTREPOT_TEST_LIBRARY names") != std::string::npos);
    unsetenv("ENTREPOT_TEST_LIBRARY");
    CHECK(named.find("malloc") != nullptr);
}
