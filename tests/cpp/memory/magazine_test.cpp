// A thread's magazine of a pool, without the pool.
#include <memory/pool_state.hpp>

#include <array>
#include <doctest/doctest.h>
#include <new>
#include <vector>

using namespace entrepot;

TEST_CASE("magazine: blocks stay in one list if draining fails") {
    Magazine magazine{};
    std::array<char, 4> memory;
    for (char &each : memory)
        magazine.push(0, FreeBlock{&each, {}, 0});
    std::vector<void *> taken;
    const auto take_two = [&](FreeBlock &&block) {
        if (taken.size() == 2)
            throw std::bad_alloc();
        taken.push_back(block.data);
    };
    CHECK_THROWS_AS(magazine.drain(0, 0, take_two), std::bad_alloc);
    CHECK(taken == std::vector<void *>{&memory[0], &memory[1]});
    REQUIRE(magazine.bins[0].size() == 2);
    CHECK(magazine.cached == 2 * size_class::bytes_of(0));
    CHECK(magazine.pop(0).data == &memory[3]);
    CHECK(magazine.pop(0).data == &memory[2]);
}
