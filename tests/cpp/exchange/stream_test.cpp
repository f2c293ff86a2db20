// Exports to streams: which queue waits, which accesses are recorded, and which handles are
// unused.
#include "exchange/fake_cuda.hpp"

#include <entrepot/exchange/stream.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace entrepot;

namespace {

// An array whose own queue has work that is pending until `fake::release`.
struct Busy {
    fake::Claimed memory{EP_USM_DEVICE};
    Array array = memory.array(UsmKind::device);
    Queue ours = Queue::create(memory.device);

    Busy() {
        fake::hold(ours);
        array.memory().record_access(Access::write, ours, fake::submit(ours));
    }
    ~Busy() { fake::release(ours); }
};

bool is_done(const Queue &queue) { return queue.is_done(queue.position()); }

}  // namespace

TEST_CASE("default stream numbers and stream handles are recognized") {
    const Device device = fake::cuda_device();
    CHECK(exchange::queue_of_stream(device, 0) == exchange::queue_of_stream(device, 1));
    CHECK(!exchange::queue_of_stream(device, 1).may_be_destroyed());
    CHECK(!exchange::queue_of_stream(device, 2).may_be_destroyed());
    CHECK(exchange::stream_of(legacy_stream_of(device)) == 1);
    const Queue queue = Queue::create(device);
    const Queue again = exchange::queue_of_stream(device, exchange::stream_of(queue));
    CHECK(again == queue);
    CHECK_FALSE(again.may_be_destroyed());
    CHECK(legacy_stream_of(fake::cuda_device(1)).device() == fake::cuda_device(1));
}

TEST_CASE("consumer's stream waits for the queue without the host") {
    Busy busy;
    const Queue theirs = Queue::create(busy.memory.device);
    const fake::Calls before = fake::world().calls;
    exchange::synchronize_consumer_stream(busy.array, exchange::stream_of(theirs));
    CHECK(fake::world().calls.event_wait == before.event_wait);
    CHECK(fake::world().calls.queue_wait == before.queue_wait);
    CHECK_FALSE(is_done(theirs));
    fake::release(busy.ours);
    CHECK(is_done(theirs));
    CHECK(busy.array.memory().has_escaped());
}

TEST_CASE("later work waits for a default stream, not for others") {
    const Device device = fake::cuda_device();
    const Queue ours = Queue::create(device), theirs = Queue::create(device);
    const Queue &legacy = legacy_stream_of(device);
    const fake::Claimed block(EP_USM_DEVICE);

    const Array array = block.array(UsmKind::device);
    exchange::synchronize_consumer_stream(array, 1);
    fake::hold(legacy);
    fake::submit(legacy);
    array.memory().wait_for_conflicts(Access::write, ours);
    CHECK_FALSE(is_done(ours));
    fake::release(legacy);
    CHECK(is_done(ours));

    const Array other = block.array(UsmKind::device);
    exchange::synchronize_consumer_stream(other, exchange::stream_of(theirs));
    CHECK(other.memory().has_no_pending_access());
}

TEST_CASE("stream is not used if there is nothing to wait for") {
    const fake::Claimed block(EP_USM_DEVICE);
    const Array array = block.array(UsmKind::device);
    const int wrapped = fake::streams().wrapped;
    exchange::synchronize_consumer_stream(array, 0xdead0000);
    CHECK(fake::streams().wrapped == wrapped);
    CHECK(array.memory().has_escaped());
}

TEST_CASE("import waits for the producer's work, release does not") {
    const Device device = fake::cuda_device();
    const fake::Claimed block(EP_USM_DEVICE);
    const Queue &legacy = legacy_stream_of(device);
    {
        const Array earlier = block.array(UsmKind::device);
        exchange::wait_for_producer_stream(earlier, 1);
        // Records an event in the stream.
        earlier.memory().wait_for_conflicts(Access::read, Queue::create(device));
    }
    fake::hold(legacy);
    fake::submit(legacy);
    const Queue ours = Queue::create(device);
    {
        const Array array = block.array(UsmKind::device);
        exchange::wait_for_producer_stream(array, 1);
        CHECK_FALSE(array.memory().has_no_pending_access());
        array.memory().wait_for_conflicts(Access::read, ours);
        CHECK_FALSE(is_done(ours));
    }
    const int waits = fake::world().calls.event_is_done;
    {
        const Array unused = block.array(UsmKind::device);
        exchange::wait_for_producer_stream(unused, 1);
    }
    CHECK(fake::world().calls.event_is_done == waits);
    fake::release(legacy);
    CHECK(is_done(ours));
}

TEST_CASE("memory waits for every named stream of its producer") {
    const fake::Claimed block(EP_USM_DEVICE);
    const Array array = block.array(UsmKind::device);
    const Queue one = Queue::create(block.device), other = Queue::create(block.device),
                ours = Queue::create(block.device);
    for (const Queue &each : {one, other}) {
        fake::hold(each);
        fake::submit(each);
        array.memory().record_producer(each);
    }
    array.memory().wait_for_conflicts(Access::read, ours);
    fake::release(other);
    CHECK_FALSE(is_done(ours));
    fake::release(one);
    CHECK(is_done(ours));
}

TEST_CASE("memory waits for a destructible stream of the producer") {
    const fake::Claimed block(EP_USM_DEVICE);
    const Array array = block.array(UsmKind::device), same = array;
    Queue theirs = Queue::create(block.device);
    fake::hold(theirs);
    fake::submit(theirs);
    exchange::wait_for_producer_stream(array, exchange::stream_of(theirs));
    const Queue ours = Queue::create(block.device);
    same.memory().wait_for_conflicts(Access::read, ours);
    CHECK_FALSE(is_done(ours));
    fake::release(theirs);
    CHECK(is_done(ours));
}

TEST_CASE("queue of a destructible stream is not kept by memory") {
    const fake::Claimed block(EP_USM_DEVICE);
    const Queue ours = Queue::create(block.device);
    const fake::Stream theirs(block.device);
    {
        const Array exported = block.array(UsmKind::device);
        exchange::synchronize_consumer(exported, theirs.queue(), Memory::Consumer::holds_memory);
        theirs.submit();
        const Array imported = block.array(UsmKind::device);
        exchange::wait_for_producer(imported, theirs.queue());
        theirs.destroy();
        const int uses = fake::streams().uses_of_destroyed;
        exported.memory().wait_for_conflicts(Access::write, ours);
        imported.memory().wait_for_conflicts(Access::write, ours);
        CHECK(fake::streams().uses_of_destroyed == uses);
    }
    theirs.finish();
}

TEST_CASE("event queue is done with its event, without native queue") {
    const Device device = fake::cuda_device();
    const Queue theirs = Queue::create(device), ours = Queue::create(device);
    fake::hold(theirs);
    fake::submit(theirs);
    const int alive = fake::world().alive.queues;
    {
        const Queue past = Queue::of_event(device.default_context(), device, theirs.record());
        CHECK(fake::world().alive.queues == alive);
        CHECK_FALSE(past.is_done(1));
        ours.wait_for(past.event_at(1));
        CHECK_FALSE(is_done(ours));
        for (const Queue &queue : live_queues(device.default_context()))
            CHECK_FALSE(queue.is_event_queue());  // quarantines record an event in each
        fake::release(theirs);
        past.wait_at(1);
        CHECK(past.is_done(1));
        CHECK(is_done(ours));
    }
    CHECK(fake::world().alive.queues == alive);
}

TEST_CASE("owners of a handle live as long as its Queues, if few") {
    auto owner = std::make_shared<int>(1);
    {
        const Queue queue = Queue::create(fake::cuda_device());
        queue.keep_alive(owner);
        queue.keep_alive(owner);
        CHECK(owner.use_count() == 2);
        std::weak_ptr<int> last;
        for (int i = 0; i < 10; ++i) {
            const auto another = std::make_shared<int>(i);
            queue.keep_alive(another);
            last = another;
        }
        CHECK(last.expired());
        const Queue copy = queue;
        CHECK(owner.use_count() == 2);
    }
    CHECK(owner.use_count() == 1);
}
