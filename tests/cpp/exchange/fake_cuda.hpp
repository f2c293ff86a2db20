// The fake backend a second time, as CUDA's driver: it claims whatever SYCL's claims, as SYCL's adapter for CUDA and CUDA do.
//
// What differs is what CUDA is: every context answers for all memory, streams are named by a handle, and two of them by numbers.
// HIP's driver is absent: hip/fake_drivers.hpp has both.
#pragma once
#include "fake_backend.hpp"

#include <entrepot/array/array.hpp>

#include <cstdint>
#include <map>

namespace entrepot::fake {

inline const Backend &sycl() {
    world().name = "sycl";
    return backend();
}

struct Streams {
    std::map<std::pair<std::uintptr_t, ep_context>, ep_queue> by_number;  // 1 and 2 of each context; one reference each
    std::map<ep_queue, std::uintptr_t> handles;                           // what queue_native points to
    int wrapped = 0;                                                      // how often a handle was looked at
};

inline Streams &streams() {
    static auto *only = new Streams;
    return *only;
}

inline ep_queue stream_at(std::uintptr_t number, ep_context context) {
    if (number > 2)
        return reinterpret_cast<ep_queue>(number);
    ep_queue &known = streams().by_number[{number == 0 ? 1 : number, context}];
    if (!known) {
        known = new ep_queue_s;
        known->context = context;
        ++context->references;
        known->device = context->devices.front();
        world().queues.push_back(known);
        ++world().alive.queues;
    }
    return known;
}

inline const ep_backend &cuda_table() {
    static const ep_backend made = [] {
        sycl();
        ep_backend entries = table();
        entries.name = "cuda";
        entries.queue_from_native = [](ep_context context, void *native, ep_queue *queue) {
            return guarded([&](World &w) {
                ++streams().wrapped;
                *queue = stream_at(*static_cast<const std::uintptr_t *>(native), context ? context : w.default_contexts.front());
                ++(*queue)->references;
            });
        };
        entries.queue_native = [](ep_queue queue, void **native) {
            return guarded([&](World &) {
                std::uintptr_t &handle = streams().handles[queue] = reinterpret_cast<std::uintptr_t>(queue);
                for (const auto &[key, known] : streams().by_number)
                    if (known == queue)
                        handle = key.first;
                *native = &handle;
            });
        };
        entries.memory_query = [](ep_context, const void *pointer, std::size_t bytes, std::uint32_t flags, ep_allocation *found) {
            const auto row = world().allocations.lower_bound(reinterpret_cast<std::uintptr_t>(pointer));
            const ep_context where = row == world().allocations.end() ? world().default_contexts.front() : row->second.context;
            return table().memory_query(where, pointer, bytes, flags, found);
        };
        return entries;
    }();
    return made;
}

inline const Backend &cuda() {
    static const Backend &added = registry::add(&cuda_table());
    return added;
}

inline Device cuda_device(std::uint32_t index = 0) {
    ep_device handle = nullptr;
    cuda().call(&ep_backend::device_at, index, &handle);
    return cuda().device(handle);
}

// Sixteen floats that both drivers claim.
struct Claimed {
    Device device;
    float *data;

    explicit Claimed(ep_usm_kind kind, std::uint32_t index = 0) : device(cuda_device(index)) {
        void *block = nullptr;
        cuda().call(&ep_backend::memory_allocate, device.default_context().handle(), device.handle(), kind, 16 * sizeof(float), 0,
                    nullptr, &block);
        data = static_cast<float *>(block);
    }
    ~Claimed() { cuda().api().memory_free(device.default_context().handle(), data, nullptr); }

    // The Array that a program of ours would have on it.
    Array array(UsmKind kind) const {
        return Array(Memory::borrow(data, 16 * sizeof(float), kind, device, device.default_context(), {}), data, dtypes::float32,
                     Layout{16});
    }
};

}  // namespace entrepot::fake
