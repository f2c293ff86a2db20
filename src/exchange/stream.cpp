// Streams of SYCL, CUDA and HIP as queues and back, and the ordering of exports and imports.
#include <entrepot/exchange/stream.hpp>

#include <entrepot/memory/operation.hpp>

namespace entrepot::exchange {
namespace {

// For memory with other references: records the producer's work as a write. If its stream may be
// destroyed after the call, one of Entrepot's queues waits for its event and stands for it. A
// capturing stream would pull that queue into its graph, so its event is used directly.
void note_shared(const Array &array, const Queue &producer) {
    const Memory &memory = array.memory();
    if (!producer.may_be_destroyed())
        return memory.record_access(Access::write, producer, producer.take_position());
    if (producer.capture() != 0)
        return memory.record_access(Access::write, producer.as_event_queue(), 1);
    const Queue ours = Queue::for_context(array.context(), array.device());
    ours.wait_for(producer.record());
    memory.record_access(Access::write, ours, ours.take_position());
}

}  // namespace

Queue queue_of_stream(const Device &device, std::uintptr_t stream) {
    if (device.backend().is_sycl())
        return Queue::from_native(device.backend(), reinterpret_cast<void *>(stream));
    if (stream <= legacy_stream) [[likely]]
        return legacy_stream_of(device);
    return wrap_stream(device, stream);
}

std::uintptr_t stream_of(const Queue &queue) {
    void *const native = queue.native();
    return queue.backend().is_sycl() ? reinterpret_cast<std::uintptr_t>(native)
                                     : *static_cast<const std::uintptr_t *>(native);
}

// A consumer that holds an object and names no stream may use the legacy default stream of CUDA and
// HIP, as Numba does.
LibrarySet possible_consumers(const Array &array, Memory::Consumer holder) noexcept {
    const Backend &backend = array.device().backend();
    if (backend.is_host() || array.is_device_view())
        return 0;
    const bool may_be_on_legacy = holder == Memory::Consumer::holds_object && !backend.is_sycl();
    return static_cast<LibrarySet>(consumer_libraries() &
                                   (may_be_on_legacy ? ~0u : ~unsigned{legacy_library_set}));
}

// The consumer may submit more later. A queue that stays valid can be asked for that work.
void synchronize_consumer(const Array &array, const Queue &consumer, Memory::Consumer holder,
                          LibrarySet libraries) {
    const Memory &memory = array.memory();
    memory.mark_escaped();
    order_export(array.access(), memory, consumer);
    if (!consumer.may_be_destroyed()) {
        memory.record_consumer(array.access(), consumer, holder);
        if (consumer.is_default_stream())
            libraries |= legacy_library_set;
        else
            memory.add_consumer_queue(consumer, holder);
    }
    memory.add_consumers(libraries, holder);
}

void synchronize_consumer_stream(const Array &array, std::uintptr_t stream) {
    constexpr Memory::Consumer holder = Memory::Consumer::holds_memory;
    const Memory &memory = array.memory();
    const Device &device = array.device();
    if (stream >= lowest_handle && memory.has_no_pending_access() && !memory.has_owner_stream() &&
        !device.backend().is_sycl())
        return record_unordered_export(array, holder);
    synchronize_consumer(array, queue_of_stream(device, stream), holder,
                         possible_consumers(array, holder));
}

void record_unordered_export(const Array &array, Memory::Consumer holder) {
    array.memory().mark_escaped();
    array.memory().add_consumers(possible_consumers(array, holder), holder);
}

void wait_for_producer(const Array &array, const Queue &producer) {
    const Memory &memory = array.memory();
    memory.mark_escaped();
    if (memory.is_shared()) [[unlikely]]
        return note_shared(array, producer);
    memory.record_producer(producer.may_be_destroyed() ? producer.as_event_queue() : producer);
}

}  // namespace entrepot::exchange
