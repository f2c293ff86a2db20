// The run-time compiler of HIP C++, hipRTC: functions in use by the names of NVRTC's, and targets
// of compilation.
#pragma once
#include "backends/hip/driver.hpp"

#include <string>

namespace entrepot::backends::gpu {

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
    twin(nvrtcCreateProgram, hiprtcCreateProgram, \
         (nvrtcProgram *program, const char *source, const char *name, int headers, \
          const char *const *texts, const char *const *names)) \
    twin(nvrtcDestroyProgram, hiprtcDestroyProgram, (nvrtcProgram *program)) \
    twin(nvrtcCompileProgram, hiprtcCompileProgram, \
         (nvrtcProgram program, int count, const char *const *options)) \
    twin(nvrtcAddNameExpression, hiprtcAddNameExpression, \
         (nvrtcProgram program, const char *expression)) \
    twin(nvrtcGetLoweredName, hiprtcGetLoweredName, \
         (nvrtcProgram program, const char *expression, const char **name)) \
    twin(nvrtcGetProgramLogSize, hiprtcGetProgramLogSize, \
         (nvrtcProgram program, std::size_t *size)) \
    twin(nvrtcGetProgramLog, hiprtcGetProgramLog, (nvrtcProgram program, char *log)) \
    twin(nvrtcGetCodeSize, hiprtcGetCodeSize, (nvrtcProgram program, std::size_t *size)) \
    twin(nvrtcGetCode, hiprtcGetCode, (nvrtcProgram program, char *code))
// clang-format on

// The target of a compilation.
struct Target {
    std::string architecture;  // "gfx90a:sramecc+:xnack-"
};

struct Rtc {
#define ENTREPOT_HIPRTC_MEMBER(name, of_hip, takes) nvrtcResult(*name) takes = nullptr;
    ENTREPOT_HIPRTC(ENTREPOT_HIPRTC_MEMBER)
#undef ENTREPOT_HIPRTC_MEMBER
    const char *(*nvrtcGetErrorString)(nvrtcResult code) = nullptr;
    int major = 0, minor = 0;
    std::string path, stamp;  // stamp: of the file when it was opened

    void check(nvrtcResult code, const char *function) const {
        if (code != NVRTC_SUCCESS)
            refuse(EP_DEVICE_ERROR, "hipRTC (", function, " by NVRTC's name) failed with ",
                   nvrtcGetErrorString(code));
    }
    // Includes the path, since versions of hipRTC do not say which compiler they use.
    std::string name() const {
        return "hipRTC " + std::to_string(major) + "." + std::to_string(minor) + " (" + path + ")";
    }
};

inline constexpr const char *source_name = "kernel.hip";

}  // namespace entrepot::backends::gpu
