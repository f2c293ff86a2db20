// Ordering: waits between queues and by the host, and the pending accesses that are recorded.
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/operation.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "core/refusal.hpp"
#include "memory/device_memory.hpp"

using namespace entrepot;

namespace {

fake::Calls &calls() { return fake::world().calls; }

Memory some_memory(const Queue &queue, UsmKind kind = UsmKind::shared) {
    return Memory::allocate(1000, kind, queue);
}

// An access like those of the layers above: wait_for_conflicts(), the work, record_access().
void access(const Memory &memory, Access how, const Queue &queue, std::function<void()> run = {}) {
    memory.wait_for_conflicts(how, queue);
    memory.record_access(how, queue, fake::submit(queue, std::move(run)));
}

}  // namespace

TEST_CASE("read of another queue waits for the write") {
    const HeldQueue writer, reader;
    const Memory memory = some_memory(writer.queue);
    std::string order;
    access(memory, Access::write, writer.queue, [&] { order += 'w'; });
    access(memory, Access::read, reader.queue, [&] { order += 'r'; });
    reader.finish();
    CHECK(order == "");
    writer.finish();
    CHECK(order == "wr");
}

TEST_CASE("write waits for the reads of all other queues") {
    const HeldQueue one, two, writer;
    const Memory memory = some_memory(writer.queue);
    std::string order;
    access(memory, Access::read, one.queue, [&] { order += '1'; });
    access(memory, Access::read, two.queue, [&] { order += '2'; });
    access(memory, Access::write, writer.queue, [&] { order += 'w'; });
    writer.finish();
    two.finish();
    CHECK(order == "2");
    one.finish();
    CHECK(order == "21w");
}

TEST_CASE("reads do not wait for reads, nor a queue for itself") {
    const HeldQueue one, other;
    const Memory memory = some_memory(one.queue);
    const fake::Calls before = calls();
    access(memory, Access::read, one.queue);
    access(memory, Access::read, other.queue);
    const Memory own = some_memory(one.queue);
    access(own, Access::write, one.queue);
    access(own, Access::write, one.queue);
    access(own, Access::read, one.queue);
    CHECK(calls().event_record == before.event_record);
    CHECK(calls().event_wait_in_queue == before.event_wait_in_queue);
}

TEST_CASE("queue waits once for the same write") {
    const HeldQueue writer, reader;
    const Memory memory = some_memory(writer.queue);
    access(memory, Access::write, writer.queue);
    access(memory, Access::read, reader.queue);
    const int waits = calls().event_wait_in_queue;
    access(memory, Access::read, reader.queue);
    access(memory, Access::read, reader.queue);
    CHECK(calls().event_wait_in_queue == waits);
}

TEST_CASE("operation waits once for the queue of several memories") {
    const HeldQueue writer, reader;
    const Memory memories[] = {some_memory(writer.queue), some_memory(writer.queue),
                               some_memory(writer.queue)};
    std::string order;
    for (const Memory &memory : memories)
        access(memory, Access::write, writer.queue, [&] { order += 'w'; });
    const auto each_read = [&](auto &&use) {
        for (const Memory &memory : memories)
            use(Access::read, memory);
    };
    const fake::Calls before = calls();
    Operation operation(reader.queue);
    operation.wait_for_conflicts(each_read);
    for (const Memory &memory : memories)
        CHECK(memory.can_access_without_wait(reader.queue));
    operation.submitted(fake::submit(reader.queue, [&] { order += 'r'; }), 0, each_read);
    CHECK(calls().event_wait_in_queue == before.event_wait_in_queue + 1);
    CHECK(calls().event_is_done == before.event_is_done);
    access(memories[1], Access::write, writer.queue, [&] { order += 'w'; });
    access(memories[1], Access::read, reader.queue, [&] { order += 'r'; });
    // the writer for the read, the reader for the write
    CHECK(calls().event_wait_in_queue == before.event_wait_in_queue + 3);
    reader.finish();
    CHECK(order == "");
    writer.finish();
    CHECK(order == "wwwrwr");
}

TEST_CASE("waiting for an existing event ignores later submissions") {
    const HeldQueue writer, reader;
    const Memory memory = some_memory(writer.queue);
    std::string order;
    access(memory, Access::write, writer.queue, [&] { order += 'w'; });
    const Event marked = writer.queue.record();
    fake::submit(writer.queue, [&] { order += 'l'; });
    access(memory, Access::read, reader.queue, [&] { order += 'r'; });
    reader.finish();
    fake::step(writer.queue, 2);
    CHECK(order == "wr");
    writer.finish();
    CHECK(order == "wrl");
}

TEST_CASE("waits of a released queue do not count for its successor") {
    const HeldQueue writer;
    const Memory memory = some_memory(writer.queue);
    access(memory, Access::write, writer.queue);
    for (int i = 0; i < 8; ++i) {
        const Queue reader = Queue::create(fake::device());
        const int waits = calls().event_wait_in_queue;
        memory.wait_for_conflicts(Access::read,
                                  reader);  // and nothing after it, as where a launch is refused
        CHECK(calls().event_wait_in_queue == waits + 1);
    }
}

namespace {

// A queue that a consumer shares: the consumer's submissions have no position.
struct ConsumersQueue : HeldQueue {
    const Queue foreign = Queue::from_native(fake::backend(), queue.handle());
    int earlier = 0;  // number of pending pieces before the last foreign one

    void submit_unseen(std::function<void()> run) {
        const std::unique_lock locked(fake::world().mutex);
        earlier = static_cast<int>(queue.handle()->pending.size());
        fake::enqueue(fake::world(), foreign.handle(), std::move(run));
    }
};

// Checks that a write of our queue waits for work that the consumer submits now.
void check_write_waits_for_consumer(ConsumersQueue &consumer, const Memory &memory,
                                    const HeldQueue &ours) {
    std::string order;
    consumer.submit_unseen([&] { order += 'c'; });
    access(memory, Access::write, ours.queue, [&] { order += 'o'; });
    ours.finish();
    fake::step(consumer.queue, consumer.earlier);
    CHECK(order == "");
    consumer.finish();
    CHECK(order == "co");
}

}  // namespace

TEST_CASE("access waits once for all work in the consumer's queue") {
    ConsumersQueue consumer;
    const HeldQueue ours;
    const Memory one = some_memory(ours.queue), other = some_memory(ours.queue);
    std::string order;
    one.record_consumer(Access::write, consumer.foreign);
    other.record_consumer(Access::write, consumer.foreign);
    consumer.submit_unseen([&] { order += 'a'; });
    access(other, Access::read, ours.queue, [&] { order += 'A'; });
    consumer.submit_unseen([&] { order += 'b'; });
    access(one, Access::read, ours.queue, [&] { order += 'B'; });
    const int waits = calls().event_wait_in_queue;
    access(one, Access::read, ours.queue);
    CHECK(calls().event_wait_in_queue == waits);
    ours.finish();
    CHECK(order == "");
    fake::step(consumer.queue, consumer.earlier);
    CHECK(order == "aA");
    consumer.finish();
    CHECK(order == "aAbB");
}

TEST_CASE("waits for a consumer's queue are tracked per waiting queue") {
    ConsumersQueue consumer;
    const HeldQueue one, other;
    const Memory memory = some_memory(one.queue);
    memory.record_consumer(Access::write, consumer.foreign);
    access(memory, Access::read, one.queue);
    one.finish();
    check_write_waits_for_consumer(consumer, memory, other);
}

TEST_CASE("released consumer's queue is not polled after its work") {
    ConsumersQueue consumer;
    const HeldQueue ours;
    const Memory memory = some_memory(ours.queue);
    ours.finish();
    const auto export_again = [&] {
        Memory held = memory;
        memory.record_consumer(Access::write, consumer.foreign, Memory::Consumer::holds_memory);
        return held;
    };
    const auto is_ready_without_poll = [&] {
        const int questions = calls().queue_is_idle;
        return memory.is_ready_for_host(Access::read) && calls().queue_is_idle == questions;
    };
    std::optional<Memory> held = export_again();
    SUBCASE("polled while the consumer holds the memory") {
        consumer.finish();
        CHECK(memory.is_ready_for_host(Access::read));
        CHECK_FALSE(is_ready_without_poll());
    }
    SUBCASE("not polled once the work is done") {
        consumer.submit_unseen([] {});
        held.reset();
        CHECK_FALSE(memory.is_ready_for_host(Access::read));
        consumer.finish();
        CHECK(memory.is_ready_for_host(Access::read));
        CHECK(is_ready_without_poll());
    }
    SUBCASE("not polled after the host has waited") {
        held.reset();
        consumer.finish();
        memory.wait_for_host(Access::read);
        CHECK(is_ready_without_poll());
    }
    SUBCASE("polled if the consumer imports the memory again") {
        held.reset();
        consumer.finish();
        std::optional<Memory> again;
        fake::world().may_keep = [&] {
            if (!again)
                again = export_again();
        };
        CHECK(memory.is_ready_for_host(Access::read));
        fake::world().may_keep = {};
        CHECK(again);
        CHECK_FALSE(is_ready_without_poll());
    }
}

TEST_CASE("consumer may continue on its queue after an access there") {
    ConsumersQueue consumer;
    const HeldQueue ours;
    const Memory memory = some_memory(ours.queue);
    SUBCASE("consumer with writes") { memory.record_consumer(Access::write, consumer.foreign); }
    SUBCASE("consumer with reads") { memory.record_consumer(Access::read, consumer.foreign); }
    access(memory, Access::write, consumer.foreign);
    access(memory, Access::read, consumer.foreign);
    const Event mark = consumer.foreign.record();
    check_write_waits_for_consumer(consumer, memory, ours);
}

TEST_CASE("wait for a consumer's work does not cover later reads") {
    ConsumersQueue consumer;
    const HeldQueue ours;
    const Memory read = some_memory(ours.queue), written = some_memory(ours.queue);
    read.record_consumer(Access::read, consumer.foreign);
    written.record_consumer(Access::write, consumer.foreign);
    access(written, Access::write, ours.queue);
    access(read, Access::read, ours.queue);
    check_write_waits_for_consumer(consumer, read, ours);
}

TEST_CASE("host waits for the latest work of a consumer") {
    ConsumersQueue consumer;
    const HeldQueue ours;
    const Memory memory = some_memory(ours.queue);
    consumer.finish();
    memory.record_consumer(Access::write, consumer.foreign);
    CHECK(memory.is_ready_for_host(Access::write));
    memory.wait_for_host(Access::write);
    fake::hold(consumer.queue);
    bool done = false;
    consumer.submit_unseen([&] { done = true; });
    CHECK(!memory.is_ready_for_host(Access::read));
    std::thread later([&] { consumer.finish(); });
    const fake::Calls before = calls();
    memory.wait_for_host(Access::read);
    CHECK(done);
    CHECK(calls().queue_wait == before.queue_wait + 1);
    CHECK(calls().queue_wait_submitted == before.queue_wait_submitted);
    later.join();
}

TEST_CASE("other waits do not cover a consumer's later work") {
    ConsumersQueue consumer;
    const HeldQueue ours;
    const Memory one = some_memory(ours.queue), other = some_memory(ours.queue);
    std::string order;
    SUBCASE("wait of a refused launch") {
        one.record_consumer(Access::write, consumer.foreign);
        other.record_consumer(Access::write, consumer.foreign);
        one.wait_for_conflicts(Access::write, ours.queue);
    }
    SUBCASE("wait for an earlier event") {
        access(one, Access::write, consumer.foreign);
        other.record_consumer(Access::write, consumer.foreign);
        const Event mark = consumer.foreign.record();
        one.wait_for_conflicts(Access::write, ours.queue);
    }
    SUBCASE("wait_for") {
        other.record_consumer(Access::write, consumer.foreign);
        ours.queue.wait_for(consumer.foreign);
    }
    SUBCASE("wait_for a queue exported later") {
        const HeldQueue theirs;
        other.record_consumer(Access::write, theirs.queue);
        ours.queue.wait_for(theirs.queue);
        theirs.queue.native();
        {
            const std::unique_lock locked(fake::world().mutex);
            fake::enqueue(fake::world(), theirs.queue.handle(), [&] { order += 'c'; });
        }
        access(other, Access::write, ours.queue, [&] { order += 'o'; });
        ours.finish();
        fake::step(theirs.queue);  // the event of wait_for
        CHECK(order == "");
        theirs.finish();
        CHECK(order == "co");
        ours.finish();
        return;
    }
    check_write_waits_for_consumer(consumer, other, ours);
}

TEST_CASE("queues of idle consumers are dropped eventually") {
    int gone = 0;  // outlives the queues that count in it
    const HeldQueue ours;
    const Memory memory = some_memory(ours.queue);
    for (int i = 0; i < 100; ++i) {
        const Queue theirs =
            Queue::from_native(fake::backend(), Queue::create(fake::device()).handle());
        memory.record_consumer(Access::read, theirs);
        theirs.wait();
        theirs.keep_alive(std::shared_ptr<void>(&gone, [&](void *) { ++gone; }));
    }
    CHECK(gone > 80);
    CHECK(gone < 100);
}

TEST_CASE("completed accesses are dropped without a driver call") {
    const Queue queue = Queue::create(fake::device()), other = Queue::create(fake::device());
    const Memory memory = some_memory(queue);
    access(memory, Access::write, queue);
    queue.wait();
    const fake::Calls before = calls();
    memory.wait_for_conflicts(Access::write, other);
    CHECK(memory.is_ready_for_host(Access::write));
    memory.wait_for_host(Access::write);
    CHECK(calls().event_record == before.event_record);
    CHECK(calls().event_wait_in_queue == before.event_wait_in_queue);
    CHECK(calls().event_wait == before.event_wait);
    CHECK(calls().queue_is_idle == before.queue_is_idle);
}

TEST_CASE("host may read after the write, and write after the reads") {
    const HeldQueue writer, reader;
    const Memory memory = some_memory(writer.queue);
    CHECK(memory.is_ready_for_host(Access::write));
    access(memory, Access::write, writer.queue);
    CHECK(!memory.is_ready_for_host(Access::read));
    access(memory, Access::read, reader.queue);
    writer.finish();
    CHECK(memory.is_ready_for_host(Access::read));
    CHECK(!memory.is_ready_for_host(Access::write));
    reader.finish();
    CHECK(memory.is_ready_for_host(Access::write));
}

TEST_CASE("host waits for the write only, or for reads as well") {
    const HeldQueue writer, reader;
    const Memory memory = some_memory(writer.queue);
    std::atomic<bool> written{false};
    access(memory, Access::write, writer.queue, [&] { written = true; });
    access(memory, Access::read, reader.queue);
    std::thread later([&] { writer.finish(); });
    memory.wait_for_host(Access::read);  // not for the reader, which is held
    CHECK(written);
    later.join();
    CHECK(!memory.is_ready_for_host(Access::write));
    std::thread again([&] { reader.finish(); });
    memory.wait_for_host(Access::write);
    again.join();
    CHECK(memory.is_ready_for_host(Access::write));
}

TEST_CASE("error of the work is raised where the host waits") {
    const HeldQueue queue;
    const Memory memory = some_memory(queue.queue);
    access(memory, Access::write, queue.queue);
    fake::fail(queue.queue, "the kernel divided by zero");
    std::thread later([&] { queue.finish(); });
    CHECK_REFUSED(ErrorKind::device, "divided by zero", memory.wait_for_host(Access::read));
    later.join();
}

TEST_CASE("memory is freed after all concurrent writes") {
    const HeldQueue one, other;
    Memory memory = Memory::allocate(3000000, UsmKind::device, one.queue, 0, direct_resource());
    const void *const data = memory.data();
    // Both call before() ahead of either's after().
    memory.wait_for_conflicts(Access::write, one.queue);
    memory.wait_for_conflicts(Access::write, other.queue);
    memory.record_access(Access::write, one.queue, fake::submit(one.queue));
    memory.record_access(Access::write, other.queue, fake::submit(other.queue));
    memory = {};
    other.finish();
    release_finished();
    CHECK(is_allocated(data));
    one.finish();
    release_finished();
    CHECK(!is_allocated(data));
}

TEST_CASE("memory is freed after the work of a named consumer") {
    Memory memory = Memory::allocate(3000000, UsmKind::device, Queue::create(fake::device()), 0,
                                     direct_resource());
    const void *const data = memory.data();
    memory.mark_escaped();
    Queue theirs = Queue::create(fake::device());
    fake::hold(theirs);
    const ep_queue handle = theirs.handle();
    ++handle->references;  // the consumer's
    SUBCASE("consumer is in the log as well") {
        memory.record_consumer(Access::write, theirs, Memory::Consumer::holds_memory);
    }
    SUBCASE("consumer has left the log") {}
    memory.add_consumer_queue(theirs, Memory::Consumer::holds_memory);
    theirs = {};
    {
        const std::unique_lock locked(fake::world().mutex);
        fake::enqueue(fake::world(), handle, {});
    }
    memory = {};
    release_finished();
    CHECK(is_allocated(data));
    {
        const std::unique_lock locked(fake::world().mutex);
        handle->held = false;
        fake::pump(fake::world());
    }
    release_finished();
    release_finished();
    CHECK_FALSE(is_allocated(data));
    fake::table().queue_release(handle);
}

TEST_CASE("older position recorded late does not hide a newer one") {
    const HeldQueue queue;
    const Memory memory = some_memory(queue.queue);
    const Queue::Position first = fake::submit(queue.queue);
    const Event after_first = queue.queue.event_at(first);
    const Queue::Position second = fake::submit(queue.queue);
    memory.record_access(Access::read, queue.queue, second);
    memory.record_access(Access::write, queue.queue, first);
    fake::step(queue.queue, 2);
    CHECK(after_first.is_done());
    CHECK(!memory.is_ready_for_host(Access::write));
    queue.finish();
    CHECK(memory.is_ready_for_host(Access::write));
}

TEST_CASE("queue waits once for the same access") {
    const HeldQueue writer, reader;
    const Memory memory = some_memory(writer.queue);
    access(memory, Access::write, writer.queue);
    access(memory, Access::read, reader.queue);
    CHECK(memory.record()->pending_queue == reader.queue.identity()->number);
    access(memory, Access::read, writer.queue);  // a read that the reader has not waited for
    CHECK(memory.record()->pending_queue == Memory::Record::multiple_queues);
    const fake::Calls before = calls();
    access(memory, Access::write, reader.queue);
    CHECK(calls().event_wait_in_queue == before.event_wait_in_queue + 1);
    CHECK(memory.record()->pending_queue == reader.queue.identity()->number);
}

TEST_CASE("queue of dropped accesses ends outside the ordering's lock") {
    const Queue next = Queue::create(fake::device());
    const Memory memory = some_memory(next);
    std::future<void> noted;
    std::future_status while_it_ended = std::future_status::deferred;
    for (const bool are_several : {false, true}) {
        {
            const Queue last = Queue::create(fake::device());
            access(memory, Access::write, last);
            if (are_several)
                access(memory, Access::read, Queue::create(fake::device()));
        }
        memory.wait_for_conflicts(Access::write, next);
        const Queue::Position position = fake::submit(next);
        fake::world().queue_ends = [&] {
            noted = std::async(std::launch::async,
                               [&] { memory.record_access(Access::write, next, position); });
            while_it_ended = noted.wait_for(std::chrono::seconds(2));
        };
        memory.record_access(Access::write, next, position);
        fake::world().queue_ends = nullptr;
        CHECK(std::exchange(while_it_ended, std::future_status::deferred) ==
              std::future_status::ready);
        noted.wait();
    }
}

TEST_CASE("views share pending accesses, recycled records are empty") {
    const HeldQueue queue;
    Memory memory = some_memory(queue.queue);
    const Memory view = memory;
    access(memory, Access::write, queue.queue);
    CHECK(!view.is_ready_for_host(Access::read));
    for (int i = 0; i < 10; ++i)
        CHECK(Memory::borrow_host(&i, sizeof i, {}).is_ready_for_host(Access::write));
    queue.finish();
}

TEST_CASE("eight threads read and write the memory of eight queues") {
    const Memory memory = some_memory(fake::device().default_queue());
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&memory, i] {
            const Queue queue = Queue::create(fake::device(static_cast<std::uint32_t>(i % 2)));
            for (int round = 0; round < 200; ++round) {
                access(memory, (round + i) % 3 == 0 ? Access::write : Access::read, queue);
                if (round % 16 == 0)
                    memory.wait_for_host(Access::write);
                memory.is_ready_for_host(Access::read);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    memory.wait_for_host(Access::write);
    CHECK(memory.is_ready_for_host(Access::write));
}
