#include <entrepot/device/queue.hpp>

#include <ostream>

#include "core/interpreter_lock.hpp"
#include <entrepot/core/publish.hpp>

namespace entrepot {
namespace {

// True if the runtime lets the device work in the context, which only an attempt can tell.
bool serves(const Context &context, const Device &device) {
    ep_queue probe;
    if (device.backend().status_of(&ep_backend::queue_create, context.handle(), device.handle(), 0,
                                   &probe) != EP_OK)
        return false;
    device.backend().drop(&ep_backend::queue_release, probe);
    return true;
}

}  // namespace

Device Device::root() const noexcept {
    Device device = *this;
    while (device.parent())
        device = device.parent();
    return device;
}

std::vector<Device> Device::partition_equally(std::uint32_t compute_units_each) const {
    if (compute_units_each == 0)
        throw Error(ErrorKind::value, selector(),
                    " cannot be divided into sub-devices of 0 compute units");
    return partition(EP_EQUALLY, {&compute_units_each, 1});
}

std::vector<Device>
Device::partition_by_counts(std::span<const std::uint32_t> compute_units) const {
    std::uint64_t total = 0;
    for (const std::uint32_t count : compute_units)
        total += count;
    if (total == 0)
        throw Error(ErrorKind::value, selector(),
                    " cannot be divided into sub-devices without compute units");
    if (total > info().compute_units)
        throw Error(ErrorKind::value, "the sub-devices ask for ", total, " compute units, ",
                    selector(), " has ", info().compute_units);
    return partition(EP_BY_COUNTS, compute_units);
}

std::vector<Device> Device::partition_by_affinity(ep_affinity domain) const {
    const std::uint32_t number = domain;
    return partition(EP_BY_AFFINITY, {&number, 1});
}

std::vector<Device> Device::partition(ep_partition how,
                                      std::span<const std::uint32_t> counts) const {
    std::size_t count = 0;
    backend().call(&ep_backend::device_partition, handle(), how, counts.data(), counts.size(),
                   nullptr, &count);
    std::vector<ep_device> handles(count);
    backend().call(&ep_backend::device_partition, handle(), how, counts.data(), counts.size(),
                   handles.data(), &count);
    std::vector<Device> devices;
    for (ep_device sub : handles)
        devices.push_back(backend().device(sub));
    return devices;
}

const Context &Device::make_default_context() const {
    const InterpreterLock::Released released;
    if (parent()) {
        const Context &of_root = root().default_context();
        return publish(record_->default_context,
                       serves(of_root, *this) ? of_root : Context::create({this, 1}));
    }
    ep_context context;
    backend().call(&ep_backend::device_default_context, handle(), &context);
    return publish(record_->default_context, Context::adopt(backend(), context));
}

const Queue &Device::make_default_queue() const {
    const InterpreterLock::Released released;
    ep_queue queue;
    backend().call(&ep_backend::queue_create, default_context().handle(), handle(),
                   std::uint32_t{0}, &queue);
    const Queue &made = publish(record_->default_queue, Queue::adopt(backend(), queue, false));
    made.make_immortal();  // not before: if another thread was faster, this queue is destroyed
    return made;
}

bool Device::can_access(const Device &peer) const {
    if (&peer.backend() != &backend())
        return false;
    const InterpreterLock::Released released;
    std::int32_t can = 0;
    backend().call(&ep_backend::peer_can_access, handle(), peer.handle(), &can);
    return can != 0;
}

void *Device::native() const {
    void *native;
    backend().call(&ep_backend::device_native, handle(), &native);
    return native;
}

std::ostream &operator<<(std::ostream &out, const Device &device) {
    return out << (device ? device.selector() : "no device");
}

}  // namespace entrepot
