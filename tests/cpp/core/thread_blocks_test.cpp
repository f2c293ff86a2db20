// Blocks of a thread: reused by it, released with it, and usable by code that runs later.
#include <core/thread_blocks.hpp>

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
constinit thread_local ThreadBlocks<One> ones;
constinit thread_local ThreadBlocks<Other> others;

// Releases a block when its thread ends.
struct Late {
    void *block = nullptr;
    ~Late() { ones.give(block); }
};

template <class Work> void on_a_thread(Work &&work) {
    std::thread(std::forward<Work>(work)).join();
}

}  // namespace

TEST_CASE("returned block is reused next") {
    on_a_thread([] {
        void *const first = ones.take(), *const second = ones.take();
        CHECK(first != second);
        ones.give(first);
        CHECK(ones.take() == first);
        ones.give(first);
        ones.give(second);
        CHECK(ones.take() == second);
        ones.give(second);
    });
}

// The sanitizer reports leaks.
TEST_CASE("blocks of a thread end with it, also of another type") {
    for (int turn = 0; turn < 3; ++turn)
        on_a_thread([] {
            std::set<void *> taken;
            for (int i = 0; i < 100; ++i)
                CHECK(taken.insert(ones.take()).second);
            for (void *const block : taken)
                ones.give(block);
            void *const block = others.take();
            others.give(block);
            CHECK(others.take() == block);
            others.give(block);
        });
}

TEST_CASE("block may be returned by another thread, and after its thread") {
    void *block = ones.take();
    on_a_thread([&] { ones.give(block); });
    on_a_thread([] {
        thread_local Late late;  // ends last
        late.block = ones.take();
        ones.give(ones.take());
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
