// Graph capture: captured work runs with its graph; other queues do not wait for it; its memory is
// reserved.
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/memory.hpp>
#include <entrepot/memory/pool.hpp>

#include "device_memory.hpp"

#include <chrono>
#include <thread>

using namespace entrepot;

namespace {

// A queue that captures from its creation until end(), which returns the graph.
struct CapturedQueue {
    Queue queue = Queue::create(fake::device());
    std::uint64_t number = fake::begin_capture(queue);

    fake::Graph end() {
        fake::Graph graph = fake::end_capture(std::exchange(number, 0));
        CHECK(graph.is_valid);
        return graph;
    }
    ~CapturedQueue() {
        if (number)
            fake::drop(end());
    }
};

Memory some_memory(const Queue &queue) { return Memory::allocate(64, UsmKind::device, queue); }

void access(const Memory &memory, Access access, const Queue &queue,
            std::function<void()> run = {}) {
    memory.wait_for_conflicts(access, queue);
    memory.record_access(access, queue, fake::submit(queue, std::move(run)));
}

bool is_done(const Queue &queue) { return queue.is_done(queue.position()); }

template <class Call> bool is_refused(Call &&call) {
    try {
        call();
        return false;
    } catch (const Error &error) {
        return error.kind() == ErrorKind::device;
    }
}

}  // namespace

TEST_CASE("capture is reported for foreign queues only") {
    CapturedQueue captured;
    CHECK(captured.queue.capture() == captured.number);
    CHECK(Queue::create(fake::device()).capture() == 0);
    fake::drop(captured.end());
    CHECK(captured.queue.capture() == 0);
}

TEST_CASE("capture is not queried on a device without graphs") {
    const Queue queue = Queue::create(fake::device(1));
    queue.native();
    REQUIRE(queue.is_foreign());
    const int asked = fake::world().calls.queue_capture;
    CHECK(queue.capture() == 0);
    fake::submit(queue);
    CHECK(is_done(queue));
    CHECK(fake::world().calls.queue_capture == asked);
}

TEST_CASE("queues outside a capture neither wait nor join") {
    CapturedQueue captured;
    const Queue other = Queue::create(fake::device());
    const Memory memory = some_memory(other);
    bool wrote = false, read = false;
    access(memory, Access::write, captured.queue, [&] { wrote = true; });
    access(memory, Access::read, other, [&] { read = true; });
    CHECK(read);
    CHECK_FALSE(wrote);
    CHECK(other.capture() == 0);
    const fake::Graph graph = captured.end();
    REQUIRE(graph.work.size() == 1);
    graph.work.front()();
    CHECK(wrote);
    access(memory, Access::write, other);  // waits for the queue as it is now
    CHECK(is_done(other));
}

TEST_CASE("host waits for work needed by a graph") {
    const Queue before = Queue::create(fake::device());
    const Memory memory = some_memory(before);
    access(memory, Access::write, before);
    fake::hold(before);
    CapturedQueue captured;
    bool written = false;
    access(memory, Access::write, before, [&] { written = true; });
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        fake::release(before);
    });
    access(memory, Access::read, captured.queue);
    CHECK(written);
    later.join();
}

TEST_CASE("captured access waits despite a wait for other memory") {
    const Queue before = Queue::create(fake::device()), queue = Queue::create(fake::device());
    const Memory memory = some_memory(before), other = some_memory(before);
    fake::hold(before);
    bool written = false;
    access(memory, Access::write, before, [&] { written = true; });
    access(other, Access::write, before);
    access(other, Access::read, queue);
    const std::uint64_t capture = fake::begin_capture(queue);
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        fake::release(before);
    });
    access(memory, Access::read, queue);
    CHECK(written);
    later.join();
    fake::drop(fake::end_capture(capture));
}

TEST_CASE("queues of one capture are ordered by memory and events") {
    CapturedQueue captured;
    Queue fork = Queue::create(fake::device());
    fork.wait_for(captured.queue.record());
    CHECK(fork.capture() == captured.number);
    const Memory memory = some_memory(Queue::create(fake::device()));
    access(memory, Access::write, captured.queue);
    const int waits = fake::world().calls.event_wait_in_queue;
    access(memory, Access::read, fork);
    CHECK(fake::world().calls.event_wait_in_queue == waits + 1);
    captured.queue.wait_for(fork.record());
}

TEST_CASE("calls invalidating a capture are refused early") {
    CapturedQueue captured;
    const Queue::Position position = fake::submit(captured.queue);
    const Event event = captured.queue.record();
    CHECK_FALSE(captured.queue.is_done(position));
    CHECK(is_refused([&] { captured.queue.wait_at(position); }));
    CHECK(is_refused([&] { event.wait(); }));
    CHECK(is_refused([&] { static_cast<void>(event.is_done()); }));
    CapturedQueue other;
    CHECK(is_refused([&] { other.queue.wait_for(event); }));
    fake::drop(captured.end());
    captured.queue.wait_at(position);
    CHECK(is_done(captured.queue));
}

TEST_CASE("memory allocated in a capture is reused after the graph") {
    PoolResource *const pool = new PoolResource(direct_resource());
    const ResourceRef held = ResourceRef::adopt(pool);
    const auto some = [&](const Queue &queue) {
        return Memory::allocate(1000, UsmKind::device, queue, 0, pool);
    };
    CapturedQueue captured;
    Memory memory = some(captured.queue);
    void *const data = memory.data();
    access(memory, Access::write, captured.queue);
    memory = {};
    const Queue ours = Queue::create(fake::device());
    const auto is_reused = [&] {
        std::vector<Memory> all;
        for (int i = 0; i < 200; ++i)
            all.push_back(some(i % 2 ? captured.queue : ours));
        return std::ranges::any_of(all, [&](const Memory &each) { return each.data() == data; });
    };
    CHECK_FALSE(is_reused());
    fake::Graph graph = captured.end();
    CHECK_FALSE(is_reused());
    fake::drop(std::move(graph));
    CHECK(is_reused());
}

TEST_CASE("owner held by a graph is released by a later call") {
    bool is_gone = false;
    int here = 0;
    const Device device = fake::device();
    Memory memory =
        Memory::borrow(&here, sizeof here, UsmKind::device, device, device.default_context(),
                       {&is_gone, [](void *gone) { *static_cast<bool *>(gone) = true; }});
    CapturedQueue captured;
    memory.keep_for_graph(captured.queue);
    memory = {};
    fake::Graph graph = captured.end();
    CHECK_FALSE(is_gone);
    fake::drop(std::move(graph));
    CHECK_FALSE(is_gone);  // the driver's thread only records it
    release_finished();
    CHECK(is_gone);
}

TEST_CASE("escaped memory is freed after an active capture") {
    const Queue queue = Queue::create(fake::device());
    Memory memory = Memory::allocate(64, UsmKind::device, queue, 0, direct_resource());
    const void *const data = memory.data();
    memory.mark_escaped();
    CapturedQueue captured;
    memory = {};
    release_finished();
    CHECK(is_allocated(data));
    fake::drop(captured.end());
    release_finished();
    CHECK_FALSE(is_allocated(data));
}

TEST_CASE("access waits for work before a capture, or is refused") {
    const Queue stream = Queue::create(fake::device()), other = Queue::create(fake::device());
    const Memory memory = some_memory(other);
    fake::hold(stream);
    bool wrote = false, read = false;
    access(memory, Access::write, stream, [&] { wrote = true; });
    const Event written = stream.record();
    std::uint64_t number = fake::begin_capture(stream);
    access(memory, Access::write, stream);  // does not replace the pending access
    SUBCASE("event is known") {
        access(memory, Access::read, other, [&] { read = wrote; });
        CHECK_FALSE(is_done(other));
        fake::release(stream);
        CHECK(read);
    }
    SUBCASE("event is unknown") {
        const Memory later = some_memory(other);
        fake::drop(fake::end_capture(number));
        access(later, Access::write, stream);
        number = fake::begin_capture(stream);
        CHECK(is_refused([&] { later.wait_for_conflicts(Access::read, other); }));
    }
    fake::drop(fake::end_capture(number));
    fake::release(stream);
}

TEST_CASE("wait skipped in a capture is not recorded as done") {
    CapturedQueue captured;
    const Queue other = Queue::create(fake::device());
    Queue fork = Queue::create(fake::device());
    const Memory memory = some_memory(other);
    access(memory, Access::write, captured.queue);
    memory.wait_for_conflicts(Access::read, fork);
    fork.wait_for(captured.queue.record());
    const int waits = fake::world().calls.event_wait_in_queue;
    memory.wait_for_conflicts(Access::read, fork);
    CHECK(fake::world().calls.event_wait_in_queue == waits + 1);
}

TEST_CASE("event recorded into a beginning capture is not pending work") {
    const Queue stream = Queue::create(fake::device()), other = Queue::create(fake::device());
    stream.native();
    const Queue::Position position = fake::submit(stream);
    std::uint64_t number = 0;
    fake::world().meanwhile = [&] { number = fake::begin_capture(stream); };
    SUBCASE("poll") { CHECK_FALSE(stream.is_done(position)); }
    SUBCASE("request for the event") {
        CHECK(is_refused([&] { static_cast<void>(stream.event_at(position)); }));
    }
    SUBCASE("wait") {
        fake::submit(stream);  // without later work, the wait would cover the whole queue
        CHECK(is_refused([&] { stream.wait_at(position); }));
    }
    SUBCASE("wait by another queue") {
        CHECK(is_refused([&] { other.wait_for(stream); }));
        CHECK(other.capture() == 0);
    }
    REQUIRE(number != 0);
    fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
    fake::drop(std::move(graph));
    CHECK(stream.is_done(position));
}

TEST_CASE("event recorded during a short capture is dropped") {
    const Queue stream = Queue::create(fake::device());
    stream.native();
    const Queue::Position position = fake::submit(stream);
    fake::world().meanwhile = [&] {
        const std::uint64_t number = fake::begin_capture(stream);
        fake::world().after_record = [number] { fake::drop(fake::end_capture(number)); };
    };
    CHECK(is_refused([&] { static_cast<void>(stream.is_done(position)); }));
    CHECK(stream.is_done(position));
}

TEST_CASE("escaped memory is not guarded by an event of a graph") {
    const Queue stream = Queue::create(fake::device());
    stream.native();
    Memory memory =
        Memory::allocate(64, UsmKind::device, Queue::create(fake::device()), 0, direct_resource());
    const void *const data = memory.data();
    memory.mark_escaped();
    std::uint64_t number = 0;
    fake::world().meanwhile = [&] { number = fake::begin_capture(stream); };
    memory = {};
    release_finished();
    REQUIRE(number != 0);
    CHECK(is_allocated(data));
    fake::drop(fake::end_capture(number));
    release_finished();
    CHECK_FALSE(is_allocated(data));
}
