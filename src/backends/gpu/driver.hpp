// The driver that this compilation is for: CMake defines ENTREPOT_GPU, which is cuda or hip, and the namespace.
//
// What CUDA and HIP have in common, which is nearly all, is written once, in this folder, and compiled for each of the two. HIP
// follows CUDA's driver function by function, so the sources use the names of CUDA's, and backends/hip/driver.hpp says what each
// of them is in HIP.
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

// By its members: headers of CUDA 13 have the number in a union, the others have not.
inline CUmemLocation location_on(CUdevice device) {
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device;
    return location;
}

}  // namespace entrepot::backends::ENTREPOT_GPU
