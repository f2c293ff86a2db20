// SUAI: asks the driver about a described pointer, and picks the queue for the consumer.
#include <entrepot/exchange/host_view.hpp>
#include <entrepot/exchange/stream.hpp>
#include <entrepot/exchange/suai.hpp>

namespace entrepot::suai {
namespace {

// The device of an allocation in the context. Asking the driver for it costs as much as both
// questions about the pointer, so it is asked only if the context has several devices.
Device device_of(const Descriptor &descriptor, const ep_allocation &found) {
    if (found.device)
        return descriptor.context.backend().device(found.device);
    return descriptor.queue ? descriptor.queue.device() : descriptor.context.devices().front();
}

// An array without elements: no driver is asked, and the pointer says nothing about the device.
Array empty_array(const Descriptor &descriptor, void *first, Dtype dtype, Layout &&layout,
                  Owner &&owner) {
    Memory memory = Memory::borrow(first, 0, UsmKind::device, device_of(descriptor, {}),
                                   descriptor.context, std::move(owner));
    return Array(std::move(memory), first, dtype, std::move(layout), descriptor.read_only,
                 descriptor.queue);
}

[[noreturn]] void refuse_unknown(const Descriptor &descriptor, const void *lowest) {
    throw speaker.refusal("pointer ", Hex(lowest), " is not USM memory of ", descriptor.context,
                          "; it may be bound to another context (each sub-device has its own), or "
                          "be freed already: export it with the "
                          "queue or context that it was allocated in");
}

[[noreturn]] void refuse_outside(const Descriptor &descriptor, const exchange::Reach &reach,
                                 const Layout &layout) {
    const ep_allocation found = descriptor.context.query(reach.lowest, 1, EP_QUERY_SIZE);
    throw speaker.refusal("elements of ", layout, " need the ", reach.bytes, " bytes from ",
                          Hex(reach.lowest), ", but the allocation there has ", found.size,
                          " bytes from ", Hex(found.base),
                          "; strides and offset are in elements, not bytes");
}

void check_inside_buffer(const Descriptor &descriptor, const Layout &layout, void *first,
                         std::int64_t itemsize) {
    if (layout.size() == 0)
        return;
    const exchange::Reach reach = exchange::reach_of(speaker, layout, first, itemsize);
    if (!exchange::is_inside(reach, descriptor.data, descriptor.buffer_bytes))
        throw speaker.refusal("the dict has no 'data', so the object's buffer is meant, which has ",
                              descriptor.buffer_bytes, " bytes; elements of ", layout,
                              " with offset ", descriptor.offset,
                              " leave it (strides and offset are in elements, not bytes)");
}

// The kind is queried on demand, because many consumers never need it.
ep_allocation ask(const Context &context, const exchange::Reach &reach) {
    const bool has_choice = context.devices().size() > 1;
    return context.query(reach.lowest, reach.bytes,
                         has_choice ? EP_QUERY_DEVICE : EP_QUERY_KIND_LATER);
}

Queue queue_in_context(const Array &array) {
    if (array.has_own_queue() && array.queue().context() == array.context())
        return array.queue();
    return Queue::for_context(array.context(), array.device());
}

}  // namespace

Array verify(Descriptor descriptor, Owner owner) {
    const Dtype dtype = dtype_from_typestr(descriptor.typestr);
    Layout layout = exchange::layout_of_elements(speaker, descriptor.shape, descriptor.strides);
    void *const first =
        exchange::offset_by(speaker, descriptor.data, descriptor.offset, dtype.itemsize());
    const bool from_buffer = descriptor.buffer_bytes >= 0;
    if (from_buffer)
        check_inside_buffer(descriptor, layout, first, dtype.itemsize());
    if (!descriptor.context) {
        if (!from_buffer)
            throw speaker.refusal(
                "'syclobj' is missing: it names the context that the pointer is bound to");
        return exchange::view_host(speaker, first, dtype, std::move(layout), descriptor.read_only,
                                   std::move(owner), {});
    }
    if (layout.size() == 0)
        return empty_array(descriptor, first, dtype, std::move(layout), std::move(owner));

    exchange::check_alignment(speaker, first, dtype);
    const exchange::Reach reach = exchange::reach_of(speaker, layout, first, dtype.itemsize());
    const ep_allocation found = ask(descriptor.context, reach);
    if (found.kind == EP_USM_UNKNOWN && from_buffer)
        return exchange::view_host(speaker, first, dtype, std::move(layout), descriptor.read_only,
                                   std::move(owner), {});
    if (found.kind == EP_USM_UNKNOWN)
        refuse_unknown(descriptor, reach.lowest);
    if (found.contained == 0)
        refuse_outside(descriptor, reach, layout);

    const Device device = device_of(descriptor, found);
    Memory memory = Memory::borrow(reach.lowest, reach.bytes, static_cast<UsmKind>(found.kind),
                                   device, std::move(descriptor.context), std::move(owner));
    // The producer's queue holds work that was not counted here: one more position stands for all
    // of it.
    if (descriptor.queue) {
        memory.record_producer(descriptor.queue);
        memory.set_owner_queue(descriptor.queue);
    }
    return Array(std::move(memory), first, dtype, std::move(layout), descriptor.read_only,
                 std::move(descriptor.queue));
}

Queue queue_for_consumer(const Array &array) {
    if (!array.context().backend().is_sycl() || array.is_device_view())
        throw speaker.refusal("this is ", array.kind(), " memory of ", array.device(),
                              ", and SUAI describes SYCL USM only");
    Queue queue = queue_in_context(array);
    exchange::synchronize_consumer(array, queue);
    return queue;
}

}  // namespace entrepot::suai
