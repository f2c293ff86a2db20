// Contract suite of all resources, on the host and on the fake device, whose work tests can hold.
#include <entrepot/device/registry.hpp>

#include <cstring>
#include <optional>
#include <thread>

#include "core/refusal.hpp"
#include "memory/device_memory.hpp"
#include "memory/resources.hpp"

using namespace entrepot;

namespace {

constexpr UsmKind every_kind[] = {UsmKind::host, UsmKind::device, UsmKind::shared};
constexpr std::size_t some_sizes[] = {
    1, 63, 64, 65, 1000, 4096, 70000, std::size_t{1} << 20, (std::size_t{1} << 20) + 1, 5000000};

Place place_of(const Queue &queue, UsmKind kind) { return {queue.context(), queue.device(), kind}; }

template <class Test> void for_every_resource(Test &&test) {
    fake::device();
    for (const ResourceRow &row : every_resource) {
        CAPTURE(std::string(row.name));
        const ResourceRef resource = row.make(direct_resource());
        test(*resource);
    }
}

template <class Test> void for_every_resource_and_kind(Test &&test) {
    for_every_resource([&](Resource &resource) {
        for (const UsmKind kind : every_kind) {
            CAPTURE(kind);
            test(resource, kind);
        }
    });
}

// True if every byte of the block has the value. Requires: the block is not empty.
//
// A single memcmp: with a sanitizer, single bytes take a minute.
bool is_filled(const Block &block, unsigned char value) {
    const auto *const bytes = static_cast<unsigned char *>(block.data);
    return bytes[0] == value && std::memcmp(bytes, bytes + 1, block.bytes - 1) == 0;
}

}  // namespace

TEST_CASE("blocks have their length, are disjoint and writable") {
    for (const Queue &queue : {registry::host().default_queue(), fake::device().default_queue()})
        for_every_resource_and_kind([&](Resource &resource, UsmKind kind) {
            const Place place = place_of(queue, kind);
            std::vector<Block> blocks;
            for (int round = 0; round < 3; ++round)
                for (const std::size_t bytes : some_sizes)
                    blocks.push_back(resource.allocate(place, bytes, 0, queue));
            for (std::size_t i = 0; i < blocks.size(); ++i) {
                CHECK(blocks[i].bytes == some_sizes[i % std::size(some_sizes)]);
                CHECK(reinterpret_cast<std::uintptr_t>(blocks[i].data) % 64 == 0);
                std::memset(blocks[i].data, static_cast<int>(i), blocks[i].bytes);
            }
            for (std::size_t i = 0; i < blocks.size(); ++i)
                CHECK(is_filled(blocks[i], static_cast<unsigned char>(i)));
            for (const Block &block : blocks)
                resource.deallocate(place, block, {});
        });
}

TEST_CASE("power-of-two alignment is kept, also by reused blocks") {
    const Queue queue = fake::device().default_queue();
    for_every_resource([&](Resource &resource) {
        const Place place = place_of(queue, UsmKind::shared);
        for (int round = 0; round < 2; ++round)
            for (std::size_t alignment = 1; alignment <= std::size_t{1} << 21; alignment *= 2)
                for (const std::size_t bytes :
                     {std::size_t{1}, std::size_t{300}, std::size_t{5000}, std::size_t{3} << 20}) {
                    const Block one = resource.allocate(place, bytes, alignment, queue);
                    const Block other = resource.allocate(place, bytes, alignment, queue);
                    CHECK(reinterpret_cast<std::uintptr_t>(one.data) % alignment == 0);
                    CHECK(reinterpret_cast<std::uintptr_t>(other.data) % alignment == 0);
                    CHECK(!overlap(one, other));
                    resource.deallocate(place, one, {});
                    resource.deallocate(place, other, {});
                }
    });
}

TEST_CASE("block in use is neither freed nor reused by other queues") {
    for_every_resource_and_kind([](Resource &resource, UsmKind kind) {
        for (const std::size_t bytes : {std::size_t{1000}, std::size_t{3} << 20}) {
            CAPTURE(bytes);
            const HeldQueue busy;
            const Queue other = Queue::create(fake::device());
            const Place place = place_of(busy.queue, kind);
            const Block block = resource.allocate(place, bytes, 0, busy.queue);
            resource.deallocate(place, block, {{busy.submit()}, false});
            resource.trim();
            CHECK(is_allocated(block.data));

            std::vector<Block> others;
            for (int i = 0; i < 100; ++i)
                others.push_back(resource.allocate(place, bytes, 0, other));
            CHECK(std::none_of(others.begin(), others.end(),
                               [&](const Block &each) { return overlap(each, block); }));
            if (is_host_accessible(kind)) {
                others.push_back(resource.allocate(place, bytes, 0, busy.queue));
                CHECK(!overlap(others.back(), block));
            }
            for (const Block &each : others)
                resource.deallocate(place, each, {});
            resource.trim();
            CHECK(is_allocated(block.data));
        }
    });
}

TEST_CASE("host-accessible block in use is not reused by its queue") {
    for_every_resource([](Resource &resource) {
        for (const UsmKind kind : {UsmKind::host, UsmKind::shared}) {
            const HeldQueue busy;
            const Place place = place_of(busy.queue, kind);
            const Block block = resource.allocate(place, 1000, 0, busy.queue);
            resource.deallocate(place, block, {{busy.submit()}, false});
            const Block next = resource.allocate(place, 1000, 0, busy.queue);
            CHECK(!overlap(next, block));
            resource.deallocate(place, next, {});
        }
    });
}

TEST_CASE("block used by several queues waits for all of them") {
    for_every_resource_and_kind([](Resource &resource, UsmKind kind) {
        const HeldQueue one, other;
        const Place place = place_of(one.queue, kind);
        const Block block = resource.allocate(place, 3000000, 0, one.queue);
        resource.deallocate(place, block, {{one.submit(), other.submit()}, false});
        one.finish();
        release_finished();
        resource.trim();
        CHECK(is_allocated(block.data));
        other.finish();
        release_finished();
        resource.trim();
        CHECK(!is_allocated(block.data));
    });
}

TEST_CASE("escaped memory waits for every queue of its context") {
    for_every_resource_and_kind([](Resource &resource, UsmKind kind) {
        const HeldQueue foreign;
        const Queue other = Queue::create(fake::device());
        foreign.submit();
        const Place place = place_of(foreign.queue, kind);
        const Block block = resource.allocate(place, 1000, 0, other);
        resource.deallocate(place, block, {{}, true});
        std::vector<Block> others;
        for (int i = 0; i < 300; ++i)
            others.push_back(resource.allocate(place, 1000, 0, other));
        CHECK(std::none_of(others.begin(), others.end(),
                           [&](const Block &each) { return overlap(each, block); }));
        for (const Block &each : others)
            resource.deallocate(place, each, {});
        release_finished();
        resource.trim();
        CHECK(is_allocated(block.data));
        foreign.finish();
        release_finished();
        resource.trim();
        CHECK(!is_allocated(block.data));
    });
}

TEST_CASE("queue released before its memory is still waited for") {
    for_every_resource([](Resource &resource) {
        std::optional<HeldQueue> busy(std::in_place);
        const Queue other = Queue::create(fake::device());
        const Place place = place_of(other, UsmKind::host);
        const Block block = resource.allocate(place, 1000, 0, other);
        ep_queue handle = busy->queue.handle();
        resource.deallocate(place, block, {{busy->submit()}, false});
        busy->queue = other;  // the last reference of the test's
        resource.trim();
        CHECK(is_allocated(block.data));
        {
            const std::unique_lock locked(fake::world().mutex);
            handle->held = false;
            fake::pump(fake::world());
        }
        release_finished();
        resource.trim();
        CHECK(!is_allocated(block.data));
    });
}

TEST_CASE("block is kept while the device returns errors") {
    for_every_resource([](Resource &resource) {
        const HeldQueue busy;
        const Place place = place_of(busy.queue, UsmKind::shared);
        const Block block = resource.allocate(place, 1000, 0, busy.queue);
        resource.deallocate(place, block, {{busy.submit()}, false});
        fake::refuse_next(EP_DEVICE_ERROR, "the device is busy");
        release_finished();
        CHECK(is_allocated(block.data));
        busy.finish();
        release_finished();
        resource.trim();
        CHECK(!is_allocated(block.data));
    });
}

TEST_CASE("oversized request is refused, the resource remains usable") {
    for_every_resource_and_kind([](Resource &resource, UsmKind kind) {
        const Queue queue = fake::device().default_queue();
        const Place place = place_of(queue, kind);
        for (const std::size_t bytes :
             {std::size_t{1} << 40, std::numeric_limits<std::size_t>::max() - 100})
            for (const std::size_t alignment : {0, 64, 1 << 20})
                CHECK_REFUSED(ErrorKind::allocation, "",
                              resource.allocate(place, bytes, alignment, queue));
        const Block block = resource.allocate(place, 1000, 0, queue);
        resource.deallocate(place, block, {});
    });
}

TEST_CASE("trim frees all cached memory") {
    for_every_resource_and_kind([](Resource &resource, UsmKind kind) {
        const std::size_t before = allocation_count();
        const Queue queue = fake::device().default_queue();
        const Place place = place_of(queue, kind);
        std::vector<Block> blocks;
        for (int round = 0; round < 40; ++round)
            for (const std::size_t bytes : some_sizes)
                blocks.push_back(resource.allocate(place, bytes, 0, queue));
        const Block kept = blocks.back();
        blocks.pop_back();
        for (const Block &block : blocks)
            resource.deallocate(place, block, {});
        resource.trim();
        CHECK(allocation_count() == before + 1);
        CHECK(is_allocated(kept.data));
        resource.deallocate(place, kept, {});
        resource.trim();
        CHECK(allocation_count() == before);
    });
}

TEST_CASE("destroyed resource frees all blocks after pending work") {
    const std::size_t before = allocation_count();
    fake::device();
    for (const ResourceRow &row : every_resource)
        for (const UsmKind kind : every_kind) {
            CAPTURE(std::string(row.name));
            CAPTURE(kind);
            const HeldQueue busy;
            {
                const ResourceRef resource = row.make(direct_resource());
                const Place place = place_of(busy.queue, kind);
                for (const std::size_t bytes : some_sizes) {
                    const Block idle = resource->allocate(place, bytes, 0, busy.queue);
                    const Block used = resource->allocate(place, bytes, 0, busy.queue);
                    const Block seen = resource->allocate(place, bytes, 0, busy.queue);
                    resource->deallocate(place, idle, {});
                    resource->deallocate(place, used, {{busy.submit()}, false});
                    resource->deallocate(place, seen, {{}, true});
                }
            }
            release_finished();
            CHECK(allocation_count() > before);
            busy.finish();
            release_finished();
            CHECK(allocation_count() == before);
        }
}

TEST_CASE("eight threads allocate and release blocks without overlap") {
    constexpr int threads = 8, rounds = 150;
    for (const Queue &queue : {registry::host().default_queue(), fake::device().default_queue()})
        for_every_resource([&](Resource &resource) {
            const Place place = place_of(queue, UsmKind::shared);
            std::mutex mutex;
            // blocks that another thread will release
            std::vector<std::pair<Block, unsigned char>> passed;
            std::atomic<int> clashes{0};
            const auto work = [&](unsigned char mark) {
                std::uint32_t random = mark * 2654435761u;
                for (int round = 0; round < rounds; ++round) {
                    random = random * 1664525u + 1013904223u;
                    const std::size_t bytes = random % 50 == 0 ? 1200000 : 1 + (random >> 8) % 3000;
                    const Block block = resource.allocate(place, bytes, 0, queue);
                    std::memset(block.data, mark, block.bytes);
                    std::this_thread::yield();
                    clashes += !is_filled(block, mark);
                    if (random % 3 == 0) {
                        const std::lock_guard lock(mutex);
                        passed.emplace_back(block, mark);
                    } else {
                        resource.deallocate(place, block, {{}, random % 7 == 0});
                    }
                    const std::lock_guard lock(mutex);
                    if (passed.size() > 16) {
                        clashes += !is_filled(passed.front().first, passed.front().second);
                        resource.deallocate(place, passed.front().first, {});
                        passed.erase(passed.begin());
                    }
                }
            };
            std::vector<std::thread> all;
            for (int i = 1; i <= threads; ++i)
                all.emplace_back(work, static_cast<unsigned char>(i));
            for (std::thread &thread : all)
                thread.join();
            CHECK(clashes == 0);
            for (const auto &[block, mark] : passed)
                resource.deallocate(place, block, {});
        });
}
