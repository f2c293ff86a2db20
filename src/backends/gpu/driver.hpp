// The driver of this compilation: HIP's if ENTREPOT_HIP_DRIVER is defined, else CUDA's.
//
// The code shared by CUDA and HIP, which is nearly all, is in this folder and is compiled for each
// of the two. HIP follows CUDA's driver API function by function. The sources use CUDA's names,
// which backends/hip/driver.hpp maps to HIP's.
//
// Both compilations define the namespace entrepot::backends::gpu, with different types behind equal
// names. The one definition rule therefore forbids linking them together. Each is a plugin, whose
// names are local except the entry point (backends/exports.map). Alternatives considered: a macro
// as the namespace hides names from grep and editors, and templates over the driver would move all
// of this folder to headers.
#pragma once

#ifdef ENTREPOT_HIP_DRIVER
#include "backends/hip/driver.hpp"
#else
#include "backends/cuda/driver.hpp"
#endif

namespace entrepot::backends::gpu {

constexpr ep_status status_of(CUresult code) {
    switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return EP_OUT_OF_MEMORY;
    case CUDA_ERROR_NOT_SUPPORTED:
        return EP_UNSUPPORTED;
    default:
        return EP_DEVICE_ERROR;
    }
}

// Set by member: headers of CUDA 13 have the id in a union, others do not.
inline CUmemLocation location_on(CUdevice device) {
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device;
    return location;
}

}  // namespace entrepot::backends::gpu
