// Streams of SYCL, CUDA and HIP as queues and back, and the two directions of a hand-over.
#include <entrepot/exchange/stream.hpp>
#include <entrepot/memory/operation.hpp>

namespace entrepot::exchange {
namespace {

Access access_of(const Array &array) noexcept { return array.read_only() ? Access::read : Access::write; }

// What the consumer will submit is not known yet; where its queue stays, it can be asked for later.
void hand_to(const Array &array, const Queue &consumer, bool stays, Memory::Consumer holder) {
    const Memory &memory = array.memory();
    memory.mark_escaped();
    Operation(consumer).before(access_of(array), memory);
    if (stays) {
        memory.after_consumer(access_of(array), consumer, holder);
        memory.add_consumer_queue(consumer, holder);
    }
}

// What is left of a producer's stream that may not be touched after the call.
Queue past(const FarQueue &producer) {
    return Queue::past(producer.queue.context(), producer.queue.device(), producer.queue.record());
}

// Of memory that others have, too: an event of a stream that goes takes the way through a queue of ours, unless that would go
// into a graph with it.
void note_shared(const Memory &memory, const FarQueue &producer) {
    if (producer.stays)
        return memory.after(Access::write, producer.queue, producer.queue.submitted());
    if (producer.queue.capture() != 0)
        return memory.after(Access::write, past(producer), 1);
    const Queue ours = Queue::in(memory.context(), memory.device());
    ours.wait_for(producer.queue.record());
    memory.after(Access::write, ours, ours.submitted());
}

}  // namespace

FarQueue queue_of_stream(const Device &device, std::uintptr_t stream) {
    if (device.backend().is_sycl())
        return {Queue::from_native(device.backend(), reinterpret_cast<void *>(stream)), true};
    if (stream <= legacy_stream) [[likely]]
        return {legacy_stream_of(device), true};
    return {wrap_stream(device, stream), stream == thread_stream};
}

std::uintptr_t stream_of(const Queue &queue) {
    void *const native = queue.native();
    return queue.backend().is_sycl() ? reinterpret_cast<std::uintptr_t>(native) : *static_cast<const std::uintptr_t *>(native);
}

void hand_to(const Array &array, const FarQueue &consumer, Memory::Consumer holder) {
    hand_to(array, consumer.queue, consumer.stays, holder);
}

void hand_to_stream(const Array &array, std::uintptr_t stream) {
    const Device &device = array.memory().device();
    if (stream == legacy_stream)
        return hand_to(array, legacy_stream_of(device), true, Memory::Consumer::holds_memory);
    if (stream >= lowest_handle && array.memory().is_quiet() && !array.memory().has_peers() && !device.backend().is_sycl())
        return array.memory().mark_escaped();
    hand_to(array, queue_of_stream(device, stream), Memory::Consumer::holds_memory);
}

void come_behind(const Array &array, const FarQueue &producer) {
    const Memory &memory = array.memory();
    memory.mark_escaped();
    if (memory.is_shared()) [[unlikely]]
        return note_shared(memory, producer);
    if (producer.stays)
        return memory.after_producer(producer.queue);
    memory.after_producer(past(producer));
}

}  // namespace entrepot::exchange
