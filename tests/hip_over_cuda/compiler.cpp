// hipRTC over NVRTC: the options that mean the same get their other names, and the code is a cubin.
#include "library.hpp"

#include <nvrtc.h>

#include <string>
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

#define RTC(function)                                                                                                            \
    ([]() -> decltype(&::function) {                                                                                             \
        static const auto found = reinterpret_cast<decltype(&::function)>(symbol_of(compiler_library(), #function));             \
        return found;                                                                                                            \
    }())

// "--offload-arch=sm_90" is "--gpu-architecture=sm_90".
std::string in_nvrtc(std::string option) {
    const std::string ours = "--offload-arch=", theirs = "--gpu-architecture=";
    return option.rfind(ours, 0) == 0 ? theirs + option.substr(ours.size()) : option;
}

}  // namespace

HIP_OVER_CUDA int hiprtcVersion(int *major, int *minor) {
    *major = 7;
    *minor = 1;
    return 0;
}
HIP_OVER_CUDA const char *hiprtcGetErrorString(int code) { return RTC(nvrtcGetErrorString)(static_cast<nvrtcResult>(code)); }
HIP_OVER_CUDA int hiprtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int headers,
                                      const char *const *texts, const char *const *names) {
    return RTC(nvrtcCreateProgram)(program, source, name, headers, texts, names);
}
HIP_OVER_CUDA int hiprtcDestroyProgram(nvrtcProgram *program) { return RTC(nvrtcDestroyProgram)(program); }
HIP_OVER_CUDA int hiprtcCompileProgram(nvrtcProgram program, int count, const char *const *options) {
    std::vector<std::string> words;
    for (int i = 0; i < count; ++i)
        words.push_back(in_nvrtc(options[i]));
    std::vector<const char *> pointers;
    for (const std::string &word : words)
        pointers.push_back(word.c_str());
    return RTC(nvrtcCompileProgram)(program, count, pointers.data());
}
HIP_OVER_CUDA int hiprtcAddNameExpression(nvrtcProgram program, const char *expression) {
    return RTC(nvrtcAddNameExpression)(program, expression);
}
HIP_OVER_CUDA int hiprtcGetLoweredName(nvrtcProgram program, const char *expression, const char **name) {
    return RTC(nvrtcGetLoweredName)(program, expression, name);
}
HIP_OVER_CUDA int hiprtcGetProgramLogSize(nvrtcProgram program, std::size_t *size) {
    return RTC(nvrtcGetProgramLogSize)(program, size);
}
HIP_OVER_CUDA int hiprtcGetProgramLog(nvrtcProgram program, char *log) { return RTC(nvrtcGetProgramLog)(program, log); }
HIP_OVER_CUDA int hiprtcGetCodeSize(nvrtcProgram program, std::size_t *size) { return RTC(nvrtcGetCUBINSize)(program, size); }
HIP_OVER_CUDA int hiprtcGetCode(nvrtcProgram program, char *code) { return RTC(nvrtcGetCUBIN)(program, code); }
