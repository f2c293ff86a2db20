#include "array/box.hpp"
#include "array/reach.hpp"
#include <entrepot/array/graph.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/operation.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

namespace entrepot {
namespace {

// The calling thread itself copies and fills idle, host-accessible memory up to this size. A queue
// of the SYCL CPU device takes 12 µs, where memcpy takes 0.1.
constexpr std::int64_t host_copy_limit = std::int64_t{1} << 16;

// Bytes staged at a time between two contexts.
constexpr std::int64_t staging_limit = std::int64_t{1} << 24;

void check_writable(const char *what, const Array &to) {
    if (to.read_only())
        throw Error(ErrorKind::value, what, ": the destination, an array of shape ",
                    tuple_text(to.shape()), ", is read-only");
}

void check_copyable(const Array &to, const Array &from) {
    check_writable("copy", to);
    if (to.dtype() != from.dtype())
        throw Error(ErrorKind::value, "copy: the destination has dtype ", to.dtype(),
                    " and the source ", from.dtype(),
                    "; a copy never changes the dtype: convert with the library that owns the "
                    "array, or reinterpret with view()");
    if (to.layout().may_overlap_itself())
        throw Error(ErrorKind::value, "copy: several elements of the destination, with ",
                    to.layout(), ", may share one place in memory");
    if (may_overlap(to, from))
        throw Error(ErrorKind::value,
                    "copy: source and destination overlap in memory; copy through a third array");
}

// Also of device views, whose memory is the host's.
bool is_host_memory(const Array &array) {
    return array.device().backend().is_host() || array.is_device_view();
}

// True if the runtime copies contiguous bytes between the two contexts, even if no kernel reaches
// both.
bool copies_between(const Queue &queue, const Array &to, const Array &from) {
    return queue.device().has(EP_PEER_COPIES) && &to.context().backend() == &queue.backend() &&
           &from.context().backend() == &queue.backend() && to.layout().is_c_contiguous() &&
           from.layout().is_c_contiguous();
}

// True if work on the array is captured into a graph, so the calling thread must not do it.
bool is_captured(const Queue &wanted, const Array &array) {
    return !array.device().backend().is_host() &&
           (wanted ? wanted.capture() : array.queue().capture()) != 0;
}

// The array's queue, or one of its context if that queue cannot use the memory.
Queue queue_of(const Array &array) {
    Queue queue = array.queue();
    return reaches(queue, array) ? queue : Queue::for_context(array.context(), array.device());
}

// Queue for the calling thread's own copies, which no other thread uses.
const Queue &host_copy_queue() {
    thread_local const Queue queue = Queue::create(registry::host());
    return queue;
}

// Submits one copy to a queue whose device reaches both sides. If both are contiguous, one may be
// host memory.
Submitted enqueue(const Queue &queue, const Array &to, const Array &from) {
    if (Recording *const recording = Recording::of_this_thread()) [[unlikely]] {
        recording->add_copy(queue, to, from);
        return Submitted::recorded(queue);
    }
    Operation operation(queue);
    const auto for_each_use = [&](auto &&add) {
        add(Access::read, from.memory());
        add(Access::write, to.memory());
    };
    operation.wait_for_conflicts(for_each_use);
    const std::uint64_t capture = queue.capture();
    if (capture != 0) [[unlikely]] {
        from.memory().keep_for_graph(queue);
        to.memory().keep_for_graph(queue);
    }
    queue.submitting();
    const Backend &backend = queue.backend();
    if (to.layout().is_c_contiguous() && from.layout().is_c_contiguous()) {
        backend.call(&ep_backend::memory_copy, queue.handle(), to.data(), from.data(),
                     static_cast<std::size_t>(to.nbytes()));
    } else {
        const ByteStrides to_strides = byte_strides(to), from_strides = byte_strides(from);
        const ep_box box = box_of(to);
        backend.call(&ep_backend::memory_copy_strided, queue.handle(), &box, to.data(),
                     to_strides.data(), from.data(), from_strides.data());
    }
    const Queue::Position position = queue.take_position();
    operation.submitted(position, capture, for_each_use);
    return {queue, position};
}

// Refuses capture for a copy in which the host takes part. The host would block, or read data only
// once that the graph must read each time it runs.
void require_running(const Queue &queue) {
    if (queue.capture() != 0)
        throw Error(ErrorKind::device,
                    "copy: the queue is being captured into a graph, and the host would have to do "
                    "a part of this copy "
                    "now: copy before the capture, or make the host's side contiguous");
}

Submitted copy_between(const Array &to, const Array &from, const Queue &wanted);

// Copies host elements to memory that only the device reaches.
Submitted upload(const Array &to, const Array &from, const Queue &queue) {
    if (!from.layout().is_c_contiguous()) {
        require_running(queue);
        return upload(to, copy_to(from, UsmKind::host, host_copy_queue()), queue);
    }
    if (to.layout().is_c_contiguous())
        return enqueue(queue, to, from);
    const Array landed = Array::empty(to.shape(), to.dtype(), UsmKind::device, queue);
    enqueue(queue, landed, from);
    return enqueue(queue, to, landed);
}

// Copies the device's elements to host memory that the device does not reach. Blocks if the host's
// side is strided.
Submitted download(const Array &to, const Array &from, const Queue &queue) {
    if (!from.layout().is_c_contiguous())
        return download(to, copy_to(from, UsmKind::device, queue), queue);
    if (to.layout().is_c_contiguous())
        return enqueue(queue, to, from);
    require_running(queue);
    const Array landed = Array::empty(to.shape(), to.dtype(), UsmKind::host, host_copy_queue());
    enqueue(queue, landed, from).wait();
    return copy_between(to, landed, host_copy_queue());
}

// Copies between unrelated contexts through the host, in parts. Blocks.
Submitted stage(const Array &to, const Array &from) {
    const auto longest = std::ranges::max_element(to.shape());
    if (to.nbytes() > staging_limit && *longest > 1) {
        std::vector<IndexEntry> whole(to.ndim(), {IndexEntry::Kind::slice, 0, INT64_MAX, 1});
        IndexEntry &part = whole[static_cast<std::size_t>(longest - to.shape().begin())];
        part.stop = *longest / 2;
        stage(to.select(whole), from.select(whole));
        part.start = std::exchange(part.stop, INT64_MAX);
        return stage(to.select(whole), from.select(whole));
    }
    const Array landed = copy_to(from, UsmKind::host, host_copy_queue());
    landed.memory().wait_for_host(Access::read);
    const Submitted done = copy_between(to, landed, {});
    done.wait();
    return done;
}

// Records a copy that the queue's device makes alone. The host would take part now, and not at each
// replay.
Submitted record_copy(const Array &to, const Array &from, const Queue &wanted) {
    const Queue queue = wanted ? wanted : queue_of(is_host_memory(to) ? from : to);
    if (!(reaches(queue, to) && reaches(queue, from)) && !copies_between(queue, to, from))
        throw Error(ErrorKind::device, "copy: ", queue.device(), " cannot reach both ",
                    from.context(), " and ", to.context(),
                    ", and a copy in which the host takes part cannot be recorded into a graph: "
                    "copy before the recording");
    return enqueue(queue, to, from);
}

// Chooses the kind of copy. Requires: shapes agree and are not empty.
Submitted copy_between(const Array &to, const Array &from, const Queue &wanted) {
    if (Recording::of_this_thread()) [[unlikely]]
        return record_copy(to, from, wanted);
    const bool host_only = is_host_memory(to) && is_host_memory(from);
    if (to.is_host_accessible() && from.is_host_accessible() &&
        (host_only || to.nbytes() <= host_copy_limit) && !is_captured(wanted, to) &&
        !is_captured(wanted, from) && to.memory().is_ready_for_host(Access::write) &&
        from.memory().is_ready_for_host(Access::read))
        return enqueue(host_copy_queue(), to, from);

    const Queue queue = wanted ? wanted : queue_of(is_host_memory(to) ? from : to);
    if ((reaches(queue, to) && reaches(queue, from)) || copies_between(queue, to, from))
        return enqueue(queue, to, from);
    if (reaches(queue, to) && is_host_memory(from))
        return upload(to, from, queue);
    if (reaches(queue, from) && is_host_memory(to))
        return download(to, from, queue);
    require_running(queue);
    return stage(to, from);
}

}  // namespace

// Elements share bytes only if their addresses, modulo the common divisor of all strides, are less
// than an item apart.
bool may_overlap(const Array &a, const Array &b) {
    const ByteRange in_a = a.layout().byte_range(a.itemsize()),
                    in_b = b.layout().byte_range(b.itemsize());
    const auto base_a = reinterpret_cast<std::intptr_t>(a.data()),
               base_b = reinterpret_cast<std::intptr_t>(b.data());
    if (base_a + in_a.end <= base_b + in_b.begin || base_b + in_b.end <= base_a + in_a.begin)
        return false;
    std::int64_t divisor = 0;
    for (const Array *array : {&a, &b})
        for (std::size_t axis = 0; axis < array->ndim(); ++axis)
            if (array->shape()[axis] > 1)
                divisor = std::gcd(divisor, array->strides()[axis] * array->itemsize());
    if (divisor == 0)
        return true;
    const std::int64_t apart = ((base_a - base_b) % divisor + divisor) % divisor;
    return apart < b.itemsize() || divisor - apart < a.itemsize();
}

Submitted copy(const Array &to, const Array &from, const Queue &queue) {
    if (!std::ranges::equal(to.shape(), from.shape()))
        return copy(to, from.broadcast_to(to.shape()), queue);
    check_copyable(to, from);
    if (to.size() == 0)
        return {};
    return copy_between(to, from, queue);
}

Submitted fill(const Array &to, std::span<const std::byte> item, const Queue &wanted) {
    check_writable("fill", to);
    if (item.size() != static_cast<std::size_t>(to.itemsize()))
        throw Error(ErrorKind::value, "fill: the item has ", item.size(),
                    " bytes and an element of ", to.dtype(), " has ", to.itemsize());
    if (to.size() == 0)
        return {};
    Recording *const recording = Recording::of_this_thread();
    const bool by_host = !recording && to.is_host_accessible() &&
                         (is_host_memory(to) || to.nbytes() <= host_copy_limit) &&
                         !is_captured(wanted, to) && to.memory().is_ready_for_host(Access::write);
    const Queue queue = by_host ? host_copy_queue() : wanted ? wanted : queue_of(to);
    if (!by_host && !reaches(queue, to))
        throw Error(ErrorKind::value, "fill: the queue is of ", queue.context(),
                    ", and the array's memory of ", to.context());
    if (recording) [[unlikely]] {
        recording->add_fill(queue, to, item);
        return Submitted::recorded(queue);
    }

    Operation operation(queue);
    operation.wait_for_conflicts(Access::write, to.memory());
    const std::uint64_t capture = queue.capture();
    if (capture != 0) [[unlikely]]
        to.memory().keep_for_graph(queue);
    queue.submitting();
    const Backend &backend = queue.backend();
    if (to.layout().is_c_contiguous()) {
        backend.call(&ep_backend::memory_fill, queue.handle(), to.data(), item.data(), item.size(),
                     static_cast<std::size_t>(to.size()));
    } else {
        const ByteStrides strides = byte_strides(to);
        const ep_box box = box_of(to);
        backend.call(&ep_backend::memory_fill_strided, queue.handle(), &box, to.data(),
                     strides.data(), item.data());
    }
    const Queue::Position position = queue.take_position();
    operation.submitted(position, capture,
                        [&](auto &&record) { record(Access::write, to.memory()); });
    return {queue, position};
}

Array copy_to(const Array &from, UsmKind kind, const Queue &queue) {
    Array result = Array::empty(from.shape(), from.dtype(), kind, queue);
    const Submitted done = copy(result, from, from.context() == queue.context() ? queue : Queue{});
    if (from.is_host_accessible() && (from.memory().is_borrowed() || from.memory().has_escaped()))
        done.wait_unless_captured();
    return result;
}

}  // namespace entrepot
