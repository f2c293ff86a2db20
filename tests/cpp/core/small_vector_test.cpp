// SmallVector: the first elements are inline, more are on the heap.
#include <entrepot/core/small_vector.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace entrepot {
namespace {

struct Pair {
    std::int32_t first;
    double second = 0.5;
};

template <class T, std::size_t N> bool is_inside(const SmallVector<T, N> &small) {
    const auto address = reinterpret_cast<std::uintptr_t>(small.data()),
               start = reinterpret_cast<std::uintptr_t>(&small);
    return address >= start && address < start + sizeof small;
}

}  // namespace

TEST_CASE("few elements are stored inline, more on the heap") {
    bool is_known = false, is_reserved = false;
    SUBCASE("size known at construction") { is_known = true; }
    SUBCASE("size known later") { is_reserved = true; }
    SUBCASE("size not known") {}
    for (const std::size_t most :
         {std::size_t{0}, std::size_t{3}, std::size_t{4}, std::size_t{100}}) {
        CAPTURE(most);
        SmallVector<Pair, 3> known(most), later;
        if (is_reserved)
            later.reserve(most);
        SmallVector<Pair, 3> &small = is_known ? known : later;
        const Pair *const start = small.data();
        for (std::size_t i = 0; i < most; ++i)
            CHECK(small.emplace_back(static_cast<std::int32_t>(i)).second == 0.5);
        CHECK(small.size() == most);
        CHECK(is_inside(small) == (most <= 3));
        if (is_reserved)
            CHECK(small.data() == start);
        std::vector<std::int32_t> seen;
        for (const Pair &each : small)
            seen.push_back(each.first);
        CHECK(seen.size() == most);
        for (std::size_t i = 0; i < most; ++i)
            CHECK((seen[i] == static_cast<std::int32_t>(i) && small[i].first == seen[i]));
    }
}

}  // namespace entrepot
