// _Recording and _Graph: what entrepot.graph makes Graph, GraphNode and record of.
#include "../array_object/array_object.hpp"
#include "../device/convert.hpp"
#include "../device/event.hpp"
#include "../init.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/nb_cast.hpp"
#include "../support/reference.hpp"
#include "launcher.hpp"
#include "recorded_calls.hpp"

#include <entrepot/array/graph.hpp>
#include <entrepot/device/registry.hpp>

#include <nanobind/stl/string.h>

#include <memory>
#include <thread>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

thread_local PyObject *calls_of_this_thread = nullptr;  // a list; borrowed

// A recording with its calls. It ends on the thread that began it.
class PythonRecording {
public:
    explicit PythonRecording(const Queue &queue) : recording_(std::make_unique<Recording>(queue)) {
        scope_ = std::make_unique<RecordedCalls>(calls.ptr());
    }
    explicit PythonRecording(const Graph &replaced)
        : recording_(std::make_unique<Recording>(replaced)) {
        scope_ = std::make_unique<RecordedCalls>(calls.ptr());
    }
    // On another thread the recording leaks: that thread goes on recording, as the caller asked.
    ~PythonRecording() {
        if (is_of_this_thread())
            discard();
        else
            static_cast<void>((recording_.release(), scope_.release()));
    }

    Graph end() {
        require_own_thread();
        scope_.reset();
        const std::unique_ptr<Recording> ended = std::move(recording_);
        return ended->end();
    }
    // Replaces a node of the graph by the launch that was recorded.
    void replace(const Graph &graph, std::size_t index) {
        require_own_thread();
        scope_.reset();
        const std::unique_ptr<Recording> ended = std::move(recording_);
        graph.replace(index, std::move(*ended));
    }
    const Queue &queue() const {
        require_own_thread();
        return recording_->queue();
    }
    void discard() {
        if (!recording_)
            return;
        require_own_thread();
        scope_.reset();
        recording_.reset();
    }

    nb::list calls;

private:
    bool is_of_this_thread() const noexcept {
        return !recording_ || thread_ == std::this_thread::get_id();
    }
    void require_own_thread() const {
        if (!recording_)
            throw Error(ErrorKind::device, "the recording has ended");
        if (!is_of_this_thread())
            throw Error(ErrorKind::device,
                        "a recording was begun in another thread: end it in that thread, where its "
                        "launches are recorded");
    }

    const std::thread::id thread_ = std::this_thread::get_id();
    std::unique_ptr<Recording> recording_;
    std::unique_ptr<RecordedCalls> scope_;
};

const char *name_of(NodeKind kind) noexcept {
    switch (kind) {
    case NodeKind::launch:
        return "launch";
    case NodeKind::copy:
        return "copy";
    case NodeKind::fill:
        return "fill";
    }
    return "";
}

// The kind of a node, the kernel's name or None, and its arrays.
nb::tuple node(const Graph &graph, std::size_t index) {
    const std::shared_ptr<const GraphNode> found = graph.node(index);
    nb::list arrays;
    for (const Array &array : found->arrays)
        arrays.append(nb::steal(wrap(Array(array))));
    const bool is_launch = found->kind == NodeKind::launch;
    return nb::make_tuple(name_of(found->kind),
                          is_launch ? nb::cast(found->kernel.name()) : nb::none(),
                          nb::tuple(arrays));
}

PyObject *replay(const Graph &graph, nb::handle queue) {
    const Queue where = queue.is_none() ? Queue() : queue_from(queue.ptr());
    return wrap_event(without_gil([&] { return graph.replay(where).event(); }));
}

}  // namespace

RecordedCalls::RecordedCalls(PyObject *list) noexcept {
    ENTREPOT_ASSERT(holds_gil() && !calls_of_this_thread);
    calls_of_this_thread = list;
}

RecordedCalls::~RecordedCalls() {
    ENTREPOT_ASSERT(holds_gil() && calls_of_this_thread);
    calls_of_this_thread = nullptr;
}

void RecordedCalls::add(const Recording &recording, std::size_t nodes_before, PyObject *launcher,
                        std::span<PyObject *const> arguments, std::span<const Keyword> keywords) {
    ENTREPOT_ASSERT(holds_gil());
    if (!calls_of_this_thread || recording.size() == nodes_before)
        return;  // recorded in C++, or nothing to do
    nb::list given;
    for (PyObject *const argument : arguments)
        given.append(nb::borrow(argument));
    nb::dict named;
    for (const Keyword &keyword : keywords)
        if (keyword.value && keyword.value != Py_None)
            named[keyword.name] = nb::borrow(keyword.value);
    nb::borrow<nb::list>(calls_of_this_thread)
        .append(nb::make_tuple(recording.size() - 1, nb::borrow(launcher),
                               nb::borrow(launcher_of(launcher).kernel), nb::tuple(given), named));
}

void require_recorded_events(PyObject *events) {
    const auto require_one = [](PyObject *object) {
        const Event event = event_from(object);
        if (event && !event.is_recorded())
            throw Error(
                ErrorKind::device,
                "depends_on: an event of work that is not in the recording was given, and a "
                "graph cannot wait for it: give the replay's queue the event, as in "
                "queue.wait_for(event)");
    };
    if (!PyList_Check(events) && !PyTuple_Check(events))
        return require_one(events);
    const Reference items = items_of(events);
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i)
        require_one(PyTuple_GET_ITEM(items.get(), i));
}

void init_graph(nb::module_ &m) {
    using namespace nb::literals;
    nb::class_<Graph>(m, "_Graph", "Nodes that a backend has prepared; entrepot.Graph holds one.")
        .def("__len__", &Graph::size, "The number of nodes.")
        .def_prop_ro(
            "queue",
            [](const Graph &self) { return self.queue() ? nb::cast(self.queue()) : nb::none(); },
            nb::sig("def queue(self) -> Queue | None"),
            "The queue of the recording, or None for a stream that may be destroyed.")
        .def("node", &node, "index"_a,
             nb::sig("def node(self, index: int) -> tuple[str, str | None, tuple[Array, ...]]"),
             "A node's kind, the name of its kernel, and its arrays.")
        .def(
            "replay",
            [](const Graph &self, nb::handle queue) { return nb::steal(replay(self, queue)); },
            "queue"_a = nb::none(), nb::sig("def replay(self, queue: object = None) -> Event"),
            "Submits the nodes.");
    nb::class_<PythonRecording>(m, "_Recording",
                                "A recording of the calling thread; entrepot.record makes one.")
        .def(
            "__init__",
            [](PythonRecording *self, nb::handle queue) {
                if (const Graph *const graph = try_cast<Graph>(queue.ptr()))
                    new (self) PythonRecording(*graph);
                else
                    new (self) PythonRecording(queue.is_none() ? registry::current_queue()
                                                               : queue_from(queue.ptr()));
            },
            "queue"_a = nb::none(), nb::sig("def __init__(self, queue: object = None) -> None"),
            "Begins to record the queue, or the new launch of a _Graph.")
        .def_prop_ro("queue", &PythonRecording::queue, "The queue that is recorded.")
        .def("end", &PythonRecording::end, "Ends the recording.")
        .def("replace", &PythonRecording::replace, "graph"_a, "index"_a,
             "Ends the recording, and replaces a node of the graph by its launch.")
        .def("discard", &PythonRecording::discard, "Ends the recording without a graph.")
        .def_ro("calls", &PythonRecording::calls,
                nb::sig("def calls(self) -> list[tuple[int, Callable[..., Event], object, "
                        "tuple[object, ...], dict[str, object]]]"),
                "The launches: node, launcher, kernel, arguments and keywords.");
}

}  // namespace entrepot::python
