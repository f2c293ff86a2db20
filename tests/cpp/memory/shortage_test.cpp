// The access log and the tables of queues if memory for them is missing.
#include "core/no_destructor.hpp"
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/memory.hpp>
#include <entrepot/memory/pool.hpp>
#include <memory/deferred.hpp>
#include <memory/ordering.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <iterator>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "memory/device_memory.hpp"

namespace {

// Allocations of this thread that succeed before one fails; negative: all succeed.
thread_local int allocations_left = -1;
// Called before that one fails.
thread_local std::function<void()> before_failure;

bool is_to_fail() {
    if (allocations_left < 0 || allocations_left-- != 0)
        return false;
    if (const auto call = std::exchange(before_failure, {}))
        call();
    return true;
}

}  // namespace

void *operator new(std::size_t bytes) {
    void *const block = is_to_fail() ? nullptr : std::malloc(bytes);
    if (!block)
        throw std::bad_alloc();
    return block;
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }

using namespace entrepot;

namespace {

// Returns: true if the call throws bad_alloc because its allocation number `count` fails.
template <class Call> bool lacks_memory(int count, Call &&call) {
    allocations_left = count;
    bool has_thrown = false;
    try {
        call();
    } catch (const std::bad_alloc &) {
        has_thrown = true;
    }
    allocations_left = -1;
    return has_thrown;
}

// Makes the next entry of the log allocate.
void shrink_log(const Memory &memory) {
    Memory::Ordering &ordering = Memory::Ordering::of(*memory.record());
    const MutexLock lock(ordering.mutex);
    ordering.entries.shrink_to_fit();
}

// A record that a release lacks memory for leaks. Keeps it reachable for the leak checker.
void expect_leak(const Memory &memory) {
    static NoDestructor<std::vector<const Memory::Record *>> records;
    records->push_back(memory.record());
}

bool is_idle_now(const Queue &queue) { return queue.is_done(queue.position()); }

}  // namespace

TEST_CASE("earlier use of memory stays known without memory") {
    const HeldQueue producer;
    const Queue ours = Queue::create(fake::device());
    const Device device = fake::device();
    int here = 0;
    const Memory memory =
        Memory::borrow(&here, sizeof here, UsmKind::device, device, device.default_context(), {});
    producer.submit();
    memory.record_producer(producer.queue);
    shrink_log(memory);
    CHECK(lacks_memory(0, [&] { memory.wait_for_conflicts(Access::read, ours); }));
    memory.wait_for_conflicts(Access::read, ours);
    CHECK_FALSE(is_idle_now(ours));
    producer.finish();
    CHECK(is_idle_now(ours));
}

TEST_CASE("accesses that a failed one replaces stay in the log") {
    const HeldQueue one, two;
    const Queue writer = Queue::create(fake::device()), later = Queue::create(fake::device());
    const Memory memory = Memory::allocate(64, UsmKind::device, writer);
    for (const HeldQueue *reader : {&one, &two})
        memory.record_access(Access::read, reader->queue, reader->submit().position);
    memory.wait_for_conflicts(Access::write, writer);
    const Queue::Position written = fake::submit(writer);
    CHECK(lacks_memory(0, [&] { memory.record_access(Access::write, writer, written); }));
    memory.wait_for_conflicts(Access::write, later);
    SUBCASE("first reader is pending") { two.finish(); }
    SUBCASE("second reader is pending") { one.finish(); }
    CHECK_FALSE(is_idle_now(later));
    one.finish();
    two.finish();
    CHECK(is_idle_now(later));
}

TEST_CASE("access stays in the log if a later one fails") {
    const HeldQueue reader, others[6];
    const Queue later = Queue::create(fake::device());
    const Memory memory = Memory::allocate(64, UsmKind::device, later);
    memory.record_access(Access::read, reader.queue, reader.submit().position);
    for (const HeldQueue &other : others)
        memory.record_access(Access::read, other.queue, other.submit().position);
    for (const HeldQueue &other : others) {
        other.finish();
        other.queue.wait();
    }
    const Queue::Position read = reader.submit().position;
    CHECK(lacks_memory(0, [&] { memory.record_access(Access::read, reader.queue, read); }));
    memory.wait_for_conflicts(Access::write, later);
    CHECK_FALSE(is_idle_now(later));
    reader.finish();
    CHECK(is_idle_now(later));
}

TEST_CASE("memory is not released under a consumer if a release lacks memory") {
    const HeldQueue consumer, user;
    const Device device = fake::device();
    bool has_consumer = true, is_logged = true;
    SUBCASE("consumer has named its queue") { is_logged = false; }
    SUBCASE("access is logged") { has_consumer = false; }
    SUBCASE("both") {}
    bool has_failed = true;
    for (int count = 0; has_failed; ++count) {
        CAPTURE(count);
        int here = 0;
        bool is_released = false;
        Memory memory =
            Memory::borrow(&here, sizeof here, UsmKind::device, device, device.default_context(),
                           {&is_released, [](void *flag) { *static_cast<bool *>(flag) = true; }});
        if (has_consumer)
            memory.add_consumer_queue(consumer.queue, Memory::Consumer::holds_memory);
        if (is_logged)
            memory.record_access(Access::read, user.queue, user.submit().position);
        consumer.submit();
        expect_leak(memory);
        has_failed = false;  // a release that catches the error returns as usual
        before_failure = [&] { has_failed = true; };
        lacks_memory(count, [&] { memory = {}; });
        release_finished();
        CHECK_FALSE(is_released);
        consumer.finish();
        user.finish();
        wait_and_release();
        CHECK((is_released || has_failed));  // else it leaks
        fake::hold(consumer.queue);
        fake::hold(user.queue);
    }
    before_failure = {};
}

TEST_CASE("block is not reused before its accesses if a release lacks memory") {
    const HeldQueue reader, other_reader;
    const Queue later = Queue::create(fake::device());
    bool has_failed = true;
    for (int count = 0; has_failed; ++count) {
        CAPTURE(count);
        Memory memory = Memory::allocate(64, UsmKind::device, later);
        const void *const data = memory.data();
        memory.record_access(Access::read, reader.queue, reader.submit().position);
        memory.record_access(Access::read, other_reader.queue, other_reader.submit().position);
        expect_leak(memory);
        has_failed = false;
        before_failure = [&] { has_failed = true; };
        lacks_memory(count, [&] { memory = {}; });
        CHECK(Memory::allocate(64, UsmKind::device, later).data() != data);
    }
    before_failure = {};
}

TEST_CASE("pool that lacks memory at its end frees nothing before its accesses") {
    const HeldQueue reader;
    bool has_failed = true;
    for (int count = 0; has_failed; ++count) {
        CAPTURE(count);
        ResourceRef pool = make_resource<PoolResource>(direct_resource());
        Memory memory = Memory::allocate(64, UsmKind::device, reader.queue, 0, pool.get());
        const void *const data = memory.data();
        memory.record_access(Access::read, reader.queue, reader.submit().position);
        memory = {};
        has_failed = false;
        before_failure = [&] { has_failed = true; };
        lacks_memory(count, [&] { pool = {}; });
        release_finished();
        CHECK(is_allocated(data));
        reader.finish();
        wait_and_release();
        CHECK((has_failed || !is_allocated(data)));
        fake::hold(reader.queue);
    }
    before_failure = {};
}

TEST_CASE("magazine of a thread that ends without memory is emptied by the pool") {
    const Queue queue = Queue::create(fake::device());
    bool has_failed = false;
    // for some number of blocks, those of the magazine exceed the capacity of the free list
    for (int blocks = 1; blocks <= 160; blocks += 8) {
        CAPTURE(blocks);
        ResourceRef pool = make_resource<PoolResource>(direct_resource());
        std::vector<const void *> data;
        std::thread([&] {
            before_failure = [&] { has_failed = true; };  // made before, so destroyed after them
            std::vector<Memory> memory;
            for (int i = 0; i < blocks; ++i) {
                memory.push_back(Memory::allocate(8 << 10, UsmKind::device, queue, 0, pool.get()));
                data.push_back(memory.back().data());
            }
            memory = {};
            allocations_left = 0;  // the thread's end empties its magazines
        }).join();
        pool = {};
        for (const void *block : data)
            CHECK_FALSE(is_allocated(block));
    }
    CHECK(has_failed);
}

TEST_CASE("deferred items are returned once if a poll lacks memory") {
    const Queue queue = Queue::create(fake::device());
    bool has_failed = true;
    for (int count = 0; has_failed; ++count) {
        ForkSafeMutex mutex;
        Deferred<int> deferred(mutex);
        for (const int item : {1, 2, 3})
            deferred.add(queue.context(), {{}, true}, item);
        std::vector<int> taken;
        has_failed = false;  // a poll that catches the error returns as usual
        before_failure = [&] { has_failed = true; };
        lacks_memory(count, [&] { taken = deferred.take_finished(); });
        for (int poll = 0; poll < 3; ++poll)
            std::ranges::copy(deferred.take_finished(), std::back_inserter(taken));
        std::ranges::sort(taken);
        CHECK(taken == std::vector{1, 2, 3});
        CHECK(deferred.is_empty());
    }
    before_failure = {};
}

TEST_CASE("list of live queues fails while a queue ends") {
    std::optional<Queue> ending = Queue::create(fake::device());
    const Context context = ending->context();
    std::future<void> dropped;
    before_failure = [&] {
        dropped = std::async(std::launch::async, [&] { ending.reset(); });
        dropped.wait_for(std::chrono::milliseconds(100));
    };
    const int alive = fake::world().alive.queues;
    CHECK(lacks_memory(0, [&] { live_queues(context); }));
    dropped.wait();
    CHECK(fake::world().alive.queues == alive - 1);
}

TEST_CASE("queue that lacks memory for its record is released") {
    Queue made = Queue::create(fake::device());
    const Context context = made.context();
    const ep_queue handle = made.handle();
    ++handle->references;  // the owner's
    made = {};
    const auto wrap = [&] { static_cast<void>(Queue::from_native(fake::backend(), handle)); };
    int failures = 0;
    while (lacks_memory(failures, wrap)) {
        ++failures;
        CHECK(handle->references == 1);
        for (const Queue &queue : live_queues(context))
            CHECK(queue.handle() != handle);
    }
    CHECK(failures >= 3);  // the record, and a row in both tables
    fake::table().queue_release(handle);
}
