// Graphs: the driver's own, captured from a stream that nothing else uses.
//
// The capture is relaxed. So calls of other threads, and the loading of a module on this one,
// neither fail nor invalidate it.
#include "backends/gpu/native.hpp"
#include "backends/nodes.hpp"

#include <vector>

namespace entrepot::backends::gpu {

// A node that can be replaced: a launch of independent groups. NULL for any other.
using LaunchNode = CUgraphNode;

class Graph {
public:
    Graph(Context &in, CUgraph recorded, std::vector<LaunchNode> launches)
        : context(&in), recorded_(recorded), launches_(std::move(launches)) {}
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;
    // The driver destroys an executable graph that runs when it has run.
    ~Graph() {
        const RelaxedCaptureMode relaxed;
        if (native_ != nullptr)
            driver().cuGraphExecDestroy(native_);
        driver().cuGraphDestroy(recorded_);
    }

    const IntrusivePtr<Context> context;

    void instantiate() {
        const Current current(context->native);
        const RelaxedCaptureMode relaxed;
        check(driver().cuGraphInstantiate(&native_, recorded_, 0), "cuGraphInstantiate");
    }
    CUgraphExec native() const noexcept { return native_; }
    LaunchNode launch_at(std::size_t index) const noexcept { return launches_[index]; }

private:
    CUgraphExec native_ = nullptr;
    const CUgraph recorded_;  // its nodes name those of `native_`
    const std::vector<LaunchNode> launches_;
};

namespace {

// The node that was captured last; NULL before the first one.
CUgraphNode newest_node(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    CUgraph graph = nullptr;
    const CUgraphNode *nodes = nullptr;
    std::size_t count = 0;
    check(driver().capture_info(stream, &status, &number, &graph, &nodes, &count),
          "cuStreamGetCaptureInfo");
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1 ? nodes[0] : nullptr;
}

// Ends the capture of a stream, also after an error.
class CaptureScope {
public:
    explicit CaptureScope(Queue &queue) : queue_(queue) {
        queue_.set_may_be_captured();
        const Current current(queue_.context->native);
        check(driver().cuStreamBeginCapture(queue_.native, CU_STREAM_CAPTURE_MODE_RELAXED),
              "cuStreamBeginCapture");
    }
    CaptureScope(const CaptureScope &) = delete;
    CaptureScope &operator=(const CaptureScope &) = delete;
    ~CaptureScope() {
        CUgraph graph = nullptr;
        if (!is_ended_ && take(graph) == CUDA_SUCCESS && graph != nullptr)
            driver().cuGraphDestroy(graph);
    }

    // Ownership: the caller destroys the graph.
    CUgraph end() {
        CUgraph graph = nullptr;
        is_ended_ = true;
        check(take(graph), "cuStreamEndCapture");
        return graph;
    }

private:
    CUresult take(CUgraph &graph) const {
        const Current current(queue_.context->native);
        return driver().cuStreamEndCapture(queue_.native, &graph);
    }

    Queue &queue_;
    bool is_ended_ = false;
};

// Captures the nodes. On a refusal, whose error is set, `made` stays empty.
ep_status capture(Context &context, ep_queue recorder, const ep_node *nodes, std::size_t count,
                  std::unique_ptr<Graph> &made) {
    Queue &queue = object(recorder);
    std::vector<LaunchNode> launches(count, nullptr);
    CaptureScope scope(queue);
    CUgraphNode before = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        if (const ep_status status = submit_node(table(), recorder, nodes[i]); status != EP_OK)
            return status;
        const CUgraphNode newest = newest_node(queue.native);
        const bool is_alone =
            nodes[i].kind == EP_NODE_LAUNCH && nodes[i].of.launch.cooperation == nullptr;
        if (is_alone && newest != before)  // else the launch had no work-items
            launches[i] = newest;
        before = newest;
    }
    const CUgraph recorded = scope.end();
    try {
        made = std::make_unique<Graph>(context, recorded, std::move(launches));
    } catch (...) {
        driver().cuGraphDestroy(recorded);
        throw;
    }
    return EP_OK;
}

ep_status graph_create(ep_context context, ep_device device, const ep_node *nodes,
                       std::size_t count, ep_graph *graph) {
    ep_queue recorder = nullptr;
    if (const ep_status status = table().queue_create(context, device, 0, &recorder);
        status != EP_OK)
        return status;
    ep_status of_node = EP_OK;  // a node's refusal has set its own error
    const ep_status status = guarded([&] {
        std::unique_ptr<Graph> made;
        of_node = capture(object(context), recorder, nodes, count, made);
        if (of_node != EP_OK)
            return;
        made->instantiate();
        *graph = handle(made.release());
    });
    table().queue_release(recorder);
    return status != EP_OK ? status : of_node;
}

ep_status graph_launch(ep_queue queue, ep_graph graph) {
    return guarded([&] {
        const Graph &launched = object(graph);
        Queue &in = object(queue);
        if (&*in.context != &*launched.context)
            refuse(EP_INVALID, "the graph is for ", launched.context->device.selector(),
                   ", and the queue is in another context, of ", in.device().selector());
        in.submit([&](CUstream stream) {
            check(driver().cuGraphLaunch(launched.native(), stream), "cuGraphLaunch");
        });
    });
}

ep_status graph_update(ep_graph graph, std::size_t index, const ep_node *node) {
    return guarded([&] {
        Graph &updated = object(graph);
        const LaunchNode known = updated.launch_at(index);
        if (known == nullptr || node->kind != EP_NODE_LAUNCH ||
            node->of.launch.cooperation != nullptr)
            refuse(EP_UNSUPPORTED, maker_api,
                   " replaces launches of independent groups only: create another graph");
        const Current current(updated.context->native);
        replace_launch(updated.native(), known, *node);
    });
}

void graph_release(ep_graph graph) { delete &object(graph); }

}  // namespace

void fill_graph_functions(ep_backend &filled) {
    filled.graph_create = graph_create;
    filled.graph_launch = graph_launch;
    filled.graph_update = graph_update;
    filled.graph_release = graph_release;
}

}  // namespace entrepot::backends::gpu
