// The HIP backend: AMD's GPUs through the HIP runtime, linked into libentrepot, which links nothing
// of AMD's.
//
// It is compiled from the sources of the CUDA backend (backends/gpu) and has the same guarantees,
// except:
// - HIP has one context for each device, shared by all libraries. The caller's current device is
//   the same after every call.
// - The default stream is NULL, and has no other number.
// - There is no event for all work of a device, no query for a kernel's parameters, and no cluster.
// - Sharing memory by file needs HIP 6. Memory of hipMalloc is shared by the runtime's own handles.
#include "backends/hip/table.hpp"

#include "backends/gpu/native.hpp"

extern "C" ep_status entrepot_hip_backend(const ep_loader *lent, const ep_backend **backend) {
    return entrepot::backends::hip::open_backend(lent, backend);
}

extern "C" const char *entrepot_hip_library() {
    return entrepot::backends::hip::driver().path.c_str();
}
