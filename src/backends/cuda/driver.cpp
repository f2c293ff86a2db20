#include "backends/gpu/driver.hpp"

#include <dlfcn.h>

#include <memory>
#include <type_traits>

namespace entrepot::backends::gpu {
namespace {

constexpr const char *library_name = "libcuda.so.1";
constexpr int oldest_version = 12000;

void *open_library() {
    if (void *const library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL))
        return library;
    const std::string said = dlerror();
    refuse(EP_UNAVAILABLE, "NVIDIA's driver is not installed (", said,
           "); no package of Python's has it");
}

template <class Function> void look_up(void *library, Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
}

template <class Function> void require(void *library, Function &function, const char *name) {
    look_up(library, function, name);
    if (function == nullptr)
        refuse(EP_UNAVAILABLE, "NVIDIA's driver has no function ", name, ": it is older than CUDA ",
               version_text(oldest_version), ", update it");
}

std::string path_of(const void *function) {
    Dl_info info{};
    return dladdr(function, &info) != 0 ? info.dli_fname : library_name;
}

#define ENTREPOT_CUDA_EXPANDED(name) #name

void look_up_all(void *library, Driver &made) {
#define ENTREPOT_CUDA_REQUIRE(function)                                                            \
    require(library, made.function, ENTREPOT_CUDA_EXPANDED(function));
#define ENTREPOT_CUDA_LOOK_UP(function)                                                            \
    look_up(library, made.function, ENTREPOT_CUDA_EXPANDED(function));
    ENTREPOT_CUDA_DRIVER(ENTREPOT_CUDA_REQUIRE, ENTREPOT_CUDA_LOOK_UP)
#undef ENTREPOT_CUDA_REQUIRE
#undef ENTREPOT_CUDA_LOOK_UP
    require(library, made.event_elapsed_time, "cuEventElapsedTime");
    require(library, made.capture_info, "cuStreamGetCaptureInfo_v2");
}

// Explains a failed cuInit if its code alone does not.
const char *advice_for(CUresult code) {
    switch (code) {
    case CUDA_ERROR_NO_DEVICE:
        return ": the driver sees no device (CUDA_VISIBLE_DEVICES hides those that it does not "
               "list)";
    case CUDA_ERROR_NOT_INITIALIZED:
        return ": this process was forked from one that had initialized CUDA, which does not "
               "survive a fork; use the 'spawn' or "
               "'forkserver' start method";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        return ": the library and the kernel module are of different versions; restart the "
               "machine, or install the same version";
    case CUDA_ERROR_STUB_LIBRARY:
        return ": this is the toolkit's stub to link with, not the driver; take its folder off "
               "LD_LIBRARY_PATH";
    default:
        return "";
    }
}

// Errors after which the context is unusable, and other process-wide state of the driver is
// suspect.
bool is_fatal(CUresult code) {
    switch (code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
        return true;
    default:
        return false;
    }
}

std::string text_of(const Driver &of, CUresult code) {
    const char *name = nullptr, *text = nullptr;
    if (of.error_name(code, &name) != CUDA_SUCCESS || of.error_text(code, &text) != CUDA_SUCCESS)
        return "the unknown error " + std::to_string(static_cast<int>(code));
    return std::string(name) + " (" + text + ")";
}

// Runs before other look-ups: errors of the machine are reported first, then those of the version.
void initialize(void *library, Driver &made) {
    CUresult (*function)(unsigned flags);
    require(library, function, "cuInit");
    require(library, made.error_name, "cuGetErrorName");
    require(library, made.error_text, "cuGetErrorString");
    made.path = path_of(reinterpret_cast<const void *>(function));
    if (const CUresult code = function(0); code != CUDA_SUCCESS)
        refuse(EP_UNAVAILABLE, "cuInit of ", made.path, " failed with ", text_of(made, code),
               advice_for(code));
}

}  // namespace

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void open_driver() {
    // Never freed: memory and queues may be released until process exit.
    static const Driver *const made = [] {
        void *const library = open_library();
        auto functions = std::make_unique<Driver>();
        initialize(library, *functions);
        look_up_all(library, *functions);
        if (functions->cuDriverGetVersion(&functions->version) != CUDA_SUCCESS ||
            functions->version < oldest_version)
            refuse(EP_UNAVAILABLE, functions->path, " is of CUDA ",
                   version_text(functions->version), ", and ", version_text(oldest_version),
                   " is the oldest that will do: update NVIDIA's driver");
        return functions.release();
    }();
    opened_driver = made;
}

std::string text_of(CUresult code) { return text_of(driver(), code); }

void fail(CUresult code, const char *function) {
    refuse(status_of(code), function, " failed with ", text_of(code),
           is_fatal(code) ? "; it may come from work that was submitted earlier, and CUDA takes no "
                            "more work in this process"
                          : "");
}

}  // namespace entrepot::backends::gpu
