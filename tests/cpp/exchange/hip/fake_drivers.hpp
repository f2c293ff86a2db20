// Two fake drivers: CUDA's with the first device, HIP's with the second. Each reports the memory of
// its own device, in all contexts. With `claims_all` it reports the memory of both, like HIP's
// runtime on CUDA.
#pragma once
#include "fake_backend.hpp"

#include <entrepot/array/array.hpp>

namespace entrepot::fake {

struct Driver {
    const char *name;
    std::uint32_t place;      // index of its device in the fake
    bool has_device = true;   // set before the first call
    bool claims_all = false;  // may change at any time
    int asked = 0;            // number of memory queries
};
inline Driver cuda_driver{"cuda", 0}, hip_driver{"hip", 1};

template <Driver &driver> ep_backend driver_table() {
    world().roots = {{"cuda", EP_GPU}, {"hip", EP_GPU}};
    ep_backend entries = table();
    entries.name = driver.name;
    entries.device_count = [](std::uint32_t *count) {
        *count = driver.has_device ? 1 : 0;
        return EP_OK;
    };
    entries.device_at = [](std::uint32_t index, ep_device *device) {
        return table().device_at(index + driver.place, device);
    };
    entries.memory_query = [](ep_context, const void *pointer, std::size_t bytes,
                              std::uint32_t flags, ep_allocation *found) {
        ++driver.asked;
        *found = {};
        const auto row = world().allocations.lower_bound(reinterpret_cast<std::uintptr_t>(pointer));
        if (row == world().allocations.end())
            return EP_OK;
        if (!driver.claims_all && row->second.device != world().devices[driver.place].get())
            return EP_OK;
        return table().memory_query(row->second.context, pointer, bytes, flags, found);
    };
    return entries;
}

inline const Backend &cuda() {
    static const ep_backend made = driver_table<cuda_driver>();
    static const Backend &added = registry::add(&made);
    return added;
}

inline const Backend &hip() {
    static const ep_backend made = driver_table<hip_driver>();
    static const Backend &added = registry::add(&made);
    return added;
}

inline Device device_of(const Backend &backend) {
    ep_device handle = nullptr;
    backend.call(&ep_backend::device_at, 0u, &handle);
    return backend.device(handle);
}

// Sixteen floats on a driver's device.
struct Block {
    Device device;
    float *data;

    explicit Block(const Backend &backend, ep_usm_kind kind = EP_USM_DEVICE)
        : device(device_of(backend)) {
        void *block = nullptr;
        backend.call(&ep_backend::memory_allocate, device.default_context().handle(),
                     device.handle(), kind, 16 * sizeof(float), 0, nullptr, &block);
        data = static_cast<float *>(block);
    }
    ~Block() {
        device.backend().api().memory_free(device.default_context().handle(), data, nullptr);
    }
};

}  // namespace entrepot::fake
