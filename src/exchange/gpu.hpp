// The devices of CUDA and of HIP, for protocols that do not say whose of the two their memory is: the drivers are asked.
#pragma once
#include <entrepot/device/registry.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace entrepot::exchange {

// A backend's devices; none where it is absent or sees none. The list lives as long as the process.
struct GpuDevices {
    const std::vector<Device> *list = nullptr;
    std::string reason;  // why there are none

    explicit operator bool() const noexcept { return list != nullptr; }
    const Device &front() const { return list->front(); }
};

// What was found is kept: looking it up takes as long as asking the driver. Where nothing was, the next one asks again, for a
// driver that is busy may come; that answer lasts until this thread asks again.
const GpuDevices &cuda_devices();
const GpuDevices &hip_devices();

// Whether the device is of one of the two.
bool is_gpu(const Device &device);
// The devices of the one that the backend is not; nullptr where it is neither of the two.
const GpuDevices *other_devices(std::string_view backend);

}  // namespace entrepot::exchange
