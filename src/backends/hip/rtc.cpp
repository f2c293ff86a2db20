#include "backends/gpu/rtc.hpp"

#include "backends/cache.hpp"
#include "backends/gpu/compiler.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace entrepot::backends::gpu {
namespace {

// ------------------------------------------------------------------ library

// Before HIP 6, hipRTC is part of the runtime; in HIP 7 it is only beside it.
constexpr const char *library_names[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5"};

std::string folder_of(void *library) {
    Dl_info info{};
    const void *const known = dlsym(library, "hipInit");
    if (known == nullptr || dladdr(known, &info) == 0)
        return {};
    const std::string path = info.dli_fname;
    return path.substr(0, path.rfind('/') + 1);
}

void *open_library(void *runtime) {
    if (dlsym(runtime, "hiprtcCompileProgram") != nullptr)
        return runtime;
    for (const char *name : library_names)
        for (const std::string &place : {folder_of(runtime) + name, std::string(name)})
            if (void *const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL))
                return library;
    refuse(EP_UNAVAILABLE, "HIP C++ is compiled by hipRTC (", library_names[0], ", ",
           library_names[1], " or ", library_names[2],
           "), and it is not installed beside the HIP runtime: ROCm has it in hip-runtime-amd or "
           "libhiprtc");
}

const Rtc *describe(void *library) {
    auto made = std::make_unique<Rtc>();
    const auto look_up = [&](auto &function, const char *name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        if (function == nullptr)
            refuse(EP_UNAVAILABLE, "hipRTC has no function ", name,
                   ": it is older than HIP 5.2, update it");
    };
#define ENTREPOT_HIPRTC_LOOK_UP(name, of_hip, takes) look_up(made->name, #of_hip);
    ENTREPOT_HIPRTC(ENTREPOT_HIPRTC_LOOK_UP)
#undef ENTREPOT_HIPRTC_LOOK_UP
    look_up(made->nvrtcGetErrorString, "hiprtcGetErrorString");
    Dl_info info{};
    made->path = dladdr(reinterpret_cast<const void *>(made->nvrtcVersion), &info) != 0
                     ? info.dli_fname
                     : "";
    made->stamp = stamp_of(made->path);
    made->check(made->nvrtcVersion(&made->major, &made->minor), "nvrtcVersion");
    return made.release();
}

// ------------------------------------------------------------------ options

bool names_architecture(const std::string &option) {
    return option.starts_with("--offload-arch") || option.starts_with("--gpu-architecture") ||
           option.starts_with("-arch");
}

// An unknown architecture crashes the process in hipRTC of HIP 5.2, which frees memory that it
// never allocated. So the compiler library is asked first, in the way of HIP itself. If that
// library is not found, architectures are not checked.
struct ActionInfo {
    std::uint64_t handle;
};
struct Compiler {
    int (*count_of)(std::size_t *) = nullptr;
    int (*name_of)(std::size_t, const char **) = nullptr;
    int (*create)(ActionInfo *) = nullptr;
    int (*set_isa_name)(ActionInfo, const char *) = nullptr;
    int (*destroy)(ActionInfo) = nullptr;

    bool is_known() const { return count_of && name_of && create && set_isa_name && destroy; }
};

constexpr const char *isa_prefix = "amdgcn-amd-amdhsa--";  // "amdgcn-amd-amdhsa--gfx90a:xnack+"

const Compiler &compiler_library() {
    static const Compiler known = [] {
        Compiler made;
        // All versions of HIP 5 have this library. Never closed.
        void *const library = dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
            return made;
        const auto look_up = [&](auto &function, const char *name) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        };
        look_up(made.count_of, "amd_comgr_get_isa_count");
        look_up(made.name_of, "amd_comgr_get_isa_name");
        look_up(made.create, "amd_comgr_create_action_info");
        look_up(made.set_isa_name, "amd_comgr_action_info_set_isa_name");
        look_up(made.destroy, "amd_comgr_destroy_action_info");
        return made;
    }();
    return known;
}

// Features after the colon matter too.
bool compiles_for(const std::string &architecture) {
    const Compiler &compiler = compiler_library();
    ActionInfo info{};
    if (compiler.create(&info) != 0)
        return true;
    const bool is_one = compiler.set_isa_name(info, (isa_prefix + architecture).c_str()) == 0;
    compiler.destroy(info);
    return is_one;
}

std::string known_architectures() {
    const Compiler &compiler = compiler_library();
    std::string all;
    std::size_t count = 0;
    if (compiler.count_of(&count) == 0)
        for (std::size_t i = 0; i < count; ++i)
            if (const char *name = nullptr; compiler.name_of(i, &name) == 0)
                if (const std::string_view isa = name; isa.starts_with(isa_prefix))
                    all.append(all.empty() ? "" : ", ").append(isa.substr(std::strlen(isa_prefix)));
    return all;
}

// Known for HIP 5.2, and assumed for the rest of HIP 5.
bool dies_of_unknown_architectures() {
    static const bool known = [] {
        const auto version_of =
            reinterpret_cast<CUresult (*)(int *)>(dlsym(hip_library(), "hipRuntimeGetVersion"));
        int version = 0;
        return version_of != nullptr && version_of(&version) == CUDA_SUCCESS &&
               version < 60'000'000;
    }();
    return known;
}

// Checks options with '=' only. HIP 5.2's hipRTC refuses options of two words itself and does not
// read the environment's.
void check_architecture(const Rtc &rtc, const std::string &option) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos || !compiler_library().is_known())
        return;
    const std::string named = option.substr(equals + 1);
    if (!compiles_for(named))
        refuse(EP_BUILD_FAILED, rtc.name(), " does not know the architecture '", named,
               "': it compiles for ", known_architectures());
}

// Prefixes of hipRTC's own options that read no files. It also accepts any of Clang's.
constexpr std::string_view own_options[] = {
    "--offload-arch=", "--gpu-architecture=", "--gpu-max-threads-per-block="};

// Options in this environment variable are added to all others, except in HIP 5.2.
constexpr const char *options_variable = "HIPRTC_COMPILE_OPTIONS_APPEND";

// ------------------------------------------------------------------- target

// Size of device properties in HIP 5 and since HIP 6, and offset of the architecture.
struct Properties {
    const char *function;
    std::size_t bytes, architecture;
};
constexpr Properties known_properties[] = {{"hipGetDevicePropertiesR0600", 1472, 1160},
                                           {"hipGetDeviceProperties", 792, 396}};
constexpr std::size_t architecture_bytes = 256;

}  // namespace

Target target_of(CUdevice device) {
    for (const Properties &known : known_properties) {
        const auto function =
            reinterpret_cast<CUresult (*)(void *, int)>(dlsym(hip_library(), known.function));
        if (function == nullptr)
            continue;
        alignas(16) std::array<char, 4096> properties{};  // later versions may append
        check(function(properties.data(), device), known.function);
        const char *const found = properties.data() + known.architecture;
        return {std::string(found, strnlen(found, architecture_bytes))};
    }
    refuse(EP_UNAVAILABLE, "the HIP runtime has neither ", known_properties[0].function, " nor ",
           known_properties[1].function);
}

// Never closed.
const Rtc &newest_rtc() {
    static const Rtc &only = *describe(open_library(hip_library()));
    return only;
}

const Rtc &rtc_for(const Target &) { return newest_rtc(); }

Words all_options(const Rtc &rtc, const Request &request) {
    Words options = request.options;
    if (std::none_of(options.begin(), options.end(), names_architecture))
        options.push_back("--offload-arch=" + request.target.architecture);
    if (dies_of_unknown_architectures())
        for (const std::string &option : options)
            if (names_architecture(option))
                check_architecture(rtc, option);
    return options;
}

bool name_files(const Words &options) {
    const char *const appended = std::getenv(options_variable);
    return options_name_files(options, own_options) ||
           options_name_files(words_in(appended), own_options);
}

std::string identity(const Rtc &rtc) {
    const char *const appended = std::getenv(options_variable);
    // The runtime's version has a patch level, which hipRTC's lacks.
    const int runtime = opened_driver == nullptr ? 0 : driver().version;
    return rtc.name() + ", " + rtc.stamp + ", HIP " + std::to_string(runtime) + ", " +
           (appended == nullptr ? "" : appended);
}

std::string image_of(const Rtc &rtc, nvrtcProgram program) {
    std::size_t size = 0;
    rtc.check(rtc.nvrtcGetCodeSize(program, &size), "nvrtcGetCodeSize");
    std::string image(size, '\0');
    rtc.check(rtc.nvrtcGetCode(program, image.data()), "nvrtcGetCode");
    return image;
}

}  // namespace entrepot::backends::gpu
