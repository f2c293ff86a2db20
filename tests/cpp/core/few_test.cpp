// Few: in the object up to its number, and elsewhere beyond it.
#include <entrepot/core/few.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace entrepot {
namespace {

struct Pair {
    std::int32_t first;
    double second = 0.5;
};

template <class T, std::size_t N> bool is_inside(const Few<T, N> &few) {
    const auto address = reinterpret_cast<std::uintptr_t>(few.data()), start = reinterpret_cast<std::uintptr_t>(&few);
    return address >= start && address < start + sizeof few;
}

}  // namespace

TEST_CASE("few elements lie in the object, and more of them elsewhere") {
    for (const std::size_t most : {std::size_t{0}, std::size_t{3}, std::size_t{4}, std::size_t{100}}) {
        CAPTURE(most);
        Few<Pair, 3> few(most);
        for (std::size_t i = 0; i < most; ++i)
            CHECK(few.add(static_cast<std::int32_t>(i)).second == 0.5);
        CHECK(few.size() == most);
        CHECK(is_inside(few) == (most <= 3));
        std::vector<std::int32_t> seen;
        for (const Pair &each : few)
            seen.push_back(each.first);
        CHECK(seen.size() == most);
        for (std::size_t i = 0; i < most; ++i)
            CHECK((seen[i] == static_cast<std::int32_t>(i) && few[i].first == seen[i]));
    }
}

}  // namespace entrepot
