// hipRTC over NVRTC. Options of the same meaning are renamed, a preamble adds what NVRTC lacks of
// HIP's language, and the code is a cubin.
#include "library.hpp"

#include <nvrtc.h>

#include <string>
#include <utility>
#include <vector>

namespace {

using hip_over_cuda::symbol_of;

void *compiler_library() {
    static void *const library = [] {
        void *found = nullptr;
        for (const char *name : {NVRTC_PATH, "libnvrtc.so.13", "libnvrtc.so.12"})
            if (found == nullptr)
                found = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        return found;
    }();
    return library;
}

#define RTC(function)                                                                              \
    ([]() -> decltype(&::function) {                                                               \
        static const auto found =                                                                  \
            reinterpret_cast<decltype(&::function)>(symbol_of(compiler_library(), #function));     \
        return found;                                                                              \
    }())

// Clang's builtins, a 16-bit type, and warp functions without a mask.
constexpr const char *prelude = R"(
#define __builtin_inff() (1.0f / 0.0f)
#define __builtin_inf() (1.0 / 0.0)
#define __builtin_nanf(word) (0.0f / 0.0f)
#define __builtin_nan(word) (0.0 / 0.0)
#define __builtin_amdgcn_fence(order, scope)  // __syncwarp orders memory, too
#define __builtin_amdgcn_wave_barrier() __syncwarp(__activemask())
#define __shfl(value, lane) __shfl_sync(__activemask(), value, lane)
#define __shfl_up(value, by) __shfl_up_sync(__activemask(), value, by)
#define __shfl_down(value, by) __shfl_down_sync(__activemask(), value, by)
#define __shfl_xor(value, by) __shfl_xor_sync(__activemask(), value, by)
#define __any(value) __any_sync(__activemask(), value)
#define __all(value) __all_sync(__activemask(), value)
struct _Float16 {
    unsigned short bits;
    _Float16() = default;
    __device__ explicit _Float16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
    __device__ explicit operator float() const {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
};
)";

std::string with_prelude(const char *source, const char *name) {
    return std::string(prelude) + "#line 1 \"" + (name == nullptr ? "default_program" : name) +
           "\"\n" + source;
}

// Translates "--offload-arch=sm_90" to "--gpu-architecture=sm_90". Drops "-fwrapv" (empty): NVRTC's
// signed integers wrap by default.
std::string in_nvrtc(std::string option) {
    const std::string ours = "--offload-arch=", theirs = "--gpu-architecture=";
    if (option == "-fwrapv")
        return {};
    if (option == "-ffast-math")
        return "--use_fast_math";
    return option.rfind(ours, 0) == 0 ? theirs + option.substr(ours.size()) : option;
}

}  // namespace

HIP_OVER_CUDA int hiprtcVersion(int *major, int *minor) {
    *major = 7;
    *minor = 1;
    return 0;
}
HIP_OVER_CUDA const char *hiprtcGetErrorString(int code) {
    return RTC(nvrtcGetErrorString)(static_cast<nvrtcResult>(code));
}
HIP_OVER_CUDA int hiprtcCreateProgram(nvrtcProgram *program, const char *source, const char *name,
                                      int headers, const char *const *texts,
                                      const char *const *names) {
    return RTC(nvrtcCreateProgram)(program, with_prelude(source, name).c_str(), name, headers,
                                   texts, names);
}
HIP_OVER_CUDA int hiprtcDestroyProgram(nvrtcProgram *program) {
    return RTC(nvrtcDestroyProgram)(program);
}
HIP_OVER_CUDA int hiprtcCompileProgram(nvrtcProgram program, int count,
                                       const char *const *options) {
    std::vector<std::string> words;
    for (int i = 0; i < count; ++i)
        if (std::string word = in_nvrtc(options[i]); !word.empty())
            words.push_back(std::move(word));
    std::vector<const char *> pointers;
    for (const std::string &word : words)
        pointers.push_back(word.c_str());
    return RTC(nvrtcCompileProgram)(program, static_cast<int>(pointers.size()), pointers.data());
}
HIP_OVER_CUDA int hiprtcAddNameExpression(nvrtcProgram program, const char *expression) {
    return RTC(nvrtcAddNameExpression)(program, expression);
}
HIP_OVER_CUDA int hiprtcGetLoweredName(nvrtcProgram program, const char *expression,
                                       const char **name) {
    return RTC(nvrtcGetLoweredName)(program, expression, name);
}
HIP_OVER_CUDA int hiprtcGetProgramLogSize(nvrtcProgram program, std::size_t *size) {
    return RTC(nvrtcGetProgramLogSize)(program, size);
}
HIP_OVER_CUDA int hiprtcGetProgramLog(nvrtcProgram program, char *log) {
    return RTC(nvrtcGetProgramLog)(program, log);
}
HIP_OVER_CUDA int hiprtcGetCodeSize(nvrtcProgram program, std::size_t *size) {
    return RTC(nvrtcGetCUBINSize)(program, size);
}
HIP_OVER_CUDA int hiprtcGetCode(nvrtcProgram program, char *code) {
    return RTC(nvrtcGetCUBIN)(program, code);
}
