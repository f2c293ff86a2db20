// The pool: reuse, caching and freeing of memory.
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/pool.hpp>
#include <entrepot/memory/statistics.hpp>
#include <memory/size_class.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "core/refusal.hpp"
#include "memory/device_memory.hpp"

using namespace entrepot;

namespace {

// A pool whose upstream counts allocations.
struct CountedPool {
    ResourceRef counter = make_resource<StatisticsResource>(direct_resource());
    ResourceRef resource;

    explicit CountedPool(std::size_t max_cached = PoolResource::unlimited)
        : resource(make_resource<PoolResource>(counter.get(), max_cached)) {}
    PoolResource &pool() const { return static_cast<PoolResource &>(*resource); }
    StatisticsResource::Numbers taken() const {
        return static_cast<StatisticsResource &>(*counter).numbers();
    }
};

// Makes blocks at ever lower addresses. Nothing accesses them.
class DescendingResource final : public Resource {
public:
    DescendingResource() noexcept : Resource(nullptr) {}

    Block allocate(const Place &, std::size_t bytes, std::size_t alignment,
                   const Queue &) override {
        lowest_ -= bytes;
        return {reinterpret_cast<void *>(lowest_), bytes, alignment};
    }
    void deallocate(const Place &, Block, Pending) noexcept override {}
    std::string name() const override { return "descending"; }

private:
    std::uintptr_t lowest_ = std::uintptr_t{1} << 46;
};

Place host_place(const Queue &queue) { return {queue.context(), queue.device(), UsmKind::host}; }

}  // namespace

TEST_CASE("size classes hold the request, waste little, and are aligned") {
    for (std::size_t bytes = 1; bytes <= size_class::longest; bytes += 1 + bytes / 97) {
        const std::size_t index = size_class::holding(bytes);
        CHECK(size_class::bytes_of(index) >= bytes);
        CHECK((index == 0 || size_class::bytes_of(index - 1) < bytes));
        CHECK(size_class::bytes_of(index) <= std::max<std::size_t>(bytes + 63, bytes + bytes / 4));
        for (std::size_t alignment = 1; alignment <= size_class::page; alignment *= 2) {
            const std::size_t serving = size_class::serving(bytes, alignment);
            if (serving != size_class::none) {
                CHECK(size_class::bytes_of(serving) >= bytes);
                CHECK(size_class::bytes_of(serving) % alignment == 0);
            }
        }
    }
    CHECK(size_class::serving(size_class::longest + 1, 0) == size_class::none);
    CHECK(size_class::serving(1, 2 * size_class::page) == size_class::none);
}

TEST_CASE("small blocks share chunks, and are cached") {
    const CountedPool counted;
    const Queue queue = fake::device().default_queue();
    const Place place = host_place(queue);
    std::vector<Block> blocks;
    for (int i = 0; i < 1000; ++i)
        blocks.push_back(counted.pool().allocate(place, 1000, 0, queue));
    CHECK(counted.taken().total_count <= 1000 / 64 + 1);
    for (const Block &block : blocks)
        counted.pool().deallocate(place, block, {});
    const std::size_t taken = counted.taken().total_count;
    for (int i = 0; i < 1000; ++i)
        counted.pool().deallocate(place, counted.pool().allocate(place, 1000, 0, queue), {});
    CHECK(counted.taken().total_count == taken);
}

TEST_CASE("blocks of different places are separate") {
    const CountedPool counted;
    const Queue one = Queue::create(fake::device(0)), other = Queue::create(fake::device(1));
    std::set<void *> seen;
    for (const Queue &queue : {one, other, registry::host().default_queue()})
        for (const UsmKind kind : {UsmKind::host, UsmKind::device, UsmKind::shared}) {
            const Place place{queue.context(), queue.device(), kind};
            const Block block = counted.pool().allocate(place, 1000, 0, queue);
            CHECK(seen.insert(block.data).second);
            counted.pool().deallocate(place, block, {});
        }
}

TEST_CASE("large blocks come from the shortest sufficient piece") {
    const CountedPool counted;
    const Queue queue = fake::device().default_queue();
    const Place place = host_place(queue);
    const Block twenty = counted.pool().allocate(place, 20 << 20, 0, queue),
                ten = counted.pool().allocate(place, 10 << 20, 0, queue);
    counted.pool().deallocate(place, twenty, {});
    counted.pool().deallocate(place, ten, {});
    const Block near = counted.pool().allocate(place, (10 << 20) - 5, 0, queue);
    CHECK(near.data == ten.data);
    counted.pool().deallocate(place, near, {});
}

TEST_CASE("oldest segment serves first among pieces of one size") {
    const auto pool = make_resource<PoolResource>(make_resource<DescendingResource>().get());
    const Queue queue = fake::device().default_queue();
    const Place place = host_place(queue);
    const auto allocate = [&] { return pool->allocate(place, 10 << 20, 0, queue); };
    const Block older = allocate(), newer = allocate();
    CHECK(newer.data < older.data);
    pool->deallocate(place, newer, {});
    pool->deallocate(place, older, {});
    const Block first = allocate(), second = allocate();
    CHECK(first.data == older.data);
    CHECK(second.data == newer.data);
    pool->deallocate(place, first, {});
    pool->deallocate(place, second, {});
}

TEST_CASE("freed memory is reused in other sizes, and merged again") {
    const CountedPool counted;
    const Queue queue = fake::device().default_queue();
    const Place place = host_place(queue);
    const Block whole = counted.pool().allocate(place, 64 << 20, 0, queue);
    counted.pool().deallocate(place, whole, {});
    const std::size_t taken = counted.taken().total_count;
    for (const std::size_t megabytes : {5, 16, 3, 31}) {
        std::vector<Block> parts;
        for (std::size_t sum = 0; sum + megabytes <= 64; sum += megabytes) {
            parts.push_back(counted.pool().allocate(place, megabytes << 20, 0, queue));
            CHECK(overlap(parts.back(), whole));
            for (std::size_t i = 0; i + 1 < parts.size(); ++i)
                CHECK(!overlap(parts[i], parts.back()));
        }
        // Every second piece is freed first, so that later pieces are merged on both sides.
        for (std::size_t i = 0; i < parts.size(); i += 2)
            counted.pool().deallocate(place, parts[i], {});
        for (std::size_t i = 1; i < parts.size(); i += 2)
            counted.pool().deallocate(place, parts[i], {});
    }
    const Block again = counted.pool().allocate(place, 64 << 20, 0, queue);
    CHECK(again.data == whole.data);
    CHECK(counted.taken().total_count == taken);
    counted.pool().deallocate(place, again, {});
}

TEST_CASE("pieces used by different queues are merged after the work") {
    const CountedPool counted;
    const HeldQueue one, other;
    const Place place{one.queue.context(), one.queue.device(), UsmKind::device};
    const Block whole = counted.pool().allocate(place, 40 << 20, 0, one.queue);
    counted.pool().deallocate(place, whole, {});
    const Block first = counted.pool().allocate(place, 20 << 20, 0, one.queue),
                second = counted.pool().allocate(place, 20 << 20, 0, one.queue);
    counted.pool().deallocate(place, first, {{one.submit()}, false});
    counted.pool().deallocate(place, second, {{other.submit()}, false});
    const std::size_t taken = counted.taken().total_count;
    const Block elsewhere = counted.pool().allocate(place, 40 << 20, 0, one.queue);
    CHECK(!overlap(elsewhere, whole));
    CHECK(counted.taken().total_count == taken + 1);
    other.finish();
    const Block half = counted.pool().allocate(place, 20 << 20, 0, one.queue),
                rest = counted.pool().allocate(place, 20 << 20, 0, one.queue);
    CHECK(overlap(half, whole));
    CHECK(overlap(rest, whole));
    counted.pool().deallocate(place, half, {});
    counted.pool().deallocate(place, rest, {});
    const Block joined = counted.pool().allocate(place, 40 << 20, 0, one.queue);
    CHECK(joined.data == whole.data);
    CHECK(counted.taken().total_count == taken + 1);
    one.finish();
    counted.pool().deallocate(place, joined, {});
    counted.pool().deallocate(place, elsewhere, {});
    counted.pool().trim();
    CHECK(counted.pool().statistics().reserved == 0);
}

TEST_CASE("growing requests do not accumulate smaller cached blocks") {
    const CountedPool counted;
    const Queue queue = fake::device().default_queue();
    const Place place = host_place(queue);
    Block longer = counted.pool().allocate(place, 10 << 20, 0, queue);
    for (std::size_t megabytes = 11; megabytes < 100; ++megabytes) {
        const Block next = counted.pool().allocate(place, megabytes << 20, 0, queue);
        counted.pool().deallocate(place, longer, {});
        longer = next;
    }
    CHECK(counted.taken().peak_bytes <= (std::size_t{300} << 20));
    counted.pool().deallocate(place, longer, {});
}

TEST_CASE("queue of a bound block ends outside the pool's lock") {
    const CountedPool counted;
    const Queue taker = Queue::create(fake::device());
    const Place place{taker.context(), taker.device(), UsmKind::device};
    for (const std::size_t bytes : {std::size_t{1000}, std::size_t{3} << 20}) {
        Block bound;
        {
            const HeldQueue last;
            bound = counted.pool().allocate(place, bytes, 0, last.queue);
            const Use use = last.submit();
            counted.pool().deallocate(place, bound, {{use}, false});
            last.finish();
            use.queue.wait_at(use.position);
        }
        std::future<PoolResource::Statistics> answer;
        std::future_status while_it_ended = std::future_status::deferred;
        fake::world().queue_ends = [&] {
            answer = std::async(std::launch::async, [&] { return counted.pool().statistics(); });
            while_it_ended = answer.wait_for(std::chrono::seconds(2));
        };
        const Block taken = counted.pool().allocate(place, bytes, 0, taker);
        fake::world().queue_ends = nullptr;
        CHECK(taken.data == bound.data);
        CHECK(while_it_ended == std::future_status::ready);
        counted.pool().deallocate(place, taken, {});
    }
}

TEST_CASE("statistics are consistent") {
    const CountedPool counted;
    const Queue queue = Queue::create(fake::device());
    const Place place = host_place(queue);
    CHECK(counted.pool().statistics().reserved == 0);
    const Block small = counted.pool().allocate(place, 64, 0, queue),
                large = counted.pool().allocate(place, 3 << 20, 0, queue);
    PoolResource::Statistics now = counted.pool().statistics();
    CHECK(now.reserved == counted.taken().current_bytes);
    CHECK(now.used == 64 + (3 << 20));
    CHECK(now.cached == now.reserved - now.used);
    fake::hold(queue);
    counted.pool().deallocate(place, large, {{{queue, fake::submit(queue)}}, false});
    counted.pool().deallocate(place, small, {});
    now = counted.pool().statistics();
    CHECK(now.used == 0);
    CHECK(now.waiting == 3 << 20);
    fake::release(queue);
    counted.pool().take_finished();
    now = counted.pool().statistics();
    CHECK(now.waiting == 0);
    CHECK(now.cached == now.reserved);
    CHECK(counted.pool().trim() == now.reserved);
    CHECK(counted.pool().statistics().reserved == 0);
    CHECK(counted.taken().current_bytes == 0);
}

TEST_CASE("cache respects its limit") {
    const std::size_t limit = 4 << 20;
    const CountedPool counted(limit);
    const Queue queue = fake::device().default_queue();
    const Place place = host_place(queue);
    std::vector<Block> blocks;
    for (int i = 0; i < 20; ++i)
        blocks.push_back(counted.pool().allocate(place, 2 << 20, 0, queue));
    for (int i = 0; i < 5000; ++i)
        blocks.push_back(counted.pool().allocate(place, 4000, 0, queue));
    for (const Block &block : blocks)
        counted.pool().deallocate(place, block, {});
    CHECK(counted.pool().statistics().cached <= limit + limit / 8);
}

TEST_CASE("escaped blocks of an idle queue are reused") {
    const CountedPool counted;
    const Queue queue = Queue::create(fake::device());
    const Place place = host_place(queue);
    for (const std::size_t bytes : {std::size_t{1000}, std::size_t{3} << 20})
        for (int i = 0; i < 2000; ++i)
            counted.pool().deallocate(place, counted.pool().allocate(place, bytes, 0, queue),
                                      {{}, true});
    CHECK(counted.taken().peak_bytes <= (4 << 20));
}

TEST_CASE("barrier serves many escaped blocks") {
    const CountedPool counted;
    const HeldQueue busy;
    const Place place = host_place(busy.queue);
    std::vector<Block> blocks;
    for (int i = 0; i < 500; ++i)
        blocks.push_back(counted.pool().allocate(place, 1000, 0, busy.queue));
    busy.submit();
    const int events = fake::world().calls.event_record;
    for (const Block &block : blocks)
        counted.pool().deallocate(place, block, {{}, true});
    counted.pool().take_finished();
    CHECK(fake::world().calls.event_record <= events + 2);
    busy.finish();
    counted.pool().take_finished();
    CHECK(counted.pool().statistics().waiting == 0);
}

TEST_CASE("cached blocks of an ended thread are available to all") {
    const CountedPool counted;
    const Queue queue = fake::device().default_queue();
    const Place place = host_place(queue);
    std::thread([&] {
        counted.pool().deallocate(place, counted.pool().allocate(place, 1000, 0, queue), {});
    }).join();
    CHECK(counted.pool().trim() > 0);
    CHECK(counted.pool().statistics().reserved == 0);
}

TEST_CASE("pool may end before the threads using it") {
    std::atomic<int> stage{0};
    const std::size_t before = allocation_count();
    const Queue queue = fake::device().default_queue();
    auto counted = std::make_unique<CountedPool>();
    std::thread other([&] {
        const Place place = host_place(queue);
        counted->pool().deallocate(place, counted->pool().allocate(place, 1000, 0, queue), {});
        stage = 1;
        while (stage != 2)
            std::this_thread::yield();
        const CountedPool next;  // may lie where the first one did
        const Block block = next.pool().allocate(place, 1000, 0, queue);
        CHECK(is_allocated(block.data));
        next.pool().deallocate(place, block, {});
    });
    while (stage != 1)
        std::this_thread::yield();
    counted.reset();
    CHECK(allocation_count() == before);
    stage = 2;
    other.join();
    CHECK(allocation_count() == before);
}

TEST_CASE("threads and pools may end at the same time") {
    const std::size_t before = live_pools().size();
    for (int round = 0; round < 200; ++round) {
        auto counted = std::make_unique<CountedPool>();
        const ResourceRef shared = counted->resource;
        const Queue queue = fake::device().default_queue();
        std::thread other([pool = counted->resource, &queue] {
            const Place place = host_place(queue);
            pool->deallocate(place, pool->allocate(place, 1000, 0, queue), {});
        });
        counted.reset();
        other.join();
    }
    CHECK(live_pools().size() <= before);
}

TEST_CASE("memory cached for an unreferenced context is freed") {
    const CountedPool counted;
    const int contexts = fake::world().alive.contexts;
    const Device device = fake::device();
    for (int i = 0; i < 50; ++i) {
        const Context context = Context::create({&device, 1});
        const Queue queue = Queue::create(context, device, {});
        const Place place{context, device, UsmKind::host};
        counted.pool().deallocate(place, counted.pool().allocate(place, 1000, 0, queue), {});
        counted.pool().deallocate(place, counted.pool().allocate(place, 3 << 20, 0, queue), {});
    }
    CHECK(fake::world().alive.contexts <= contexts + 1);
    CHECK(counted.taken().current_count <= 2);
}

TEST_CASE("free block does not keep its context alive after its work") {
    const CountedPool counted;
    const int contexts = fake::world().alive.contexts;
    const Device device = fake::device();
    for (int i = 0; i < 50; ++i) {
        const Context context = Context::create({&device, 1});
        const Queue queue = Queue::create(context, device, {});
        const Place place{context, device, UsmKind::device};
        fake::hold(queue);
        for (const std::size_t bytes :
             {std::size_t{1000}, std::size_t{3} << 20, std::size_t{3} << 20}) {
            const Block block = counted.pool().allocate(place, bytes, 0, queue);
            counted.pool().deallocate(place, block, {{{queue, fake::submit(queue)}}, false});
        }
        CHECK(counted.pool().statistics().waiting == 0);
        fake::release(queue);
    }
    CHECK(fake::world().alive.contexts <= contexts + 1);
    CHECK(counted.taken().current_count <= 2);
}

TEST_CASE("memory bound to an unreferenced queue is freed after use") {
    const CountedPool counted;
    std::optional<HeldQueue> busy(std::in_place);
    const Place place{busy->queue.context(), busy->queue.device(), UsmKind::device};
    const Block block = counted.pool().allocate(place, 1000, 0, busy->queue);
    counted.pool().deallocate(place, block, {{busy->submit()}, false});
    CHECK(counted.pool().statistics().waiting == 0);
    counted.pool().trim();
    CHECK(counted.taken().current_count == 1);
    busy.reset();
    counted.pool().trim();
    CHECK(counted.pool().statistics().reserved == 0);
}
