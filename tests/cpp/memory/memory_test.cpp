// Memory: owned and borrowed, its release, and its errors when memory runs out.
#include "memory/release.hpp"
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/current.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/limit.hpp>
#include <entrepot/memory/pool.hpp>
#include <entrepot/memory/statistics.hpp>

#include <cstring>
#include <limits>
#include <thread>

#include "core/refusal.hpp"
#include "memory/device_memory.hpp"
#include "support/forked_child.hpp"

using namespace entrepot;

namespace {

Owner counting(int &released) {
    return {&released, [](void *count) { ++*static_cast<int *>(count); }};
}

}  // namespace

TEST_CASE("allocated memory reports its properties") {
    const Queue queue = fake::device().default_queue();
    for (const UsmKind kind : {UsmKind::host, UsmKind::device, UsmKind::shared}) {
        const Memory memory = Memory::allocate(1000, kind, queue, 256);
        CHECK(memory.nbytes() == 1000);
        CHECK(memory.kind() == kind);
        CHECK(memory.device() == fake::device());
        CHECK(memory.context() == queue.context());
        CHECK(!memory.is_borrowed());
        CHECK(memory.resource() == default_resource());
        CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 256 == 0);
        CHECK(is_allocated(memory.data()));
    }
}

TEST_CASE("allocation of 0 bytes has a unique address") {
    const Queue queue = fake::device().default_queue();
    const Memory one = Memory::allocate(0, UsmKind::host, queue),
                 other = Memory::allocate(0, UsmKind::host, queue);
    CHECK(one.nbytes() == 0);
    CHECK(one.data() != nullptr);
    CHECK(one.data() != other.data());
}

TEST_CASE("impossible allocations are refused with the reason") {
    const Queue queue = fake::device().default_queue();
    CHECK_REFUSED(ErrorKind::value, "24", Memory::allocate(10, UsmKind::host, queue, 24));
    CHECK_REFUSED(ErrorKind::value, "unknown", Memory::allocate(10, UsmKind::unknown, queue));
    CHECK_REFUSED(ErrorKind::value, "default_queue", Memory::allocate(10, UsmKind::host, Queue()));
}

TEST_CASE("borrowed owner is released once, with the last view") {
    int released = 0;
    char bytes[16];
    {
        Memory memory = Memory::borrow_host(bytes, sizeof bytes, counting(released));
        CHECK(memory.is_borrowed());
        CHECK(memory.data() == bytes);
        CHECK(memory.device() == registry::host());
        CHECK(memory.owner().handle() == &released);
        const Memory view = memory;
        memory = {};
        CHECK(released == 0);
    }
    CHECK(released == 1);
}

TEST_CASE("borrowed owner is released after the kernel, without a wait") {
    int released = 0;
    const HeldQueue queue;
    char bytes[16];
    {
        const Memory memory = Memory::borrow(bytes, sizeof bytes, UsmKind::shared, fake::device(),
                                             queue.queue.context(), counting(released));
        memory.record_access(Access::read, queue.queue, queue.submit().position);
    }
    CHECK(released == 0);
    release_finished();
    CHECK(released == 0);
    queue.finish();
    CHECK(released == 0);
    // any call of Entrepot will do
    const Memory next = Memory::borrow_host(bytes, sizeof bytes, {});
    CHECK(released == 1);
}

TEST_CASE("owner may release further memory during its release") {
    struct Chain {
        Memory next;
    };
    char byte = 0;
    int released = 0;
    Memory memory = Memory::borrow_host(&byte, 1, counting(released));
    for (int i = 0; i < 1000; ++i)
        memory = Memory::borrow_host(&byte, 1, Owner(new Chain{memory}, [](void *chain) {
            delete static_cast<Chain *>(chain);
        }));
    memory = {};
    CHECK(released == 1);
}

TEST_CASE("reference is converted to a pointer and back") {
    int released = 0;
    void *const plain = Memory::borrow_host(nullptr, 0, counting(released)).detach();
    CHECK(released == 0);
    Memory::attach(plain);
    CHECK(released == 1);
}

TEST_CASE("memory released during a kernel is reused by its queue only") {
    const HeldQueue busy;
    const Queue other = Queue::create(fake::device());
    Memory memory = Memory::allocate(1000, UsmKind::device, busy.queue);
    void *const data = memory.data();
    memory.wait_for_conflicts(Access::write, busy.queue);
    memory.record_access(Access::write, busy.queue, busy.submit().position);
    memory = {};
    Memory elsewhere = Memory::allocate(1000, UsmKind::device, other);
    CHECK(elsewhere.data() != data);
    Memory again = Memory::allocate(1000, UsmKind::device, busy.queue);
    // The other queue's request may have moved the block to another cache. If the busy queue gets
    // it, other queues wait for the work.
    if (again.data() == data) {
        const int waits = fake::world().calls.event_wait_in_queue;
        again.wait_for_conflicts(Access::read, other);
        CHECK(fake::world().calls.event_wait_in_queue == waits + 1);
    }
}

TEST_CASE("device memory is reused at once by its own queue") {
    const HeldQueue busy;
    const ResourceRef pool = make_resource<PoolResource>(direct_resource());
    for (const std::size_t bytes : {std::size_t{1000}, std::size_t{3} << 20}) {
        const void *first = nullptr;
        for (int i = 0; i < 20; ++i) {
            const Memory memory =
                Memory::allocate(bytes, UsmKind::device, busy.queue, 0, pool.get());
            first = first ? first : memory.data();
            CHECK(memory.data() == first);
            memory.wait_for_conflicts(Access::write, busy.queue);
            memory.record_access(Access::write, busy.queue, busy.submit().position);
        }
    }
}

TEST_CASE("other queues wait for earlier work on a reused block") {
    const HeldQueue busy;
    const Queue other = Queue::create(fake::device());
    const ResourceRef pool = make_resource<PoolResource>(direct_resource());
    std::string order;
    {
        const Memory memory = Memory::allocate(1000, UsmKind::device, busy.queue, 0, pool.get());
        memory.record_access(Access::write, busy.queue,
                             fake::submit(busy.queue, [&] { order += "old "; }));
    }
    const Memory memory = Memory::allocate(1000, UsmKind::device, busy.queue, 0, pool.get());
    memory.wait_for_conflicts(Access::write, other);
    memory.record_access(Access::write, other, fake::submit(other, [&] { order += "new"; }));
    CHECK(order.empty());
    busy.finish();
    CHECK(order == "old new");
}

TEST_CASE("out of memory: cached memory is freed for a second attempt") {
    const Queue queue = fake::device().default_queue();
    const ResourceRef limited =
        make_resource<LimitResource>(direct_resource(), std::size_t{8} << 20);
    const ResourceRef pool = make_resource<PoolResource>(limited.get());
    {
        const Memory cached = Memory::allocate(6 << 20, UsmKind::device, queue, 0, pool.get());
    }
    CHECK(static_cast<LimitResource &>(*limited).used() == 6 << 20);
    const Memory memory = Memory::allocate(3 << 20, UsmKind::host, queue, 0, pool.get());
    CHECK(static_cast<LimitResource &>(*limited).used() == 3 << 20);
}

TEST_CASE("out of memory: blocks with pending work are waited for") {
    const HeldQueue busy;
    const ResourceRef limited =
        make_resource<LimitResource>(direct_resource(), std::size_t{8} << 20);
    const ResourceRef pool = make_resource<PoolResource>(limited.get());
    {
        const Memory waiting =
            Memory::allocate(6 << 20, UsmKind::shared, busy.queue, 0, pool.get());
        waiting.record_access(Access::write, busy.queue, busy.submit().position);
    }
    std::thread later([&] { busy.finish(); });
    const Memory memory =
        Memory::allocate(6 << 20, UsmKind::host, fake::device().default_queue(), 0, pool.get());
    later.join();
    CHECK(memory);
}

TEST_CASE("out of memory: error has the requested and available bytes") {
    const Queue queue = fake::device().default_queue();
    const ResourceRef pool = make_resource<PoolResource>(direct_resource());
    const Memory used = Memory::allocate(5000, UsmKind::device, queue, 0, pool.get());
    const auto refused = refusal_of(
        [&] { Memory::allocate(std::size_t{3} << 40, UsmKind::device, queue, 0, pool.get()); });
    REQUIRE(refused);
    CHECK(refused->kind == ErrorKind::allocation);
    CHECK_MESSAGE(refused->says("no block of that size (3298534883328 bytes of device memory of "
                                "opencl:cpu:0; the retry after all cached"),
                  refused->message);
    CHECK_MESSAGE(refused->says("1073741824 bytes in all"), refused->message);
    CHECK_MESSAGE(refused->says("the pool holds"), refused->message);
    CHECK_MESSAGE(refused->says("no block of that size"), refused->message);
    CHECK_REFUSED(ErrorKind::allocation, "bytes",
                  Memory::allocate(std::numeric_limits<std::size_t>::max(), UsmKind::host, queue));
}

TEST_CASE("allocation failing for another reason is not retried") {
    const Queue queue = fake::device().default_queue();
    fake::refuse_next(EP_DEVICE_ERROR, "the device fell off the bus");
    CHECK_REFUSED(ErrorKind::device, "fell off",
                  Memory::allocate(10, UsmKind::device, queue, 0, direct_resource()));
}

TEST_CASE("records move between threads") {
    std::vector<Memory> made;
    int released = 0;
    for (int i = 0; i < 1000; ++i)
        made.push_back(Memory::borrow_host(nullptr, 0, counting(released)));
    std::thread([&] { made.clear(); }).join();
    CHECK(released == 1000);
}

TEST_CASE("reused record has no state of its earlier memory") {
    int released = 0;
    char bytes[16];
    const Device &device = fake::device();
    const void *first = nullptr;
    for (const UsmKind kind : {UsmKind::shared, UsmKind::device}) {
        Memory memory = Memory::borrow(bytes, sizeof bytes, kind, device, device.default_context(),
                                       counting(released));
        CHECK((!first || memory.record() == first));
        first = memory.record();
        CHECK(memory.is_borrowed());
        CHECK(memory.kind() == kind);
        CHECK(memory.data() == bytes);
        CHECK(memory.nbytes() == sizeof bytes);
        CHECK(memory.context() == device.default_context());
        CHECK(memory.has_no_pending_access());
        CHECK(!memory.has_escaped());
        CHECK(!memory.has_peers());
        memory.mark_escaped();
        memory.set_owner_queue(device.default_queue());
        memory.record_producer(device.default_queue());
        CHECK(!memory.has_no_pending_access());
        released = 0;
        memory = {};
        CHECK(released == 1);
    }
}

TEST_CASE("owner is released with the last view, after pending work") {
    int released = 0;
    char bytes[16];
    const Device &device = fake::device();
    Memory memory = Memory::borrow(bytes, sizeof bytes, UsmKind::shared, device,
                                   device.default_context(), counting(released));
    Memory view = memory;
    memory = {};
    CHECK(released == 0);
    {
        const HeldQueue busy;
        view.record_access(Access::write, busy.queue, busy.submit().position);
        view = {};
        CHECK(released == 0);
    }
    wait_and_release();
    CHECK(released == 1);
}

TEST_CASE("release of borrowed memory does not wait for its producers") {
    int released = 0;
    const HeldQueue producers[3];
    const Device &device = fake::device();
    Memory memory = Memory::borrow(nullptr, 0, UsmKind::shared, device, device.default_context(),
                                   counting(released));
    for (const HeldQueue &each : producers) {
        each.submit();
        memory.record_producer(each.queue);
    }
    memory = {};
    CHECK(released == 1);
}

TEST_CASE("owner of device memory leaks at exit though its work is done") {
    wait_and_release();  // what other tests have left would leak as well
    const HeldQueue queue;
    int released = 0, here = 0;
    Memory memory = Memory::borrow(&here, sizeof here, UsmKind::device, fake::device(),
                                   queue.queue.context(), counting(released));
    memory.record_access(Access::write, queue.queue, queue.submit().position);
    memory = {};
    queue.finish();
    queue.queue.wait();
    leak_from_now_on();
    release_finished();
    CHECK(released == 0);
    process_ends = false;  // for the other tests
    release_finished();
    CHECK(released == 0);
}

TEST_CASE("forked child leaks device memory, and host memory works") {
    const HeldQueue busy;
    const Queue host = registry::host().default_queue();
    const ResourceRef pool = make_resource<PoolResource>(direct_resource());
    std::atomic<bool> stop{false};
    std::thread noise([&] {  // holds the pool's locks at the moment of the fork, as likely as not
        while (!stop) {
            const Memory memory = Memory::allocate(2000000, UsmKind::host, host, 0, pool.get());
            const Memory other = Memory::allocate(100, UsmKind::device, busy.queue);
        }
    });
    int released = 0;
    for (int round = 0; round < 20; ++round) {
        Memory memory = Memory::allocate(1000, UsmKind::device, busy.queue);
        Memory borrowed = Memory::borrow(nullptr, 0, UsmKind::shared, fake::device(),
                                         busy.queue.context(), counting(released));
        memory.record_access(Access::write, busy.queue, busy.submit().position);
        borrowed.record_access(Access::write, busy.queue, busy.submit().position);
        CHECK(holds_in_child([&] {
            const auto refused =
                refusal_of([&] { Memory::allocate(1000, UsmKind::device, busy.queue); });
            const auto waited = refusal_of([&] { memory.wait_for_host(Access::read); });
            memory = {};
            borrowed = {};
            release_finished();
            const Memory mine = Memory::allocate(1000, UsmKind::host, host);
            const Memory large = Memory::allocate(2000000, UsmKind::host, host, 0, pool.get());
            std::memset(mine.data(), 1, 1000);
            std::memset(large.data(), 1, 2000000);
            const bool refuses = refused && refused->kind == ErrorKind::device && waited &&
                                 waited->kind == ErrorKind::device;
            return refuses && released == 0;
        }));
    }
    stop = true;
    noise.join();
    CHECK(released == 0);
    busy.finish();
    release_finished();
    CHECK(released == 20);
}
