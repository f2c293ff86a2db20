// The CUDA backend: NVIDIA's GPUs through the driver, linked into libentrepot, which links nothing of NVIDIA's.
//
// What it promises beyond the contract:
//  - Contexts are the devices' primary ones, as everybody's are who uses CUDA's runtime: memory and streams of all libraries in
//    the process are of one kind.
//  - The caller's current context is left as it was found, on every thread and after every call.
//  - Host memory is pinned and portable, shared memory is managed, device memory comes from the driver's stream-ordered pools.
//  - Every queue is in order; EP_QUEUE_OUT_OF_ORDER is granted by keeping the order.
#include "backends/cuda/table.hpp"

#include "backends/gpu/native.hpp"

extern "C" ep_status entrepot_cuda_backend(const ep_loader *lent, const ep_backend **backend) {
    return entrepot::backends::cuda::open_backend(lent, backend);
}
