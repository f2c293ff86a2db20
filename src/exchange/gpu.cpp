#include "exchange/gpu.hpp"

#include <atomic>

namespace entrepot::exchange {
namespace {

// What was found is kept; where nothing was, the next one asks again, for a driver that is busy may come.
class Known {
public:
    explicit constexpr Known(const char *backend) : backend_(backend) {}

    const GpuDevices &get() {
        if (const GpuDevices *const found = found_.load(std::memory_order_acquire)) [[likely]]
            return *found;
        thread_local GpuDevices none;
        try {
            const std::vector<Device> &devices = registry::devices(registry::backend(backend_));
            if (!devices.empty())
                return remember(devices);
            none.reason = "the driver lists none";
        } catch (const Error &error) {
            none.reason = error.what();
        }
        return none;
    }

private:
    // Two threads that meet here make the same answer twice, which is harmless.
    const GpuDevices &remember(const std::vector<Device> &devices) {
        auto *const made = new GpuDevices{&devices, {}};
        found_.store(made, std::memory_order_release);
        return *made;
    }

    const char *const backend_;
    std::atomic<const GpuDevices *> found_{nullptr};
};

}  // namespace

const GpuDevices &cuda_devices() {
    static constinit Known known("cuda");
    return known.get();
}

const GpuDevices &hip_devices() {
    static constinit Known known("hip");
    return known.get();
}

}  // namespace entrepot::exchange
