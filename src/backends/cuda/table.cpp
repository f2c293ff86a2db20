// The CUDA backend: NVIDIA's GPUs through the driver, linked into libentrepot, which links nothing of NVIDIA's.
//
// What it promises beyond the contract:
//  - Contexts are the devices' primary ones, as everybody's are who uses CUDA's runtime: memory and streams of all libraries in
//    the process are of one kind.
//  - The caller's current context is left as it was found, on every thread and after every call.
//  - Host memory is pinned and portable, shared memory is managed, device memory comes from the driver's stream-ordered pools.
//  - Every queue is in order; EP_QUEUE_OUT_OF_ORDER is granted by keeping the order.
#include "backends/cuda/table.hpp"

#include "backends/cuda/native.hpp"

namespace entrepot::backends::cuda {

static ep_backend make_table() {
    ep_backend table{};
    table.size = sizeof table;
    table.version = EP_BACKEND_VERSION;
    table.name = "cuda";
    enter_devices(table);
    enter_contexts(table);
    enter_queues(table);
    enter_events(table);
    enter_memory(table);
    enter_programs(table);
    enter_peer(table);
    enter_ipc(table);
    return table;
}

}  // namespace entrepot::backends::cuda

extern "C" ep_status entrepot_cuda_backend(const ep_loader *lent, const ep_backend **backend) {
    using namespace entrepot::backends;
    if (lent->version != EP_BACKEND_VERSION) {
        lent->set_error("the CUDA backend and the library that loads it were built from different versions of device/backend.h");
        return EP_UNAVAILABLE;
    }
    loader = lent;
    return guarded([&] {
        cuda::open_driver();
        static const ep_backend table = cuda::make_table();
        *backend = &table;
    });
}
