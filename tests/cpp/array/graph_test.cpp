// Graphs: recording, replays in order with other queues, updates, lifetimes and refusals, on a
// backend that tests control.
#include <entrepot/array/graph.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fake_backend.hpp"

namespace entrepot {
namespace {

Array filled(std::int32_t value, const Queue &queue) {
    const std::int64_t shape[] = {4};
    Array made = Array::empty(shape, dtypes::int32, UsmKind::device, queue);
    fill(made, std::as_bytes(std::span(&value, 1)), queue);
    return made;
}

std::int32_t first_of(const Array &array) {
    array.memory().wait_for_host(Access::read);
    return *static_cast<const std::int32_t *>(array.data());
}

// A kernel that adds its second argument, an int32, to the first element of its first one.
class AddKernel {
public:
    AddKernel() : kernel_(Program("add", fake::device()).kernel("add")) {
        fake::world().kernel = [](const ep_range &, const ep_argument *given, std::size_t) {
            *static_cast<std::int32_t *>(const_cast<void *>(given[0].value)) +=
                *static_cast<const std::int32_t *>(given[1].value);
        };
    }
    ~AddKernel() { fake::world().kernel = nullptr; }
    AddKernel(const AddKernel &) = delete;
    AddKernel &operator=(const AddKernel &) = delete;

    void launch(const Array &to, std::int32_t amount, const Queue &queue) const {
        LaunchArguments arguments(2);
        arguments.add(to);
        arguments.add(std::as_bytes(std::span(&amount, 1)));
        entrepot::launch(kernel_, queue, {1, {1, 1, 1}, {1, 1, 1}}, arguments);
    }

private:
    Kernel kernel_;
};

// True if the call throws DeviceError with these words.
template <class Call> bool is_refused(const char *words, Call &&call) {
    try {
        call();
    } catch (const Error &error) {
        return error.kind() == ErrorKind::device &&
               std::string(error.what()).find(words) != std::string::npos;
    }
    return false;
}

}  // namespace

TEST_CASE("recorded work runs at each replay, in order with other queues") {
    const Queue queue = Queue::create(fake::device()), other = Queue::create(fake::device());
    const AddKernel add;
    const Array a = filled(1, queue);
    Recording recording(queue);
    CHECK(Recording::of_this_thread() == &recording);
    CHECK(registry::current_queue() == queue);
    add.launch(a, 10, queue);
    const std::int32_t five = 5;
    CHECK(fill(a, std::as_bytes(std::span(&five, 1)), queue).is_recorded);
    add.launch(a, 20, queue);
    const Graph graph = recording.end();
    CHECK(Recording::of_this_thread() == nullptr);
    CHECK(graph.size() == 3);
    CHECK(first_of(a) == 1);

    fake::hold(other);
    add.launch(a, 100, other);  // pending: the replay waits for it
    const Submitted replayed = graph.replay();
    add.launch(a, 1000, other);  // waits for the replay
    CHECK(!queue.is_done(replayed.position));
    fake::release(other);
    CHECK(first_of(a) == 1025);
    graph.replay(other);
    CHECK(first_of(a) == 25);
}

TEST_CASE("graph that cannot be updated is prepared again at the next replay") {
    const Queue queue = Queue::create(fake::device());
    const AddKernel add;
    for (const bool updates : {true, false}) {
        fake::world().updates_graphs = updates;
        const Array a = filled(0, queue), b = filled(0, queue);
        const Graph graph = [&] {
            Recording recording(queue);
            add.launch(a, 1, queue);
            return recording.end();
        }();
        const int made = fake::world().calls.graph_create;
        {
            Recording recording(graph);
            add.launch(b, 7, queue);
            graph.replace(0, std::move(recording));
        }
        CHECK(fake::world().calls.graph_create == made);
        graph.replay();
        graph.replay();
        CHECK(fake::world().calls.graph_create == made + (updates ? 0 : 1));
        CHECK(first_of(a) == 0);
        CHECK(first_of(b) == 14);
        CHECK(fake::world().prepared_graphs == 1);
    }
    fake::world().updates_graphs = true;
    CHECK(fake::world().prepared_graphs == 0);
}

TEST_CASE("replacement is one launch of the same place") {
    const Queue queue = Queue::create(fake::device());
    const AddKernel add;
    const Array a = filled(0, queue);
    const std::int32_t one = 1;
    const auto record = [&](const auto &work) {
        Recording recording(queue);
        work();
        return recording.end();
    };
    const Graph graph = record([&] {
        add.launch(a, 1, queue);
        fill(a, std::as_bytes(std::span(&one, 1)), queue);
    });
    const auto replace = [&](std::size_t index, int launches) {
        Recording recording(graph);
        for (int i = 0; i < launches; ++i)
            add.launch(a, 2, queue);
        graph.replace(index, std::move(recording));
    };
    CHECK_THROWS_AS(replace(0, 0), Error);
    CHECK_THROWS_AS(replace(0, 2), Error);
    CHECK_THROWS_AS(replace(1, 1), Error);  // a fill
    CHECK_THROWS_AS(replace(2, 1), Error);
    replace(0, 1);
    CHECK(Recording::of_this_thread() == nullptr);
    CHECK(graph.node(0)->arrays[0].data() == a.data());
}

TEST_CASE("graph owns the memory and the kernels of its nodes") {
    const Queue queue = Queue::create(fake::device());
    const int kernels = fake::world().alive.kernels;
    std::optional<Graph> graph;
    const Memory::Record *record = nullptr;
    {
        const AddKernel add;
        const Array a = filled(3, queue);
        record = a.memory().record();
        Recording recording(queue);
        add.launch(a, 1, queue);
        graph = recording.end();
    }
    CHECK(fake::world().alive.kernels == kernels + 1);
    CHECK(record->count() > 0);
    CHECK(graph->node(0)->arrays[0].memory().record() == record);
    graph->replay();
    graph.reset();
    CHECK(fake::world().alive.kernels == kernels);
    CHECK(fake::world().prepared_graphs == 0);
}

TEST_CASE("calls that need the recorded work are refused") {
    const Queue queue = Queue::create(fake::device()), other = Queue::create(fake::device());
    const AddKernel add;
    const Array a = filled(1, queue), unused = filled(2, queue);
    queue.wait();
    {
        Recording recording(queue);
        add.launch(a, 1, queue);
        CHECK(is_refused("do not nest", [&] { Recording nested(queue); }));
        CHECK(is_refused("wait() was called", [&] { queue.wait(); }));
        CHECK(is_refused("access of the host", [&] { a.memory().wait_for_host(Access::read); }));
        CHECK(is_refused("would run now", [&] { add.launch(a, 1, other); }));
        CHECK(!a.memory().is_ready_for_host(Access::read));
        CHECK(unused.memory().is_ready_for_host(Access::read));
        CHECK(is_refused("wait for the event that replay",
                         [&] { Event::recorded(queue.backend()).wait(); }));
        unused.memory().wait_for_host(Access::write);
        CHECK(recording.size() == 1);
        // discarded
    }
    CHECK(first_of(a) == 1);
    fake::world().has_graphs = false;
    CHECK(is_refused("the fake has no graphs", [&] { Recording nested(queue); }));
    fake::world().has_graphs = true;
    CHECK(Recording::of_this_thread() == nullptr);
}

TEST_CASE("captured queue is neither recorded nor replayed") {
    const Queue queue = Queue::create(fake::device());
    const AddKernel add;
    const Array a = filled(1, queue);
    const Graph graph = [&] {
        Recording recording(queue);
        add.launch(a, 1, queue);
        return recording.end();
    }();
    queue.wait();
    const std::uint64_t capture = fake::begin_capture(queue);
    CHECK(is_refused("another library captures", [&] { Recording nested(queue); }));
    CHECK(is_refused("graphs do not nest", [&] { graph.replay(); }));
    fake::end_capture(capture);
    graph.replay();
    CHECK(first_of(a) == 2);
}

}  // namespace entrepot
