// The driver of this compilation: CMake defines ENTREPOT_GPU as cuda or hip, which also names the
// namespace.
//
// The code shared by CUDA and HIP, which is nearly all, is in this folder and is compiled for each
// of the two. HIP follows CUDA's driver API function by function. The sources use CUDA's names,
// which backends/hip/driver.hpp maps to HIP's.
#pragma once

#define ENTREPOT_QUOTED(path) #path
#define ENTREPOT_OF_MAKER(path) ENTREPOT_QUOTED(path)

// clang-format off: a path has no blanks
#include ENTREPOT_OF_MAKER(backends/ENTREPOT_GPU/driver.hpp)
// clang-format on

namespace entrepot::backends::ENTREPOT_GPU {

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

}  // namespace entrepot::backends::ENTREPOT_GPU
