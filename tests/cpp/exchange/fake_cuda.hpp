// A second fake backend in place of CUDA's driver. Both fakes report all memory as theirs, like
// CUDA and SYCL's CUDA adapter. There is no HIP driver; hip/fake_drivers.hpp has CUDA and HIP.
#pragma once
#include "fake_streams.hpp"

#include <entrepot/array/array.hpp>

#include <cstdint>

namespace entrepot::fake {

inline const Backend &sycl() {
    world().name = "sycl";
    return backend();
}

inline const Backend &cuda() {
    sycl();
    return add_streams("cuda");
}

inline Device cuda_device(std::uint32_t index = 0) { return device_of(cuda(), index); }

// Sixteen floats, which both drivers report as their memory.
struct Claimed {
    Device device;
    float *data;

    explicit Claimed(ep_usm_kind kind, std::uint32_t index = 0) : device(cuda_device(index)) {
        void *block = nullptr;
        cuda().call(&ep_backend::memory_allocate, device.default_context().handle(),
                    device.handle(), kind, 16 * sizeof(float), 0, nullptr, &block);
        data = static_cast<float *>(block);
    }
    ~Claimed() { cuda().api().memory_free(device.default_context().handle(), data, nullptr); }

    // An Array on the memory, as an import makes it.
    Array array(UsmKind kind) const {
        return Array(
            Memory::borrow(data, 16 * sizeof(float), kind, device, device.default_context(), {}),
            data, dtypes::float32, Layout{16});
    }
};

}  // namespace entrepot::fake
