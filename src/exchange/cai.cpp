// CAI: asks the driver about a described pointer, and names the stream for the consumer.
#include <entrepot/exchange/cai.hpp>
#include <entrepot/exchange/stream.hpp>
#include <entrepot/memory/operation.hpp>

#include "exchange/gpu.hpp"

namespace entrepot::cai {
namespace {

using exchange::cuda_devices, exchange::hip_devices, exchange::is_gpu, exchange::GpuDevices;

// The protocol names CUDA, so its driver is asked first, even if another one knows the pointer too.
// HIP libraries use the protocol as well.
const GpuDevices &first_devices() {
    if (const GpuDevices &cuda = cuda_devices()) [[likely]]
        return cuda;
    if (const GpuDevices &hip = hip_devices())
        return hip;
    throw speaker.refusal("it describes memory of CUDA devices, or HIP's, and there are none: ",
                          cuda_devices().reason);
}

void check_stream(const Descriptor &descriptor) {
    if (!descriptor.stream || may_be_stream(*descriptor.stream))
        return;
    throw speaker.refusal("'stream' is ", *descriptor.stream,
                          *descriptor.stream == 0 ? ", which may mean two streams"
                                                  : ", which is no stream",
                          ": 1 is the legacy default stream, 2 that of the thread, any other a "
                          "CUstream or hipStream_t, "
                          "and None says that there is nothing to wait for");
}

// Device of an array without elements: its pointer says nothing about the device.
Device device_of_nothing(const Queue &queue) {
    const GpuDevices &devices = first_devices();
    for (const Device &device : {queue ? queue.device() : Device(), registry::current_device()})
        if (device && is_gpu(device))
            return device;
    return devices.front();
}

Array empty_array(const Descriptor &descriptor, Dtype dtype, Layout &&layout, Owner &&owner,
                  const Queue &queue) {
    const Device device = device_of_nothing(queue);
    Memory memory = Memory::borrow(descriptor.data, 0, UsmKind::device, device,
                                   device.default_context(), std::move(owner));
    return Array(std::move(memory), descriptor.data, dtype, std::move(layout), descriptor.read_only,
                 queue);
}

struct Answer {
    ep_allocation found{};
    const Device *asked;
};

// CUDA's and HIP's drivers know the memory of all their devices, whichever device is asked.
Answer ask(const Device &device, const exchange::Reach &reach) {
    return {
        device.default_context().query(reach.lowest, reach.bytes, EP_QUERY_DEVICE | EP_QUERY_SIZE),
        &device};
}

Answer ask(const exchange::Reach &reach) {
    const GpuDevices &first = first_devices();
    Answer answer = ask(first.front(), reach);
    if (answer.found.kind == EP_USM_UNKNOWN) [[unlikely]]
        if (const GpuDevices &hip = hip_devices(); hip && &hip != &first)
            answer = ask(hip.front(), reach);
    return answer;
}

Device device_of(const Answer &answer) {
    if (answer.found.device == answer.asked->handle()) [[likely]]
        return *answer.asked;
    const Device known = answer.asked->backend().device(answer.found.device);
    return known ? known : *answer.asked;
}

[[noreturn]] void refuse_unknown(const void *lowest) {
    throw speaker.refusal("pointer ", Hex(lowest), " is unknown to CUDA's driver",
                          hip_devices() ? " and to HIP's" : "",
                          ": it is the host's, or freed already; memory of the ",
                          "host goes by __array_interface__ or DLPack");
}

[[noreturn]] void refuse_outside(const ep_allocation &found, const exchange::Reach &reach,
                                 const Layout &layout) {
    throw speaker.refusal("elements of ", layout, " need the ", reach.bytes, " bytes from ",
                          Hex(reach.lowest), ", but the allocation there has ", found.size,
                          " bytes from ", Hex(found.base),
                          "; 'strides' are in bytes, not elements");
}

Memory borrow(const exchange::Reach &reach, const Layout &layout, const Device &said,
              Owner &&owner) {
    if (said)
        return Memory::borrow(reach.lowest, reach.bytes, Memory::kind_unasked, said,
                              said.default_context(), std::move(owner));
    const Answer answer = ask(reach);
    if (answer.found.kind == EP_USM_UNKNOWN)
        refuse_unknown(reach.lowest);
    if (answer.found.contained == 0)
        refuse_outside(answer.found, reach, layout);
    const Device device = device_of(answer);
    return Memory::borrow(reach.lowest, reach.bytes, static_cast<UsmKind>(answer.found.kind),
                          device, device.default_context(), std::move(owner));
}

// Sets the owner of the memory: the object's library, else the stream that it names, else the
// legacy default stream. A named stream lives as long as the object is in use ("Lifetime", version
// 3).
void set_owner(const Memory &memory, const Descriptor &descriptor) {
    if (descriptor.library || descriptor.stream.value_or(legacy_stream) == legacy_stream)
        return memory.set_owner_library(descriptor.library.value_or(legacy_library));
    const Queue queue = exchange::queue_of_stream(memory.device(), *descriptor.stream);
    if (queue.may_be_destroyed())
        memory.set_owner_stream(*descriptor.stream);
    else
        memory.set_owner_queue(queue);
}

// Libraries that read the dict without its stream: their current streams wait for the work on the
// array here.
void order_libraries_that_ignore_streams(const Array &array) {
    const LibrarySet libraries = consumer_libraries();
    for (unsigned library = 0; libraries >> library != 0; ++library)
        if (libraries >> library & 1 && !stream_library(library).waits_for_cai_stream)
            if (const Queue current = current_stream_of(library, array.device()))
                order_export(array.access(), array.memory(), current);
}

}  // namespace

Array verify(const Descriptor &descriptor, Owner owner, const Queue &queue) {
    check_stream(descriptor);
    const Dtype dtype = descriptor.dtype;
    Layout layout =
        exchange::layout_of_bytes(speaker, descriptor.shape, descriptor.strides, dtype.itemsize());
    if (layout.size() == 0)
        return empty_array(descriptor, dtype, std::move(layout), std::move(owner), queue);

    exchange::check_alignment(speaker, descriptor.data, dtype);
    const exchange::Reach reach =
        exchange::reach_of(speaker, layout, descriptor.data, dtype.itemsize());
    Memory memory = borrow(reach, layout, descriptor.device, std::move(owner));
    Array array(std::move(memory), descriptor.data, dtype, std::move(layout), descriptor.read_only,
                queue);
    set_owner(array.memory(), descriptor);
    if (descriptor.stream)
        exchange::wait_for_producer_stream(array, *descriptor.stream);
    return array;
}

std::optional<std::uintptr_t> stream_for_consumer(const Array &array) {
    if (!is_gpu(array.device()) || array.is_device_view())
        throw speaker.refusal(
            "this is ", array.kind(), " memory of ", array.device(),
            ", and the CUDA array interface describes memory of CUDA and HIP devices only");
    constexpr Memory::Consumer holder = Memory::Consumer::holds_object;
    if (array.memory().is_ready_for_export(array.access())) {
        exchange::record_unordered_export(array, holder);
        return std::nullopt;
    }
    const Queue queue = array.queue();
    exchange::synchronize_consumer(array, queue, holder,
                                   exchange::possible_consumers(array, holder));
    order_libraries_that_ignore_streams(array);
    const std::uintptr_t stream = exchange::stream_of(queue);
    // HIP's default stream is 0, which the protocol forbids.
    return stream == 0 ? legacy_stream : stream;
}

}  // namespace entrepot::cai
