// Free lists: objects are reused by their thread, destroyed with it, and usable by code that runs
// later.
#include "core/free_list.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace entrepot {
namespace {

struct One {
    char bytes[80];
};
struct Other {
    char bytes[80];
};
using Ones = ThreadBlocks<One>;
using Others = ThreadBlocks<Other>;

// Releases a block when its thread ends.
struct Late {
    void *block = nullptr;
    ~Late() { Ones::put(block); }
};

template <class Work> void on_a_thread(Work &&work) {
    std::thread(std::forward<Work>(work)).join();
}

}  // namespace

TEST_CASE("free list returns the latest object, up to its capacity") {
    int objects[3];
    FreeList<int, 2> list;
    CHECK(list.take() == nullptr);
    CHECK(list.put(&objects[0]));
    CHECK(list.put(&objects[1]));
    CHECK(!list.put(&objects[2]));
    CHECK(list.take() == &objects[1]);
    CHECK(list.take() == &objects[0]);
    CHECK(list.take() == nullptr);
    FreeList<int, 0> none;
    CHECK(!none.put(&objects[0]));
    CHECK(none.take() == nullptr);
}

TEST_CASE("returned block is reused next") {
    on_a_thread([] {
        void *const first = Ones::take(), *const second = Ones::take();
        CHECK(first != second);
        Ones::put(first);
        CHECK(Ones::take() == first);
        Ones::put(first);
        Ones::put(second);
        CHECK(Ones::take() == second);
        Ones::put(second);
    });
}

// The sanitizer reports leaks.
TEST_CASE("blocks of a thread are freed at its end, for all types") {
    for (int turn = 0; turn < 3; ++turn)
        on_a_thread([] {
            std::set<void *> taken;
            for (int i = 0; i < 100; ++i)
                CHECK(taken.insert(Ones::take()).second);
            for (void *const block : taken)
                Ones::put(block);
            void *const block = Others::take();
            Others::put(block);
            CHECK(Others::take() == block);
            Others::put(block);
        });
}

TEST_CASE("block may be returned by another or an ending thread") {
    void *block = Ones::take();
    on_a_thread([&] { Ones::put(block); });
    on_a_thread([] {
        thread_local Late late;  // ends last
        late.block = Ones::take();
        Ones::put(Ones::take());
    });
}

TEST_CASE("shared objects use the blocks") {
    on_a_thread([] {
        const auto make = [] { return std::allocate_shared<One>(ThreadBlockAllocator<One>()); };
        std::shared_ptr<One> first = make();
        const One *const where = first.get();
        first.reset();
        CHECK(make().get() == where);
    });
}

}  // namespace entrepot
