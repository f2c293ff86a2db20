// NVRTC, NVIDIA's run-time compiler of CUDA C++: the functions that we use of it, and what it is asked for.
#pragma once
#include "backends/cuda/driver.hpp"

#include <nvrtc.h>

#include <string>
#include <vector>

// clang-format off
#define ENTREPOT_NVRTC(function) \
    function(nvrtcVersion) function(nvrtcGetErrorString) function(nvrtcGetNumSupportedArchs) function(nvrtcGetSupportedArchs) \
    function(nvrtcCreateProgram) function(nvrtcDestroyProgram) function(nvrtcCompileProgram) function(nvrtcAddNameExpression) \
    function(nvrtcGetLoweredName) function(nvrtcGetProgramLogSize) function(nvrtcGetProgramLog) function(nvrtcGetCUBINSize) \
    function(nvrtcGetCUBIN) function(nvrtcGetPTXSize) function(nvrtcGetPTX)
// clang-format on

namespace entrepot::backends::cuda {

using Words = std::vector<std::string>;

// What code is compiled for.
struct Target {
    int compute_capability = 0;  // of the device: 90 for 9.0
    int driver_version = 0;      // 13000 for CUDA 13.0: code of a compiler with a newer major version is not for it
};
Target target_of(CUdevice device);

// What to compile. Two requests that are equal give the same code.
struct Request {
    std::string source;
    Words options;           // the user's, before ours
    std::string expression;  // a kernel to make available by the name that it has in C++, such as scale<float>; empty: none
    Target target;
};

struct Rtc {
#define ENTREPOT_NVRTC_MEMBER(name) decltype(&::name) name = nullptr;
    ENTREPOT_NVRTC(ENTREPOT_NVRTC_MEMBER)
#undef ENTREPOT_NVRTC_MEMBER
    int major = 0, minor = 0;
    std::string path;
    std::vector<int> architectures;  // ascending: 75, 80 … 121

    void check(nvrtcResult code, const char *function) const {
        if (code != NVRTC_SUCCESS)
            refuse(EP_DEVICE_ERROR, function, " failed with ", nvrtcGetErrorString(code));
    }
    std::string name() const { return "NVRTC " + std::to_string(major) + "." + std::to_string(minor); }
};

inline constexpr const char *source_name = "kernel.cu";

// The newest that there is. Refuses with EP_UNAVAILABLE where there is none, saying what to install.
const Rtc &newest_rtc();
// The newest that compiles what the target takes.
const Rtc &rtc_for(const Target &target);

// The request's options and ours.
Words all_options(const Rtc &rtc, const Request &request);

// Whether the option brings in files, which may change without the request changing.
bool names_file(const std::string &option);

// What tells the compiler from every other, for code of theirs is not its own: part of the cache's keys.
std::string identity(const Rtc &rtc);

// A cubin where the architecture is a real one, else PTX.
std::string image_of(const Rtc &rtc, nvrtcProgram program);

}  // namespace entrepot::backends::cuda
