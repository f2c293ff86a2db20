#include <entrepot/array/graph.hpp>

#include "array/box.hpp"
#include "array/reach.hpp"
#include "core/interpreter_lock.hpp"
#include "device/capture_release.hpp"
#include "memory/recorded_uses.hpp"
#include <entrepot/core/assert.hpp>
#include <entrepot/device/recorded_queue.hpp>
#include <entrepot/memory/operation.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace entrepot {
namespace {

using NodePtr = std::shared_ptr<const GraphNode>;

// Nodes as the backend takes them. The views point into the nodes.
class NodeViews {
public:
    explicit NodeViews(std::span<const NodePtr> nodes) : strides_(nodes.size()) {
        views_.reserve(nodes.size());
        boxes_.reserve(nodes.size());  // they do not move
        for (std::size_t i = 0; i < nodes.size(); ++i)
            views_.push_back(view_of(*nodes[i], strides_[i]));
    }

    const ep_node *data() const noexcept { return views_.data(); }
    std::size_t size() const noexcept { return views_.size(); }

private:
    struct BothStrides {
        ByteStrides to, from;
    };

    ep_node view_of(const GraphNode &node, BothStrides &strides) {
        switch (node.kind) {
        case NodeKind::copy:
            return view_of_copy(node.arrays[0], node.arrays[1], strides);
        case NodeKind::fill:
            return view_of_fill(node, strides);
        case NodeKind::launch:
            break;
        }
        ep_node view{EP_NODE_LAUNCH, {}};
        // the handle is released with the node
        view.of.launch = {node.kernel.handle(), &node.range,
                          node.cooperation ? &*node.cooperation : nullptr, node.arguments.data(),
                          node.arguments.size()};
        return view;
    }

    ep_node view_of_copy(const Array &to, const Array &from, BothStrides &strides) {
        ep_node view{EP_NODE_COPY, {}};
        if (to.layout().is_c_contiguous() && from.layout().is_c_contiguous()) {
            view.of.copy = {to.data(), from.data(), static_cast<std::size_t>(to.nbytes())};
            return view;
        }
        view.kind = EP_NODE_COPY_STRIDED;
        strides = {byte_strides(to), byte_strides(from)};
        view.of.copy_strided = {&boxes_.emplace_back(box_of(to)), to.data(), strides.to.data(),
                                from.data(), strides.from.data()};
        return view;
    }

    ep_node view_of_fill(const GraphNode &node, BothStrides &strides) {
        const Array &to = node.arrays[0];
        ep_node view{EP_NODE_FILL, {}};
        if (to.layout().is_c_contiguous()) {
            view.of.fill = {to.data(), node.item.data(), node.item.size(),
                            static_cast<std::size_t>(to.size())};
            return view;
        }
        view.kind = EP_NODE_FILL_STRIDED;
        strides.to = byte_strides(to);
        view.of.fill_strided = {&boxes_.emplace_back(box_of(to)), to.data(), strides.to.data(),
                                node.item.data()};
        return view;
    }

    std::vector<ep_node> views_;
    std::vector<ep_box> boxes_;
    std::vector<BothStrides> strides_;
};

NodePtr launch_node(const Kernel &kernel, const ep_range &range, const ep_cooperation *cooperation,
                    std::span<const ep_argument> arguments, std::span<const ArrayUse> uses) {
    constexpr std::size_t unit = sizeof(std::max_align_t);
    const auto units_of = [](const ep_argument &argument) {
        return argument.kind == EP_ARG_BYTES ? (argument.size + unit - 1) / unit : 0;
    };
    auto node = std::make_shared<GraphNode>();
    node->kernel = kernel;
    node->range = range;
    if (cooperation)
        node->cooperation = *cooperation;
    node->arguments.assign(arguments.begin(), arguments.end());
    std::size_t units = 0;
    for (const ep_argument &argument : arguments)
        units += units_of(argument);
    node->bytes.resize(units);
    std::max_align_t *next = node->bytes.data();
    for (ep_argument &argument : node->arguments)
        if (argument.kind == EP_ARG_BYTES) {
            std::memcpy(next, argument.value, argument.size);
            argument.value = next;
            next += units_of(argument);
        }
    for (const ArrayUse &use : uses) {
        node->arrays.push_back(*use.array);
        node->accesses.push_back(use.access);
    }
    return node;
}

RecordedUses uses_of(std::span<const NodePtr> nodes) {
    RecordedUses uses;
    for (const NodePtr &node : nodes)
        for (std::size_t i = 0; i < node->arrays.size(); ++i)
            uses.add(node->accesses[i], node->arrays[i].memory());
    return uses;
}

// Throws: ValueError if `what`, for a queue of the device and context, cannot use the graph.
void require_place(const Context &context, const Device &device, const Queue &queue,
                   const char *what) {
    if (queue.context() != context || queue.device() != device)
        throw Error(ErrorKind::value, what, ": the graph was recorded for ", device, " in ",
                    context, ", and the queue is of ", queue.device(), " in ", queue.context());
}

}  // namespace

// ---------------------------------------------------------------------- graphs

// Constant.
struct Graph::State {
    explicit State(std::vector<NodePtr> of) : nodes(std::move(of)), uses(uses_of(nodes)) {}

    const std::vector<NodePtr> nodes;
    const RecordedUses uses;
};

struct Graph::Record {
    Record(const Queue &recorded, std::shared_ptr<const State> made)
        : queue(recorded.may_be_destroyed() ? Queue() : recorded), context(recorded.context()),
          device(recorded.device()), state(std::move(made)) {}
    ~Record() { drop(); }

    const Queue queue;      // constant; may be empty
    const Context context;  // constant
    const Device device;    // constant
    CheckedMutex mutex;
    std::shared_ptr<const State> state ENTREPOT_GUARDED_BY(mutex);
    ep_graph prepared ENTREPOT_GUARDED_BY(mutex) = nullptr;  // nullptr: not prepared any more

    std::shared_ptr<const State> current() {
        const InterpreterLock::Released released;
        const MutexLock lock(mutex);
        return state;
    }

    void prepare() ENTREPOT_REQUIRES(mutex) {
        mutex.assert_held();
        if (prepared)
            return;
        const NodeViews views(state->nodes);
        context.backend().call(&ep_backend::graph_create, context.handle(), device.handle(),
                               views.data(), views.size(), &prepared);
    }

    // Replaces a node in the prepared graph, or drops that if the backend cannot.
    void update(std::size_t index, const State &changed) ENTREPOT_REQUIRES(mutex) {
        mutex.assert_held();
        if (!prepared)
            return;
        const NodeViews view({&changed.nodes[index], 1});
        const ep_status status =
            context.backend().status_of(&ep_backend::graph_update, prepared, index, view.data());
        if (status == EP_UNSUPPORTED)
            drop();
        else
            context.backend().check(status);
    }

    void drop() noexcept ENTREPOT_NO_THREAD_SAFETY_ANALYSIS {  // also by the last reference
        ep_graph const dropped = std::exchange(prepared, nullptr);
        if (!dropped)
            return;
        const InterpreterLock::Released released(!context.backend().is_host());
        context.backend().drop(&ep_backend::graph_release, dropped);
    }
};

std::size_t Graph::size() const { return record_->current()->nodes.size(); }

NodePtr Graph::node(std::size_t index) const {
    const std::shared_ptr<const State> state = record_->current();
    if (index >= state->nodes.size())
        throw Error(ErrorKind::index, "node ", index, " of a graph of ",
                    counted(state->nodes.size(), "node"), " was asked for");
    return state->nodes[index];
}

const Queue &Graph::queue() const noexcept { return record_->queue; }

Submitted Graph::replay(const Queue &given) const {
    Record &record = *record_;
    const Queue &queue = given ? given : record.queue;
    if (!queue)
        throw Error(ErrorKind::value, "replay: the graph was recorded on a stream that may be "
                                      "destroyed: name the queue with queue=");
    require_place(record.context, record.device, queue, "replay");
    if (RecordedQueue::of_this_thread())
        RecordedQueue::refuse("replay");
    fork_guard::require_usable(queue.backend());
    while (true) {
        const std::shared_ptr<const State> state = record.current();
        if (state->nodes.empty())
            return {};
        const auto for_each_use = [&](auto &&add) {
            for (const RecordedUses::Use &use : state->uses.all())
                add(use.access, use.memory);
        };
        Operation operation(queue);
        operation.wait_for_conflicts(for_each_use);
        if (queue.capture() != 0)
            throw Error(ErrorKind::device,
                        "replay: the queue is being captured into another graph, and graphs do not "
                        "nest: replay after the capture, or launch the kernels themselves");
        queue.submitting();
        Queue::Position position = 0;
        {
            const InterpreterLock::Released released;
            const MutexLock lock(record.mutex);
            if (record.state != state)  // the waits were for other memory
                continue;
            record.prepare();
            queue.backend().call(&ep_backend::graph_launch, queue.handle(), record.prepared);
            position = queue.take_position();
        }
        operation.submitted(position, 0, for_each_use);
        return {queue, position};
    }
}

void Graph::replace(std::size_t index, Recording &&recording) const {
    Record &record = *record_;
    if (index >= size())
        static_cast<void>(node(index));  // throws
    require_place(record.context, record.device, recording.queue(), "replace");
    const NodePtr launch = recording.take_launch();
    const InterpreterLock::Released released;
    std::shared_ptr<const State> left;  // released without the mutex
    const MutexLock lock(record.mutex);
    std::vector<NodePtr> nodes = record.state->nodes;
    if (nodes[index]->kind != NodeKind::launch)
        throw Error(ErrorKind::value, "replace: node ", index,
                    " is not a launch, and only launches can be replaced: record the graph again");
    nodes[index] = launch;
    auto changed = std::make_shared<const State>(std::move(nodes));
    record.update(index, *changed);
    left = std::exchange(record.state, std::move(changed));
}

// ------------------------------------------------------------------ recordings

namespace {

thread_local Recording *recording_of_this_thread = nullptr;

void require_not_recording() {
    if (RecordedQueue::of_this_thread())
        throw Error(ErrorKind::device, "record: this thread records already, and recordings do not "
                                       "nest: end the first one");
}

void require_recordable(const Queue &queue) {
    if (queue.capture() != 0)
        throw Error(ErrorKind::device,
                    "record: another library captures the queue into a graph: launch the kernels "
                    "in its capture, or record another queue");
    // fails at once, and not at the end, if the device has no graphs
    ep_graph empty = nullptr;
    queue.backend().call(&ep_backend::graph_create, queue.context().handle(),
                         queue.device().handle(), nullptr, 0, &empty);
    queue.backend().drop(&ep_backend::graph_release, empty);
}

}  // namespace

struct Recording::Record {
    explicit Record(const Queue &recorded) : queue(recorded), is_recorded(queue), is_used(uses) {
        registry::push_current(queue);
    }
    // Throws: ValueError if a scope of a current queue begins in the recording and has not ended.
    void end_current() { registry::pop_current(queue); }

    const Queue queue;
    std::vector<NodePtr> nodes;
    RecordedUses uses;
    const RecordedQueue::Scope is_recorded;
    const RecordedUses::Scope is_used;

    void add(NodePtr node) {
        nodes.push_back(std::move(node));
        const GraphNode &added = *nodes.back();
        for (std::size_t i = 0; i < added.arrays.size(); ++i) {
            const Memory &memory = added.arrays[i].memory();
            memory.set_for_many_operations();
            uses.add(added.accesses[i], memory);
        }
    }
};

Recording::Recording(const Queue &queue) {
    require_not_recording();
    require_recordable(queue);
    begin(queue);
}

Recording::Recording(const Graph &replaced) {
    require_not_recording();
    const Graph::Record &graph = *replaced.record_;
    begin(graph.queue ? graph.queue : Queue::for_context(graph.context, graph.device));
}

void Recording::begin(const Queue &queue) {
    record_ = std::make_unique<Record>(queue);
    recording_of_this_thread = this;
}

Recording::~Recording() {
    ENTREPOT_ASSERT(!record_ || recording_of_this_thread == this);
    if (!record_)
        return;
    recording_of_this_thread = nullptr;
    try {
        record_->end_current();
    } catch (const Error &) {  // an inner scope has not ended, and ends the outer one
    }
}

Recording *Recording::of_this_thread() noexcept {
    return RecordedQueue::is_any() ? recording_of_this_thread : nullptr;
}

const Queue &Recording::queue() const noexcept { return record_->queue; }
std::size_t Recording::size() const noexcept { return record_->nodes.size(); }

Graph Recording::end() {
    ENTREPOT_ASSERT(recording_of_this_thread == this);
    recording_of_this_thread = nullptr;
    const std::unique_ptr<Record> ended = std::exchange(record_, nullptr);
    ended->end_current();
    Graph graph;
    graph.record_ = std::make_shared<Graph::Record>(
        ended->queue, std::make_shared<const Graph::State>(std::move(ended->nodes)));
    const CaptureRelease released(ended->queue.device());
    const MutexLock lock(graph.record_->mutex);
    graph.record_->prepare();
    return graph;
}

NodePtr Recording::take_launch() {
    ENTREPOT_ASSERT(recording_of_this_thread == this);
    recording_of_this_thread = nullptr;
    const std::unique_ptr<Record> ended = std::exchange(record_, nullptr);
    ended->end_current();
    if (ended->nodes.size() != 1 || ended->nodes.front()->kind != NodeKind::launch)
        throw Error(ErrorKind::value, "replace: a node is one launch, and ",
                    counted(ended->nodes.size(), "node"), " were recorded for it");
    return std::move(ended->nodes.front());
}

void Recording::require_queue(const Queue &queue, const char *what) const {
    if (queue == record_->queue)
        return;
    throw Error(ErrorKind::device, what, " would run now, on a queue of ", queue.device(),
                ", while this thread records another one, of ", record_->queue.device(),
                ": name the recorded queue with queue=, or do this before the recording");
}

void Recording::add_launch(const Kernel &kernel, const Queue &queue, const ep_range &range,
                           const ep_cooperation *cooperation,
                           std::span<const ep_argument> arguments, std::span<const ArrayUse> uses) {
    require_queue(queue, "a launch");
    record_->add(launch_node(kernel, range, cooperation, arguments, uses));
}

void Recording::add_copy(const Queue &queue, const Array &to, const Array &from) {
    require_queue(queue, "a copy");
    auto node = std::make_shared<GraphNode>();
    node->kind = NodeKind::copy;
    node->arrays = {to, from};
    node->accesses = {Access::write, Access::read};
    record_->add(std::move(node));
}

void Recording::add_fill(const Queue &queue, const Array &to, std::span<const std::byte> item) {
    require_queue(queue, "a fill");
    auto node = std::make_shared<GraphNode>();
    node->kind = NodeKind::fill;
    node->arrays = {to};
    node->accesses = {Access::write};
    node->item.assign(item.begin(), item.end());
    record_->add(std::move(node));
}

}  // namespace entrepot
