// Lending: guarantees for another library's allocator, with queues of the fake in place of its
// streams.
#include <entrepot/memory/current.hpp>
#include <entrepot/memory/foreign_allocator.hpp>
#include <entrepot/memory/limit.hpp>
#include <entrepot/memory/pool.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/refusal.hpp"
#include "memory/device_memory.hpp"

using namespace entrepot;

namespace {

struct OwnPool {
    ResourceRef resource = make_resource<PoolResource>(default_resource());

    OwnPool() { set_resource(fake::device(), resource.get()); }
    ~OwnPool() { set_resource(fake::device(), nullptr); }
    PoolResource::Statistics statistics() const {
        return static_cast<PoolResource &>(*resource).statistics();
    }
};

// True if a request from another queue for many blocks of the size gets this one.
bool is_reused(void *block) {
    const Queue other = Queue::create(fake::device());
    std::vector<void *> all;
    for (int i = 0; i < 200; ++i)
        all.push_back(allocate_on_stream(1000, {other}));
    std::ranges::for_each(all, deallocate_on_stream);
    return std::ranges::find(all, block) != all.end();
}

// A block that is leaked on purpose; the function's name is in leaks.supp.
void *allocate_on_permanent_stream(const Queue &queue) {
    return allocate_on_stream(1000, {queue, true});
}

// Runs work at the end of a thread; thread_local variables end in reverse order of construction.
struct AtTheEnd {
    std::function<void()> work;
    explicit AtTheEnd(std::function<void()> given) : work(std::move(given)) {}
    AtTheEnd(const AtTheEnd &) = delete;
    ~AtTheEnd() { work(); }
};

// Runs the body on a new thread, whose stream does not outlive it.
template <class Body> void on_a_thread(Body &&body) { std::thread(body).join(); }

}  // namespace

TEST_CASE("request of 0 bytes is NULL, unknown pointers are ignored") {
    const Queue queue = Queue::create(fake::device());
    int other = 0;
    CHECK(allocate_on_stream(0, {queue}) == nullptr);
    deallocate_on_stream(nullptr);
    deallocate_on_stream(&other);
}

TEST_CASE("returned block is reused at once on its own stream only") {
    const OwnPool pool;
    for (const std::size_t bytes : {std::size_t{1000}, std::size_t{5} << 20}) {
        const HeldQueue stream;
        const Queue other = Queue::create(fake::device());
        void *const first = allocate_on_stream(bytes, {stream.queue});
        stream.submit();
        deallocate_on_stream(first);
        void *const again = allocate_on_stream(bytes, {stream.queue});
        CHECK(again == first);
        stream.submit();
        deallocate_on_stream(again);
        void *const elsewhere = allocate_on_stream(bytes, {other});
        CHECK(elsewhere != first);
        deallocate_on_stream(elsewhere);
        stream.finish();
    }
    wait_and_release();
    CHECK(pool.statistics().used == 0);
}

TEST_CASE("device's resource limits allocated blocks") {
    const ResourceRef limit = make_resource<LimitResource>(default_resource(), std::size_t{10'000});
    set_resource(fake::device(), limit.get());
    const Queue queue = Queue::create(fake::device());
    void *const block = allocate_on_stream(6000, {queue});
    CHECK(static_cast<LimitResource &>(*limit).used() == 6000);
    CHECK_REFUSED(ErrorKind::allocation, "exceed the limit", allocate_on_stream(6000, {queue}));
    deallocate_on_stream(block);
    CHECK(static_cast<LimitResource &>(*limit).used() == 0);
    set_resource(fake::device(), nullptr);
}

TEST_CASE("block released by another thread waits for its own thread") {
    const OwnPool pool;
    const Queue queue = Queue::create(fake::device());
    void *const block = allocate_on_stream(1000, {queue, true});
    std::thread([&] {
        deallocate_on_stream(block);
        deallocate_on_stream(allocate_on_stream(1000, {queue, true}));
    }).join();
    CHECK(pool.statistics().used >= 1000);
    void *const next = allocate_on_stream(1000, {queue, true});
    CHECK(next == block);
    deallocate_on_stream(next);
    wait_and_release();
    CHECK(pool.statistics().used == 0);
}

TEST_CASE("block is reused after its thread and its work have ended") {
    const OwnPool pool;
    const HeldQueue stream;
    void *early = nullptr, *late = nullptr;
    std::thread thread([&] {
        early = allocate_on_stream(1000, {stream.queue, true});
        late = allocate_on_stream(1000, {stream.queue, true});
        stream.submit();
        on_a_thread([&] { deallocate_on_stream(early); });
    });
    thread.join();
    deallocate_on_stream(late);
    CHECK_FALSE(is_reused(early));
    CHECK_FALSE(is_reused(late));
    stream.finish();
    wait_and_release();
    CHECK(is_reused(early));
    CHECK(is_reused(late));
    CHECK(pool.statistics().used == 0);
}

TEST_CASE("blocks of a thread's stream are reused after its end") {
    const OwnPool pool;
    const Queue stream = Queue::create(fake::device());
    std::vector<void *> blocks;
    on_a_thread([&] {
        for (int i = 0; i < 3; ++i)
            blocks.push_back(allocate_on_permanent_stream(stream));
    });
    std::ranges::for_each(blocks, deallocate_on_stream);
    wait_and_release();
    CHECK(pool.statistics().used == 0);
    CHECK(pool.statistics().waiting == 0);
    for (void *const block : blocks)
        CHECK(is_reused(block));
}

TEST_CASE("returned block waits for foreign work on a thread's stream") {
    const OwnPool pool;
    const HeldQueue stream;
    const std::size_t bytes = std::size_t{5} << 20;  // more than a thread keeps for itself
    // True if the block is reused whole or in part, for the pool splits and merges blocks.
    const auto is_reused = [&](void *block, int count) {
        const Queue other = Queue::create(fake::device());
        std::vector<void *> all;
        for (int i = 0; i < count; ++i)
            all.push_back(allocate_on_stream(bytes, {other}));
        std::ranges::for_each(all, deallocate_on_stream);
        return std::ranges::any_of(
            all, [&](void *each) { return overlap({block, bytes}, {each, bytes}); });
    };
    on_a_thread([&] {
        fake::make_own(stream.queue);
        void *const block = allocate_on_stream(bytes, {stream.queue, true});
        static_cast<void>(stream.queue.record());  // the last position that other threads know
        stream.finish();
        fake::hold(stream.queue);
        fake::submit_foreign(stream.queue);
        deallocate_on_stream(block);
        on_a_thread([&] { CHECK_FALSE(is_reused(block, 20)); });
        stream.finish();
        on_a_thread([&] { CHECK(is_reused(block, 60)); });  // more than were returned above
    });
    wait_and_release();
    CHECK(pool.statistics().used == 0);
}

TEST_CASE("block returned during a capture waits for its end") {
    const OwnPool pool;
    on_a_thread([&] {
        const Queue stream = Queue::create(fake::device());
        fake::make_own(stream);
        void *const block = allocate_on_stream(1000, {stream, true});
        const std::uint64_t capture = fake::begin_capture(stream);
        deallocate_on_stream(block);
        CHECK(pool.statistics().used >= 1000);
        fake::drop(fake::end_capture(capture));
        deallocate_on_stream(allocate_on_stream(1000, {stream, true}));
    });
    wait_and_release();
    CHECK(pool.statistics().used == 0);
}

TEST_CASE("blocks of a thread ending in a capture are leaked") {
    const OwnPool pool;
    const Queue stream = Queue::create(fake::device());
    std::uint64_t capture = 0;
    void *early = nullptr, *late = nullptr;
    std::thread([&] {
        fake::make_own(stream);
        early = allocate_on_permanent_stream(stream);
        late = allocate_on_permanent_stream(stream);
        capture = fake::begin_capture(stream);
        deallocate_on_stream(early);
    }).join();
    deallocate_on_stream(late);
    fake::drop(fake::end_capture(capture));
    wait_and_release();
    CHECK_FALSE(is_reused(early));
    CHECK_FALSE(is_reused(late));
    CHECK(pool.statistics().used > 0);
}

TEST_CASE("block of an ending thread is leaked if returned elsewhere") {
    const OwnPool pool;
    const Queue stream = Queue::create(fake::device());
    void *late = nullptr;
    std::thread([&] {
        thread_local std::optional<AtTheEnd> ends_last;
        ends_last.emplace([&] { late = allocate_on_permanent_stream(stream); });
        deallocate_on_stream(allocate_on_stream(1000, {stream, true}));
    }).join();
    deallocate_on_stream(late);
    wait_and_release();
    CHECK_FALSE(is_reused(late));
    CHECK(pool.statistics().used > 0);
}

TEST_CASE("ending thread may allocate and return blocks") {
    const OwnPool pool;
    const Queue stream = Queue::create(fake::device());
    bool is_done = false;
    std::thread([&] {
        thread_local std::optional<AtTheEnd> ends_last;
        ends_last.emplace([&] {
            deallocate_on_stream(allocate_on_stream(1000, {stream, true}));
            is_done = true;
        });
        deallocate_on_stream(allocate_on_stream(1000, {stream, true}));
    }).join();
    CHECK(is_done);
    wait_and_release();
    CHECK(pool.statistics().used == 0);
}

TEST_CASE("threads allocate and return shared blocks concurrently") {
    const OwnPool pool;
    std::atomic<void *> passed{nullptr};
    std::vector<std::thread> threads;
    for (int number = 0; number < 8; ++number)
        threads.emplace_back([&, number] {
            const Queue queue = Queue::create(fake::device());
            for (int round = 0; round < 2000; ++round) {
                const auto bytes =
                    static_cast<std::size_t>(1 + (round * 977 + number * 31) % 100'000);
                auto *const block = static_cast<unsigned char *>(
                    allocate_on_stream(bytes, {queue, round % 3 == 0}));
                block[0] = block[bytes - 1] = static_cast<unsigned char>(number);
                CHECK(block[0] == number);
                deallocate_on_stream(passed.exchange(block));
            }
            deallocate_on_stream(allocate_on_stream(1, {queue, true}));
        });
    for (std::thread &thread : threads)
        thread.join();
    deallocate_on_stream(passed.exchange(nullptr));
}
