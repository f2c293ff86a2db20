// The CUDA backend: NVIDIA's GPUs through the driver, linked into libentrepot, which links nothing
// of NVIDIA's.
//
// Its guarantees beyond the contract:
// - Contexts are the devices' primary ones, as in all programs that use CUDA's runtime API. So all
//   libraries in the process can share memory and streams.
// - The caller's current context is the same after every call, on every thread.
// - Host memory is pinned and portable, shared memory is managed, and device memory comes from the
//   driver's stream-ordered pools.
// - Every queue is in order; EP_QUEUE_OUT_OF_ORDER is accepted and has no effect.
#include "backends/cuda/table.hpp"

#include "backends/gpu/native.hpp"

extern "C" ep_status entrepot_cuda_backend(const ep_loader *lent, const ep_backend **backend) {
    return entrepot::backends::cuda::open_backend(lent, backend);
}
