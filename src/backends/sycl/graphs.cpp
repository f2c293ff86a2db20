// Graphs: command graphs of the extension sycl_ext_oneapi_graph, recorded from a queue that nothing
// else uses.
//
// A command graph that was submitted is destroyed only when that work is done. The extension does
// not say that the runtime waits for it.
#include "backends/nodes.hpp"
#include "backends/sycl/native.hpp"
#include "core/no_destructor.hpp"

#include <optional>
#include <vector>

namespace entrepot::backends::sycl {
namespace {

using Executable = syclex::command_graph<syclex::graph_state::executable>;
using Modifiable = syclex::command_graph<syclex::graph_state::modifiable>;

}  // namespace

class Graph {
public:
    Graph(Device &of, Executable made) : device(of), native(std::move(made)) {}

    Device &device;
    const Executable native;
    std::optional<::sycl::event> last;  // of the latest submission

    // True if no submission runs. False if the runtime cannot say so.
    bool is_idle() const noexcept {
        try {
            return !last || last->get_info<::sycl::info::event::command_execution_status>() ==
                                ::sycl::info::event_command_status::complete;
        } catch (...) {
            return false;
        }
    }
};

namespace {

// Graphs that were released while they run.
class DeferredGraphDestruction {
public:
    static DeferredGraphDestruction &only() {
        static NoDestructor<DeferredGraphDestruction> all;
        return *all;
    }

    void keep(std::unique_ptr<Graph> graph) {
        const MutexLock lock(mutex_);
        graphs_.push_back(std::move(graph));
    }

    void sweep() {
        std::vector<std::unique_ptr<Graph>> asked;
        {
            const MutexLock lock(mutex_);
            asked.swap(graphs_);
        }
        // without the mutex: the runtime is asked
        for (std::unique_ptr<Graph> &graph : asked)
            if (!graph->is_idle())
                keep(std::move(graph));
    }

private:
    LeafMutex mutex_;
    std::vector<std::unique_ptr<Graph>> graphs_ ENTREPOT_GUARDED_BY(mutex_);
};

void require_graphs(const Device &device) {
    if (!device.native.has(::sycl::aspect::ext_oneapi_limited_graph))
        refuse(
            EP_UNSUPPORTED, device.selector(),
            " has no graphs: the SYCL runtime reports no aspect ext_oneapi_limited_graph for it");
}

// Ends the recording of a queue, also after an error.
class RecordingScope {
public:
    RecordingScope(Modifiable &graph, ::sycl::queue &queue) : graph_(graph), queue_(queue) {
        graph_.begin_recording(queue_);
    }
    ~RecordingScope() {
        try {
            graph_.end_recording(queue_);
        } catch (...) {  // the graph is dropped, and the queue with it
        }
    }
    RecordingScope(const RecordingScope &) = delete;
    RecordingScope &operator=(const RecordingScope &) = delete;

private:
    Modifiable &graph_;
    ::sycl::queue &queue_;
};

ep_status record(Modifiable &graph, Context &context, Device &device, const ep_node *nodes,
                 std::size_t count) {
    const auto error = std::make_shared<AsyncError>();
    const auto recorder = IntrusivePtr<Queue>::adopt(
        new Queue(IntrusivePtr<Context>(&context), device,
                  {context.native,
                   device.native,
                   [error](const ::sycl::exception_list &errors) { error->keep(errors); },
                   {::sycl::property::queue::in_order{}}},
                  0, error));
    const RecordingScope recording(graph, recorder->native);
    for (std::size_t i = 0; i < count; ++i)
        if (const ep_status status = submit_node(table(), handle(&*recorder), nodes[i]);
            status != EP_OK)
            return status;
    return EP_OK;
}

Executable prepare(Modifiable &recorded) {
    const std::unique_lock exclusive(kernel_arguments_mutex());
    return recorded.finalize();
}

ep_status graph_create(ep_context context, ep_device device, const ep_node *nodes,
                       std::size_t count, ep_graph *graph) {
    ep_status of_node = EP_OK;  // a node's refusal has set its own error
    const ep_status status = guarded([&] {
        Device &on = object(device);
        require_graphs(on);
        DeferredGraphDestruction::only().sweep();
        Modifiable recorded(object(context).native, on.native);
        of_node = record(recorded, object(context), on, nodes, count);
        if (of_node == EP_OK)
            *graph = handle(new Graph(on, prepare(recorded)));
    });
    return status != EP_OK ? status : of_node;
}

ep_status graph_launch(ep_queue queue, ep_graph graph) {
    return guarded([&] {
        Queue &in = object(queue);
        Graph &launched = object(graph);
        if (&in.device != &launched.device)
            refuse(EP_INVALID, "the graph is for ", launched.device.selector(),
                   ", and the queue is on ", in.device.selector());
        in.submit_with_event([&](::sycl::queue &native) {
            ::sycl::event event = native.submit(
                [&](::sycl::handler &handler) { handler.ext_oneapi_graph(launched.native); });
            launched.last = event;
            return event;
        });
    });
}

// A limited graph cannot be changed, and a new one is made in less than a millisecond.
ep_status graph_update(ep_graph graph, std::size_t, const ep_node *) {
    return guarded([&] {
        refuse(EP_UNSUPPORTED, object(graph).device.selector(),
               " cannot change a graph that has been prepared: create another one");
    });
}

void graph_release(ep_graph graph) {
    guarded([&] {
        std::unique_ptr<Graph> released(&object(graph));
        DeferredGraphDestruction::only().sweep();
        if (!released->is_idle())
            DeferredGraphDestruction::only().keep(std::move(released));
    });
}

}  // namespace

std::shared_mutex &kernel_arguments_mutex() {
    static NoDestructor<std::shared_mutex> only;
    return *only;
}

void fill_graph_functions(ep_backend &filled) {
    filled.graph_create = graph_create;
    filled.graph_launch = graph_launch;
    filled.graph_update = graph_update;
    filled.graph_release = graph_release;
}

}  // namespace entrepot::backends::sycl
