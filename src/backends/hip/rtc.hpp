// hipRTC, the run-time compiler of HIP C++: the functions that we use of it by the names of NVRTC's, and what it is asked for.
#pragma once
#include "backends/hip/driver.hpp"

#include <ctime>
#include <string>
#include <vector>

namespace entrepot::backends::hip {

using Words = std::vector<std::string>;
using nvrtcProgram = struct _hiprtcProgram *;

enum nvrtcResult : int {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
};

// clang-format off
#define ENTREPOT_HIPRTC(twin) \
    twin(nvrtcVersion, hiprtcVersion, (int *major, int *minor)) \
    twin(nvrtcCreateProgram, hiprtcCreateProgram, (nvrtcProgram *program, const char *source, const char *name, int headers, \
                                                   const char *const *texts, const char *const *names)) \
    twin(nvrtcDestroyProgram, hiprtcDestroyProgram, (nvrtcProgram *program)) \
    twin(nvrtcCompileProgram, hiprtcCompileProgram, (nvrtcProgram program, int count, const char *const *options)) \
    twin(nvrtcAddNameExpression, hiprtcAddNameExpression, (nvrtcProgram program, const char *expression)) \
    twin(nvrtcGetLoweredName, hiprtcGetLoweredName, (nvrtcProgram program, const char *expression, const char **name)) \
    twin(nvrtcGetProgramLogSize, hiprtcGetProgramLogSize, (nvrtcProgram program, std::size_t *size)) \
    twin(nvrtcGetProgramLog, hiprtcGetProgramLog, (nvrtcProgram program, char *log)) \
    twin(nvrtcGetCodeSize, hiprtcGetCodeSize, (nvrtcProgram program, std::size_t *size)) \
    twin(nvrtcGetCode, hiprtcGetCode, (nvrtcProgram program, char *code))
// clang-format on

// What code is compiled for.
struct Target {
    std::string architecture;  // "gfx90a:sramecc+:xnack-"
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
#define ENTREPOT_HIPRTC_MEMBER(name, of_hip, takes) nvrtcResult(*name) takes = nullptr;
    ENTREPOT_HIPRTC(ENTREPOT_HIPRTC_MEMBER)
#undef ENTREPOT_HIPRTC_MEMBER
    const char *(*nvrtcGetErrorString)(nvrtcResult code) = nullptr;
    int major = 0, minor = 0;
    std::string path;
    std::time_t modified = 0;  // the file there: an update in its place changes neither version nor path

    void check(nvrtcResult code, const char *function) const {
        if (code != NVRTC_SUCCESS)
            refuse(EP_DEVICE_ERROR, "hipRTC (", function, " by NVRTC's name) failed with ", nvrtcGetErrorString(code));
    }
    // The path is part of it: versions of hipRTC do not say which compiler they have.
    std::string name() const { return "hipRTC " + std::to_string(major) + "." + std::to_string(minor) + " (" + path + ")"; }
};

inline constexpr const char *source_name = "kernel.hip";

// The runtime's own, or the one of its version. Refuses with EP_UNAVAILABLE where there is none, saying what to install.
const Rtc &newest_rtc();
const Rtc &rtc_for(const Target &target);

// The request's options and ours.
Words all_options(const Rtc &rtc, const Request &request);

// Whether the option brings in files, which may change without the request changing.
bool names_file(const std::string &option);

// What tells the compiler from every other, for code of theirs is not its own: part of the cache's keys.
std::string identity(const Rtc &rtc);

// A code object, or a bundle of them.
std::string image_of(const Rtc &rtc, nvrtcProgram program);

}  // namespace entrepot::backends::hip
