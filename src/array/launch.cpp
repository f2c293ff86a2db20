#include "array/reach.hpp"
#include "memory/release.hpp"
#include <entrepot/array/graph.hpp>
#include <entrepot/memory/operation.hpp>

#include <cstddef>
#include <memory>

namespace entrepot {
namespace {

void check_reachable(const Kernel &kernel, const Queue &queue, const Array &array,
                     std::size_t position) {
    if (array.size() != 0 && !reaches(queue, array))
        throw Error(
            ErrorKind::kernel, "launch of ", kernel.name(), ": argument ", position, " is ",
            array.kind(), " memory of ", array.context(), ", and the queue is of ", queue.context(),
            "; compute follows data: launch on the array's own queue, or move it with .to(device)");
}

void release_kept(void *kernel) { delete static_cast<Kernel *>(kernel); }

// The graph may run after all other owners have released the kernel and the memory.
void keep_for_graph(const Kernel &kernel, const Queue &queue, std::span<const ArrayUse> uses) {
    auto kept = std::make_unique<Kernel>(kernel);
    queue.keep(kept.get(), release_in_later_call<release_kept>);
    kept.release();
    for (const ArrayUse &use : uses)
        use.array->memory().keep_for_graph(queue);
}

// Submits the launch, ordered with all other work on the arrays' memory.
template <class Submit>
Queue::Position in_order(const Kernel &kernel, const Queue &queue, std::span<const ArrayUse> uses,
                         Submit &&submit) {
    Operation operation(queue);
    const auto for_each_use = [&](auto &&add) {
        for (const ArrayUse &use : uses)
            add(use.access, use.array->memory());
    };
    operation.wait_for_conflicts(for_each_use);
    const std::uint64_t capture = queue.capture();
    if (capture != 0) [[unlikely]]
        keep_for_graph(kernel, queue, uses);
    const Queue::Position position = submit();
    operation.submitted(position, capture, for_each_use);
    return position;
}

}  // namespace

[[gnu::hot]] Queue::Position launch(const Kernel &kernel, const Queue &queue, const ep_range &range,
                                    std::span<const ep_argument> arguments,
                                    std::span<const ArrayUse> uses,
                                    const ep_cooperation *cooperation) {
    for (const ArrayUse &use : uses)
        check_reachable(kernel, queue, *use.array, use.position);
    if (Recording *const recording = Recording::of_this_thread()) [[unlikely]] {
        if (kernel.check(queue, range, arguments))
            recording->add_launch(kernel, queue, range, cooperation, arguments, uses);
        return queue.position();
    }
    return in_order(kernel, queue, uses,
                    [&] { return kernel.launch(queue, range, arguments, cooperation); });
}

[[gnu::hot]] Queue::Position relaunch(const Kernel &kernel, const Queue &queue,
                                      const ep_range &range, std::span<const ep_argument> arguments,
                                      std::span<const ArrayUse> uses) {
    if (Recording *const recording = Recording::of_this_thread()) [[unlikely]] {
        recording->add_launch(kernel, queue, range, nullptr, arguments, uses);
        return queue.position();
    }
    return in_order(kernel, queue, uses, [&] { return kernel.relaunch(queue, range, arguments); });
}

}  // namespace entrepot
