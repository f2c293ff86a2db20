// Forked children: what they may call, and which locks they can take.
#include <entrepot/device/fork_guard.hpp>

#include <doctest/doctest.h>

#include "core/refusal.hpp"
#include "fake_backend.hpp"
#include "support/forked_child.hpp"

using namespace entrepot;

template <class Action> static bool is_refused(Action action) {
    const auto refusal = refusal_of(action);
    return refusal && refusal->kind == ErrorKind::device && refusal->says("'spawn'");
}

TEST_CASE("forked child refuses device calls and releases nothing") {
    const Device device = fake::device();
    const Queue queue = Queue::create(device);
    const Context context = device.default_context();
    fake::hold(queue);
    const Queue::Position position = fake::submit(queue);
    const Event event = queue.record();
    CHECK(holds_in_child([&] {
        const int alive = fake::world().alive.queues;
        bool refused = fork_guard::is_child();
        refused &= is_refused([&] { queue.wait(); });
        refused &= is_refused([&] { queue.is_idle(); });
        refused &= is_refused([&] { queue.record(); });
        refused &= is_refused([&] { queue.is_done(position); });
        refused &= is_refused([&] { queue.wait_at(position); });
        refused &= is_refused([&] { queue.wait_for(event); });
        refused &= is_refused([&] { event.is_done(); });
        refused &= is_refused([&] { event.wait(); });
        refused &= is_refused([&] { context.query(&refused, 1); });
        refused &= is_refused([&] { Queue::create(device); });
        refused &= is_refused([&] { device.partition_equally(1); });
        {
            const Queue dropped = std::move(const_cast<Queue &>(queue));
        }
        return refused && fake::world().alive.queues == alive;
    }));
    CHECK(!fork_guard::is_child());
    CHECK(!event.is_done());
    fake::release(queue);
    CHECK(event.is_done());
}

TEST_CASE("host works in a forked child") {
    fake::backend();
    const Queue &queue = registry::select("host").default_queue();
    CHECK(holds_in_child([&] {
        char from[16] = "over the fork", to[16] = "";
        queue.backend().call(&ep_backend::memory_copy, queue.handle(), to, from, sizeof from);
        queue.wait_at(queue.take_position());
        Queue::create(registry::select("host")).wait();
        return std::string_view(to) == "over the fork";
    }));
}

TEST_CASE("child can take locks held by other threads at the fork") {
    fake::backend();
    const Device host = registry::select("host");
    CHECK(holds_in_children_beside(
        [&] {
            const Queue queue = Queue::create(host);
            queue.event_at(queue.take_position());
            host.default_queue().is_done(host.default_queue().take_position());
        },
        [&] {
            const Queue queue = Queue::create(host);
            host.default_queue().wait_at(host.default_queue().take_position());
            return queue.is_done(0) && live_queues(queue.context()).size() > 0;
        }));
}

TEST_CASE("child can find a queue that other threads find at the fork") {
    fake::backend();
    const Device host = registry::select("host");
    const auto find = [&] { return Queue::internal_for_context(host.default_context(), host); };
    CHECK(holds_in_children_beside(find, [&] { return find().device() == host; }));
}
