// The HIP backend: AMD's GPUs through the HIP runtime, linked into libentrepot, which links nothing of AMD's.
//
// It is compiled from the same sources as the CUDA backend (backends/gpu) and promises the same, but for this:
//  - HIP has one context for each device, which everybody shares; the caller's current device is left as it was found.
//  - The default stream is NULL, and has no other number.
//  - Nothing marks all work of a device, no code says how many parameters a kernel takes, and there are no clusters.
//  - Memory for other processes comes from HIP 6 on; what hipMalloc gave goes by the runtime's own handles.
#include "backends/hip/table.hpp"

#include "backends/gpu/native.hpp"

extern "C" ep_status entrepot_hip_backend(const ep_loader *lent, const ep_backend **backend) {
    return entrepot::backends::hip::open_backend(lent, backend);
}

extern "C" const char *entrepot_hip_library() { return entrepot::backends::hip::driver().path.c_str(); }
