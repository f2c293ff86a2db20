// CAI: the driver's word on a described pointer, and the stream that orders a consumer's work.
#include <entrepot/exchange/cai.hpp>
#include <entrepot/exchange/stream.hpp>

#include <atomic>
#include <string_view>

namespace entrepot::cai {
namespace {

// The protocol's name says CUDA, so its driver is asked first, whoever else claims the pointer.
constexpr std::string_view backend_name = "cuda";

bool is_cuda(const Device &device) { return device.backend().name() == backend_name; }

const std::vector<Device> &cuda_devices() {
    static std::atomic<const std::vector<Device> *> known{nullptr};  // looking them up takes as long as asking the driver
    if (const std::vector<Device> *const devices = known.load(std::memory_order_acquire)) [[likely]]
        return *devices;
    try {
        const std::vector<Device> &devices = registry::devices(registry::backend(backend_name));
        known.store(&devices, std::memory_order_release);
        return devices;
    } catch (const Error &error) {
        throw speaker.refusal("it describes memory of CUDA devices, and there are none: ", error.what());
    }
}

void check_stream(const Descriptor &descriptor) {
    if (!descriptor.stream || may_be_stream(*descriptor.stream))
        return;
    throw speaker.refusal(
        "'stream' is ", *descriptor.stream, *descriptor.stream == 0 ? ", which may mean two streams" : ", which is no stream",
        ": 1 is the legacy default stream, 2 that of the thread, any other a CUstream, and None says that there is "
        "nothing to wait for");
}

// A consumer can only ask where it would be.
Device device_of_nothing(const Queue &queue) {
    const std::vector<Device> &devices = cuda_devices();
    for (const Device &device : {queue ? queue.device() : Device(), registry::current_device()})
        if (device && is_cuda(device))
            return device;
    return devices.front();
}

Array empty_array(const Descriptor &descriptor, Dtype dtype, Layout &&layout, Owner &&owner, const Queue &queue) {
    const Device device = device_of_nothing(queue);
    Memory memory = Memory::borrow(descriptor.data, 0, UsmKind::device, device, device.default_context(), std::move(owner));
    return Array(std::move(memory), descriptor.data, dtype, std::move(layout), descriptor.read_only, queue);
}

// The driver answers for all of its devices, whichever is asked.
ep_allocation ask(const exchange::Reach &reach) {
    return cuda_devices().front().default_context().query(reach.lowest, reach.bytes, EP_QUERY_DEVICE | EP_QUERY_SIZE);
}

[[noreturn]] void refuse_unknown(const void *lowest) {
    throw speaker.refusal("pointer ", Hex(lowest),
                          " is unknown to CUDA's driver: it is the host's, or freed already; memory of the ",
                          "host goes by __array_interface__ or DLPack");
}

[[noreturn]] void refuse_outside(const ep_allocation &found, const exchange::Reach &reach, const Layout &layout) {
    throw speaker.refusal("elements of ", layout, " need the ", reach.bytes, " bytes from ", Hex(reach.lowest),
                          ", but the allocation there has ", found.size, " bytes from ", Hex(found.base),
                          "; 'strides' are in bytes, not elements");
}

}  // namespace

Array verify(const Descriptor &descriptor, Owner owner, const Queue &queue) {
    check_stream(descriptor);
    const Dtype dtype = descriptor.dtype;
    Layout layout = exchange::layout_of_bytes(speaker, descriptor.shape, descriptor.strides, dtype.itemsize());
    if (layout.size() == 0)
        return empty_array(descriptor, dtype, std::move(layout), std::move(owner), queue);

    exchange::check_alignment(speaker, descriptor.data, dtype);
    const exchange::Reach reach = exchange::reach_of(speaker, layout, descriptor.data, dtype.itemsize());
    const ep_allocation found = ask(reach);
    if (found.kind == EP_USM_UNKNOWN)
        refuse_unknown(reach.lowest);
    if (found.contained == 0)
        refuse_outside(found, reach, layout);

    const Device known = cuda_devices().front().backend().device(found.device);
    const Device &device = known ? known : cuda_devices().front();
    Memory memory = Memory::borrow(reach.lowest, reach.bytes, static_cast<UsmKind>(found.kind), device, device.default_context(),
                                   std::move(owner));
    Array array(std::move(memory), descriptor.data, dtype, std::move(layout), descriptor.read_only, queue);
    if (descriptor.stream)
        exchange::come_behind_stream(array, *descriptor.stream);
    return array;
}

std::optional<std::uintptr_t> hand_over(const Array &array, Memory::Wait wait) {
    if (!is_cuda(array.device()))
        throw speaker.refusal("this is ", array.kind(), " memory of ", array.device(),
                              ", and the CUDA array interface describes memory of CUDA devices only");
    array.memory().mark_escaped();
    if (array.memory().is_ready_for_host(array.read_only() ? Access::read : Access::write))
        return std::nullopt;
    const Queue queue = array.queue();
    exchange::hand_to(array, {queue, false}, wait);  // the consumer's work goes elsewhere
    return exchange::stream_of(queue);
}

}  // namespace entrepot::cai
