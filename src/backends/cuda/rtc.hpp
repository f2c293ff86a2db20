// NVRTC, NVIDIA's run-time compiler of CUDA C++: the functions in use, and targets of compilation.
#pragma once
#include "backends/cuda/driver.hpp"

#include <nvrtc.h>

#include <string>
#include <vector>

// clang-format off
#define ENTREPOT_NVRTC(function) \
    function(nvrtcVersion) function(nvrtcGetErrorString) \
    function(nvrtcGetNumSupportedArchs) function(nvrtcGetSupportedArchs) \
    function(nvrtcCreateProgram) function(nvrtcDestroyProgram) \
    function(nvrtcCompileProgram) function(nvrtcAddNameExpression) \
    function(nvrtcGetLoweredName) function(nvrtcGetProgramLogSize) \
    function(nvrtcGetProgramLog) function(nvrtcGetCUBINSize) \
    function(nvrtcGetCUBIN) function(nvrtcGetPTXSize) function(nvrtcGetPTX)
// clang-format on

namespace entrepot::backends::gpu {

// The target of a compilation.
struct Target {
    int compute_capability = 0;  // of the device: 90 for 9.0
    int driver_version = 0;      // 13000 for CUDA 13.0; limits the compiler's major version
};

struct Rtc {
#define ENTREPOT_NVRTC_MEMBER(name) decltype(&::name) name = nullptr;
    ENTREPOT_NVRTC(ENTREPOT_NVRTC_MEMBER)
#undef ENTREPOT_NVRTC_MEMBER
    int major = 0, minor = 0;
    std::string path, stamp;         // stamp: of the file when it was opened
    std::vector<int> architectures;  // ascending: 75, 80 … 121

    void check(nvrtcResult code, const char *function) const {
        if (code != NVRTC_SUCCESS)
            refuse(EP_DEVICE_ERROR, function, " failed with ", nvrtcGetErrorString(code));
    }
    std::string name() const {
        return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
    }
};

inline constexpr const char *source_name = "kernel.cu";

}  // namespace entrepot::backends::gpu
