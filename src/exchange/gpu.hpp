// CUDA's and HIP's devices, for protocols that do not say which of the two their memory belongs to.
#pragma once
#include <entrepot/device/registry.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace entrepot::exchange {

// A backend's devices; false if the backend is absent or has none. The list is never freed.
struct GpuDevices {
    const std::vector<Device> *list = nullptr;
    std::string reason;  // why there are none

    explicit operator bool() const noexcept { return list != nullptr; }
    const Device &front() const { return list->front(); }
};

// A found list is cached, since a lookup takes as long as asking the driver. A missing one is not:
// a busy driver may become available. Its result is valid until this thread asks again.
const GpuDevices &cuda_devices();
const GpuDevices &hip_devices();

// True for devices of CUDA and HIP.
bool is_gpu(const Device &device);
// The devices of the other of the two backends; nullptr for a third backend.
const GpuDevices *other_devices(std::string_view backend);

}  // namespace entrepot::exchange
