// Published objects: made at the first use, once for all threads.
#include <entrepot/core/publish.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace entrepot;

namespace {

std::atomic<int> constructed{0}, destroyed{0};

struct Counting {
    explicit Counting(int given) : value(given) {
        ++constructed;
        while (constructed < 2)  // both threads construct one before either publishes its own
            std::this_thread::yield();
    }
    ~Counting() { ++destroyed; }
    int value;
};

}  // namespace

TEST_CASE("FirstUse: threads that make an object at once share one") {
    static constinit FirstUse<Counting> shared;
    Counting *in_thread = nullptr;
    std::thread other([&] { in_thread = &shared.get(1); });
    Counting *const here = &shared.get(2);
    other.join();
    CHECK(here == in_thread);
    CHECK(constructed == 2);
    CHECK(destroyed == 1);
    CHECK(&shared.get(3) == here);
    CHECK(here->value != 3);
    CHECK(constructed == 2);
}
