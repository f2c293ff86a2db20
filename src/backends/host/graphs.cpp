// Graphs: a list of steps that one piece of work runs.
//
// Quick steps run on the thread that runs the work, one after the other. A longer step is spread
// over the executor's threads, and the steps after it are the rest of the work.
#include "backends/host/native.hpp"
#include <entrepot/core/assert.hpp>

#include <vector>

namespace entrepot::backends::host {

using Steps = std::vector<StepPtr>;

// A submission holds the list as it was then: an update replaces the list if one is in flight.
class Graph {
public:
    explicit Graph(Steps steps) : steps_(std::make_shared<Steps>(std::move(steps))) {}

    std::shared_ptr<const Steps> steps() const noexcept { return steps_; }
    void replace(std::size_t index, StepPtr step) {
        ENTREPOT_ASSERT(index < steps_->size());
        if (steps_.use_count() != 1)
            steps_ = std::make_shared<Steps>(*steps_);
        (*steps_)[index] = std::move(step);
    }

private:
    std::shared_ptr<Steps> steps_;
};

namespace {

// The steps from `next` on.
class Replay final : public Work {
public:
    Replay(std::shared_ptr<const Steps> steps, std::size_t next)
        : steps_(std::move(steps)), next_(next) {}

    // Never throws: as in a queue, the steps after a failed one run.
    bool run(Queue &queue) override {
        while (next_ < steps_->size())
            if (const StepPtr &step = (*steps_)[next_++]; step && !run(queue, *step))
                return false;
        return true;
    }

private:
    bool run(Queue &queue, const Step &step) const {
        bool continues = false;
        try {
            if (step.is_quick()) {
                step.run();
                return true;
            }
            queue.continue_with(std::make_unique<Replay>(steps_, next_));
            continues = true;
            return step.spread_over(queue);
        } catch (...) {
            if (continues)
                queue.end_work(std::current_exception());
            else
                queue.keep_error(std::current_exception());
            return !continues;
        }
    }

    std::shared_ptr<const Steps> steps_;
    std::size_t next_;
};

StepPtr step_of(const ep_node &node) {
    return node.kind == EP_NODE_LAUNCH ? launch_step(node) : memory_step(node);
}

ep_status graph_create(ep_context context, ep_device device, const ep_node *nodes,
                       std::size_t count, ep_graph *graph) {
    return guarded([&] {
        check_context(context);
        check_device(device);
        Steps steps;
        steps.reserve(count);
        for (std::size_t i = 0; i < count; ++i)
            steps.push_back(step_of(nodes[i]));
        *graph = handle(new Graph(std::move(steps)));
    });
}

ep_status graph_launch(ep_queue queue, ep_graph graph) {
    return guarded([&] { object(queue).submit(Replay(object(graph).steps(), 0)); });
}

ep_status graph_update(ep_graph graph, std::size_t index, const ep_node *node) {
    return guarded([&] { object(graph).replace(index, step_of(*node)); });
}

void graph_release(ep_graph graph) { delete &object(graph); }

}  // namespace

void fill_graph_functions(ep_backend &table) {
    table.graph_create = graph_create;
    table.graph_launch = graph_launch;
    table.graph_update = graph_update;
    table.graph_release = graph_release;
}

}  // namespace entrepot::backends::host
