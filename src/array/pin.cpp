// Pinned arrays: finds the bytes of the elements, and pins them.
#include <entrepot/array/pin.hpp>

#include <entrepot/memory/pin.hpp>

namespace entrepot {

Array pin(const Array &array, const Device &device) {
    const Memory &memory = array.memory();
    if (memory.device() == device && array.is_host_accessible())
        return array.device() == device
                   ? array
                   : Array(memory, array.data(), array.dtype(), array.layout(), array.read_only());
    if (device.backend().is_host() && array.is_host_accessible())
        return array.host();
    if (!memory.device().backend().is_host())
        throw Error(ErrorKind::exchange, "pin: the memory is ", memory.kind(), " memory of ",
                    memory.device(), ", and only the process's own host memory is pinned",
                    memory.device() == device ? ": the device uses its own memory as it is"
                                              : ": copy it with .to(device)");
    if (array.size() == 0)
        return device.has(EP_READS_HOST_MEMORY) ? array.on_device(device)
                                                : array.pinned_for(device);

    const ByteRange range = array.layout().byte_range(array.itemsize());
    std::byte *const lowest = static_cast<std::byte *>(array.data()) + range.begin;
    return pin(memory, lowest, static_cast<std::size_t>(range.end - range.begin), array.read_only(),
               device)
               ? array.pinned_for(device)
               : array.on_device(device);
}

}  // namespace entrepot
