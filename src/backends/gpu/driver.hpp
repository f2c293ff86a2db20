// The driver and the run-time compiler of this compilation: HIP's if ENTREPOT_HIP_DRIVER is
// defined, else CUDA's.
//
// The code shared by CUDA and HIP, which is nearly all, is in this folder and is compiled for each
// of the two. HIP follows CUDA's driver API function by function. The sources use CUDA's names.
// The header of backends/hip maps them to HIP's.
//
// Both compilations define the namespace entrepot::backends::gpu, with different types behind equal
// names. By the one definition rule they cannot be linked together. So each is a plugin that
// exports its entry points only (backends/exports.map). The alternatives are worse. A macro as the
// namespace hides the names from grep and editors. Templates over the driver would move this
// folder to headers. Internal linkage would make one file of it, also for the tests.
#pragma once

#ifdef ENTREPOT_HIP_DRIVER
#include "backends/hip/rtc.hpp"
#else
#include "backends/cuda/rtc.hpp"
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
