#include <entrepot/array/launch.hpp>
#include <entrepot/array/reach.hpp>
#include <entrepot/core/small_vector.hpp>
#include <entrepot/memory/release.hpp>

#include <cstddef>
#include <memory>

namespace entrepot {
namespace {

void check_reachable(const Kernel &kernel, const Queue &queue, const Array &array, std::size_t position) {
    if (array.size() != 0 && !reaches(queue, array))
        throw Error(ErrorKind::kernel, "launch of ", kernel.name(), ": argument ", position, " is ", array.kind(), " memory of ",
                    array.context(), ", and the queue is of ", queue.context(),
                    "; compute follows data: launch on the array's own queue, or move it with .to(device)");
}

Access access_of(const Array &array) { return array.read_only() ? Access::read : Access::write; }

struct ToBackend {
    ep_argument operator()(const Array *array) const { return {EP_ARG_POINTER, sizeof(void *), array->data()}; }
    ep_argument operator()(const Scalar &scalar) const { return {EP_ARG_BYTES, scalar.size, scalar.bytes.data()}; }
    ep_argument operator()(const LocalMemory &local) const { return {EP_ARG_LOCAL, local.bytes, nullptr}; }
    ep_argument operator()(std::span<const std::byte> bytes) const { return {EP_ARG_BYTES, bytes.size(), bytes.data()}; }
};

void release_kept(void *kernel) { delete static_cast<Kernel *>(kernel); }

// The graph may run when nobody else has the kernel or the memory any more.
void keep_for_graph(const Kernel &kernel, const Queue &queue, std::span<const ArrayUse> uses) {
    auto kept = std::make_unique<Kernel>(kernel);
    queue.keep(kept.get(), let_go_later<release_kept>);
    kept.release();
    for (const ArrayUse &use : uses)
        use.array->memory().keep_for_graph(queue);
}

// What `submit` hands over comes behind the work on the arrays' memory, and later work on it behind that.
template <class Submit>
Queue::Position in_order(const Kernel &kernel, const Queue &queue, std::span<const ArrayUse> uses, Submit &&submit) {
    for (const ArrayUse &use : uses)
        if (!use.array->memory().is_free_for(queue)) [[unlikely]]
            use.array->memory().before(use.access, queue);
    const std::uint64_t capture = queue.capture();
    if (capture != 0) [[unlikely]]
        keep_for_graph(kernel, queue, uses);
    const Queue::Position position = submit();
    Memory::After after(queue, position, capture);
    for (const ArrayUse &use : uses)
        after.note(use.access, use.array->memory());
    return position;
}

}  // namespace

Queue::Position launch(const Kernel &kernel, const Queue &queue, const ep_range &range, std::span<const ep_argument> arguments,
                       std::span<const ArrayUse> uses, const ep_cooperation *cooperation) {
    for (const ArrayUse &use : uses)
        check_reachable(kernel, queue, *use.array, use.position);
    return in_order(kernel, queue, uses, [&] { return kernel.launch(queue, range, arguments, cooperation); });
}

Queue::Position relaunch(const Kernel &kernel, const Queue &queue, const ep_range &range, std::span<const ep_argument> arguments,
                         std::span<const ArrayUse> uses) {
    return in_order(kernel, queue, uses, [&] { return kernel.relaunch(queue, range, arguments); });
}

void launch(const Kernel &kernel, const Queue &queue, const ep_range &range, std::span<const LaunchArgument> arguments,
            const ep_cooperation *cooperation) {
    SmallVector<ep_argument, 16> given(arguments.size());
    SmallVector<ArrayUse, 16> uses(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        given.emplace_back(std::visit(ToBackend{}, arguments[i]));
        if (const auto *array = std::get_if<const Array *>(&arguments[i]))
            uses.emplace_back(*array, access_of(**array), i);
    }
    launch(kernel, queue, range, given, uses, cooperation);
}

}  // namespace entrepot
