#include "exchange/gpu.hpp"

#include <entrepot/core/publish.hpp>

#include <atomic>

namespace entrepot::exchange {
namespace {

constexpr char cuda[] = "cuda", hip[] = "hip";

template <const char *backend> const GpuDevices &devices_of() {
    static constinit std::atomic<const GpuDevices *> kept{nullptr};
    if (const GpuDevices *const known = kept.load(std::memory_order_acquire)) [[likely]]
        return *known;
    thread_local GpuDevices none;
    try {
        const std::vector<Device> &devices = registry::devices(registry::backend(backend));
        if (!devices.empty())
            return publish(kept, GpuDevices{&devices, {}});
        none.reason = "the driver lists none";
    } catch (const Error &error) {
        none.reason = error.what();
    }
    return none;
}

}  // namespace

const GpuDevices &cuda_devices() { return devices_of<cuda>(); }
const GpuDevices &hip_devices() { return devices_of<hip>(); }

bool is_gpu(const Device &device) {
    const std::string_view backend = device.backend().name();
    return backend == cuda || backend == hip;
}

const GpuDevices *other_devices(std::string_view backend) {
    return backend == cuda ? &hip_devices() : backend == hip ? &cuda_devices() : nullptr;
}

}  // namespace entrepot::exchange
