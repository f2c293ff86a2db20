// Queues and events: identity, order, positions and lifetimes.
#include <entrepot/device/queue.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "core/refusal.hpp"
#include "fake_backend.hpp"

using namespace entrepot;

static fake::Calls &calls() { return fake::world().calls; }

TEST_CASE("queue is in order, owns its context, and releases its handle") {
    const int alive = fake::world().alive.queues;
    {
        const Queue queue = Queue::create(fake::device());
        CHECK(queue.is_in_order());
        CHECK(!queue.is_foreign());
        CHECK(queue.context() == fake::device().default_context());
        CHECK(!Queue::create(fake::device(), {.out_of_order = true}).is_in_order());
        CHECK(Queue::create(fake::device(), {.profiling = true}).is_profiling());
        CHECK(fake::world().alive.queues == alive + 1);
    }
    CHECK(fake::world().alive.queues == alive);
}

TEST_CASE("queues and contexts of two backends do not mix") {
    CHECK_REFUSED(ErrorKind::value, "two backends",
                  Queue::create(fake::device().default_context(), registry::select("host"), {}));
}

TEST_CASE("native queue wrapped twice is one foreign Queue") {
    const Queue queue = Queue::create(fake::device());
    const Queue again = Queue::from_native(fake::backend(), queue.handle());
    CHECK(again == queue);
    CHECK(queue.is_foreign());
}

TEST_CASE("exported queue is foreign") {
    const Queue queue = Queue::create(fake::device());
    CHECK(queue.native() == queue.handle());
    CHECK(queue.is_foreign());
}

TEST_CASE("event is recorded on demand and serves earlier positions") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    const int before = calls().event_record;
    const Queue::Position first = fake::submit(queue), second = fake::submit(queue);
    CHECK(second == first + 1);
    CHECK(calls().event_record == before);

    const Event event = queue.event_at(second);
    CHECK(calls().event_record == before + 1);
    CHECK(queue.event_at(first).handle() == event.handle());
    CHECK(queue.record().handle() == event.handle());
    CHECK(calls().event_record == before + 1);
    CHECK(!event.is_done());

    const Queue::Position third = fake::submit(queue);
    CHECK(queue.event_at(third).handle() != event.handle());
    CHECK(calls().event_record == before + 2);
    fake::release(queue);
    CHECK(event.is_done());
}

TEST_CASE("dropped lazy event is never recorded") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    const int before = calls().event_record;
    for (int i = 0; i < 3; ++i) {
        fake::submit(queue);
        const Event event = queue.lazy_event();
        CHECK(event);
    }
    fake::submit(queue);
    CHECK(calls().event_record == before);
    fake::release(queue);
}

TEST_CASE("lazy event is done with its work, despite later submissions") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    fake::submit(queue);
    const Event first = queue.lazy_event();
    const int before = calls().event_record;
    fake::submit(queue);
    CHECK(calls().event_record == before + 1);
    const Event second = queue.lazy_event();
    CHECK(!first.is_done());
    fake::step(queue, 2);  // the first work, and its event
    CHECK(first.is_done());
    CHECK(!queue.is_idle());
    fake::release(queue);
    second.wait();
    CHECK(second.is_done());
    CHECK(calls().event_record == before + 1);  // waiting for the last work needs no event
    CHECK(!queue.lazy_event());                 // nothing is pending
}

TEST_CASE("lazy event is recorded once its native event is needed") {
    const Queue queue = Queue::create(fake::device()), other = Queue::create(fake::device());
    fake::hold(queue);
    fake::submit(queue);
    const Event event = queue.lazy_event();
    const int waits = calls().event_wait_in_queue;
    other.wait_for(event);
    CHECK(calls().event_wait_in_queue == waits + 1);
    CHECK(event.native() != nullptr);
    const ep_event handle = event.handle();
    fake::submit(queue);
    CHECK(event.handle() == handle);
    fake::release(queue);
}

TEST_CASE("lazy event outlives its failed recording") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    const Queue::Position position = fake::submit(queue);
    const Event event = queue.lazy_event();
    fake::refuse_next(EP_DEVICE_ERROR, "no event");
    SUBCASE("recorded before a submission") {
        CHECK_REFUSED(ErrorKind::device, "no event", queue.submitting());
    }
    SUBCASE("recorded again later") {
        CHECK_REFUSED(ErrorKind::device, "no event", queue.submitting());
        CHECK(event.native() != nullptr);
    }
    SUBCASE("recorded for another lazy event") {
        static_cast<void>(queue.take_position());
        CHECK_REFUSED(ErrorKind::device, "no event", static_cast<void>(queue.lazy_event()));
    }
    SUBCASE("recorded for its handle") {
        CHECK_REFUSED(ErrorKind::device, "no event", static_cast<void>(event.handle()));
    }
    CHECK_FALSE(event.is_done());
    fake::release(queue);
    CHECK(event.is_done());
    CHECK(queue.is_done(position));
}

TEST_CASE("lazy event is recorded before an export, later at once") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    fake::submit(queue);
    const Event event = queue.lazy_event();
    const int before = calls().event_record;
    CHECK(queue.native() == queue.handle());
    CHECK(calls().event_record == before + 1);
    fake::submit(queue);
    CHECK(queue.lazy_event().handle() != event.handle());
    CHECK(calls().event_record == before + 2);
    fake::release(queue);
}

TEST_CASE("capture of a foreign queue is queried once per event") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    queue.native();
    fake::submit(queue);
    const fake::Calls before = calls();
    CHECK(queue.lazy_event());
    CHECK(calls().event_record == before.event_record + 1);
    CHECK(calls().queue_capture == before.queue_capture + 1);
    fake::release(queue);
}

TEST_CASE("threads submitting to one queue keep their events") {
    const Queue queue = Queue::create(fake::device());
    std::atomic<int> pending = 0;
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number)
        threads.emplace_back([&] {
            std::vector<Event> kept;
            for (int i = 0; i < 500; ++i) {
                fake::submit(queue);
                Event event = queue.lazy_event();
                if (i % 3 == 0)
                    kept.push_back(std::move(event));
            }
            for (const Event &event : kept) {
                event.wait();
                pending += !event.is_done();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(pending == 0);
}

TEST_CASE("completed positions are not polled") {
    const Queue queue = Queue::create(fake::device());
    const Queue::Position position = fake::submit(queue);
    queue.wait();
    const fake::Calls before = calls();
    CHECK(queue.is_done(position));
    CHECK(queue.is_idle());
    CHECK(queue.event_at(position).is_done());
    CHECK(!queue.event_at(position));
    queue.wait_at(position);
    CHECK(calls().queue_is_idle == before.queue_is_idle);
    CHECK(calls().event_record == before.event_record);
    CHECK(calls().queue_wait == before.queue_wait);
}

TEST_CASE("is_done does not block, and polls one event in all calls") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    const Queue::Position first = fake::submit(queue), second = fake::submit(queue);
    const int recorded = calls().event_record;
    for (int i = 0; i < 5; ++i)
        CHECK(!queue.is_done(first));
    CHECK(calls().event_record == recorded + 1);

    const Queue::Position third = fake::submit(queue);
    CHECK(!queue.is_done(third));
    CHECK(calls().event_record == recorded + 1);

    fake::step(queue, 3);  // two pieces of work and the event
    CHECK(queue.is_done(first));
    CHECK(queue.is_done(second));
    CHECK(!queue.is_done(third));
    fake::release(queue);
    CHECK(queue.is_done(third));
}

TEST_CASE("wait_at waits for its position and no further") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    const Queue::Position first = fake::submit(queue);
    const Event event = queue.event_at(first);
    const Queue::Position second = fake::submit(queue);
    fake::step(queue, 2);
    queue.wait_at(first);  // would hang if it waited for the queue
    CHECK(queue.is_done(first));
    CHECK(!queue.is_done(second));
    fake::release(queue);
    queue.wait_at(second);
}

TEST_CASE("waits block until another thread's work is done") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    bool ran = false;
    const Queue::Position position = fake::submit(queue, [&] { ran = true; });
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        fake::release(queue);
    });
    queue.wait_at(position);
    CHECK(ran);
    later.join();
}

TEST_CASE("queue waits for another's event before its own later events") {
    const Queue slow = Queue::create(fake::device()), queue = Queue::create(fake::device());
    fake::hold(slow);
    std::string order;
    fake::submit(slow, [&] { order += 'a'; });
    const Event before = queue.record();
    queue.wait_for(slow.record());
    const Event after = queue.record();
    fake::submit(queue, [&] { order += 'b'; });
    CHECK(before.is_done());
    CHECK(!after.is_done());
    CHECK(order.empty());
    fake::release(slow);
    CHECK(order == "ab");
    CHECK(after.is_done());

    const int waits = calls().event_wait_in_queue;
    queue.wait_for(after);
    queue.wait_for(Event());
    CHECK(calls().event_wait_in_queue == waits);
}

TEST_CASE("queue waits for all pending work of another queue") {
    const Queue slow = Queue::create(fake::device()), queue = Queue::create(fake::device());
    fake::hold(slow);
    std::string order;
    fake::submit(slow, [&] { order += 'a'; });
    const Event before = queue.record();
    const int asked = calls().event_is_done;
    queue.wait_for(slow);
    CHECK(calls().event_is_done == asked);
    fake::submit(queue, [&] { order += 'b'; });
    const Event after = queue.record();
    CHECK(before.is_done());
    CHECK(!after.is_done());
    CHECK(order.empty());
    fake::release(slow);
    CHECK(order == "ab");
    CHECK(after.is_done());

    const int waits = calls().event_wait_in_queue;
    queue.wait_for(queue);
    slow.wait();
    queue.wait_for(slow);
    CHECK(calls().event_wait_in_queue == waits);
}

TEST_CASE("queue waits for a released queue and another backend") {
    const Queue slow = Queue::create(fake::device()), queue = Queue::create(fake::device());
    fake::hold(slow);
    fake::submit(slow);
    const Queue past = Queue::of_event(slow.context(), slow.device(), slow.record());
    queue.wait_for(past);
    CHECK_FALSE(queue.is_done(queue.position()));
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        fake::release(slow);
    });
    registry::select("host").default_queue().wait_for(slow);
    CHECK(slow.is_done(slow.position()));
    CHECK(queue.is_done(queue.position()));
    later.join();
}

TEST_CASE("work of an event queue is done at once if there is no event") {
    const Queue queue = Queue::create(fake::device());
    const Event done = queue.record();
    REQUIRE_FALSE(done);
    CHECK(Queue::of_event(queue.context(), queue.device(), done).is_done(1));
}

TEST_CASE("host waits for an event of another backend") {
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    fake::submit(queue);
    const Event event = queue.record();
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        fake::release(queue);
    });
    registry::select("host").default_queue().wait_for(event);
    CHECK(event.is_done());
    later.join();
}

TEST_CASE("foreign queue is polled, its events cover foreign work") {
    const Queue queue = Queue::create(fake::device());
    const Queue foreign = Queue::from_native(fake::backend(), queue.handle());
    foreign.wait();
    CHECK(foreign.is_idle());
    fake::hold(foreign);
    {
        const std::unique_lock locked(fake::world().mutex);
        fake::enqueue(fake::world(), foreign.handle(), [] {});  // foreign work has no position
    }
    CHECK(!foreign.is_idle());
    const Event event = foreign.record();
    CHECK(!event.is_done());
    fake::release(foreign);
    CHECK(foreign.is_idle());
    CHECK(event.is_done());
}

TEST_CASE("position of foreign work is waited for with the whole queue") {
    const Queue queue = Queue::create(fake::device());
    const fake::Calls &calls = fake::world().calls;
    const auto calls_by_a_wait = [&](const Queue &waited) {
        const int before[] = {calls.queue_wait, calls.queue_wait_submitted};
        waited.wait_at(fake::submit(waited));
        return std::pair(calls.queue_wait - before[0], calls.queue_wait_submitted - before[1]);
    };
    CHECK(calls_by_a_wait(queue) == std::pair(1, 1));  // both counters
    const Queue foreign = Queue::from_native(fake::backend(), queue.handle());
    CHECK(calls_by_a_wait(foreign) == std::pair(1, 0));
}

TEST_CASE("error of asynchronous work is raised once, at the next wait") {
    const Queue queue = Queue::create(fake::device());
    fake::submit(queue);
    fake::fail(queue, "the kernel divided by zero");
    CHECK_REFUSED(ErrorKind::device, "divided by zero", queue.wait());
    queue.wait();
}

TEST_CASE("events of profiling queues have times, others are refused") {
    const Queue queue = Queue::create(fake::device(), {.profiling = true});
    const Event from = queue.record();
    fake::submit(queue);
    const Event to = queue.record();
    CHECK(from.seconds_until(to) == doctest::Approx(1e-3));
    CHECK_REFUSED(ErrorKind::device, "marks nothing", from.seconds_until(Event()));
    fake::hold(queue);
    fake::submit(queue);
    const Event pending = queue.record();
    CHECK_REFUSED(ErrorKind::device, "when both are done", from.seconds_until(pending));
    fake::release(queue);
}

TEST_CASE("live queues of a context are the referenced ones") {
    const Device device = fake::device();
    const Context context = Context::create({&device, 1});
    const Queue first = Queue::create(context, device, {});
    {
        const Queue second = Queue::create(context, device, {});
        CHECK(live_queues(context).size() == 2);
    }
    CHECK(live_queues(context) == std::vector<Queue>{first});
}

TEST_CASE("events are released") {
    const int alive = fake::world().alive.events;
    {
        const Queue queue = Queue::create(fake::device());
        fake::hold(queue);
        fake::submit(queue);
        const Event kept = queue.record();
        CHECK(fake::world().alive.events == alive + 1);
        fake::release(queue);
    }
    CHECK(fake::world().alive.events == alive);
}
