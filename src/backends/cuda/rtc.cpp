#include "backends/gpu/rtc.hpp"

#include "backends/cache.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <type_traits>

namespace entrepot::backends::gpu {
namespace {

// Newest first. Each compiles for drivers of its own major version and later.
constexpr const char *library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr const char *advice = "pip install \"entrepot[cuda]\" brings one for drivers of CUDA 13, "
                               "pip install nvidia-cuda-nvrtc-cu12 one for CUDA 12";

bool is_directory(const std::string &path) {
    struct stat found;
    return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

// The copy that is already loaded, else that of a package, else the system's.
void *open_library(const char *name) {
    if (void *const mapped = dlopen(name, RTLD_NOLOAD | RTLD_NOW))
        return mapped;
    if (const char *const path = loader->find_library(name))
        if (void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL))
            return library;
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

std::unique_ptr<Rtc> describe(void *library) {
    auto made = std::make_unique<Rtc>();
    bool is_complete = true;
    const auto look_up = [&](auto &function, const char *name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        is_complete &= function != nullptr;
    };
#define ENTREPOT_NVRTC_LOOK_UP(name) look_up(made->name, #name);
    ENTREPOT_NVRTC(ENTREPOT_NVRTC_LOOK_UP)
#undef ENTREPOT_NVRTC_LOOK_UP
    if (!is_complete)
        return nullptr;
    made->check(made->nvrtcVersion(&made->major, &made->minor), "nvrtcVersion");
    Dl_info info{};
    made->path = dladdr(reinterpret_cast<const void *>(made->nvrtcVersion), &info) != 0
                     ? info.dli_fname
                     : "";
    made->stamp = stamp_of(made->path);
    int count = 0;
    made->check(made->nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
    made->architectures.resize(static_cast<std::size_t>(count));
    made->check(made->nvrtcGetSupportedArchs(made->architectures.data()), "nvrtcGetSupportedArchs");
    std::sort(made->architectures.begin(), made->architectures.end());
    return made;
}

// All available NVRTC libraries. Loaded once, never closed.
const std::vector<std::unique_ptr<Rtc>> &all_nvrtc() {
    static const auto &all = *[] {
        auto *const found = new std::vector<std::unique_ptr<Rtc>>;
        for (const char *name : library_names)
            if (void *const library = open_library(name))
                if (std::unique_ptr<Rtc> described = describe(library))
                    found->push_back(std::move(described));
        return found;
    }();
    if (all.empty())
        refuse(EP_UNAVAILABLE, "CUDA C++ is compiled by NVRTC (", library_names[0], " or ",
               library_names[1], "), and it is not installed: ", advice);
    return all;
}

// ------------------------------------------------------------------ options

bool names_architecture(const std::string &option) {
    return option.starts_with("-arch") || option.starts_with("--gpu-architecture") ||
           option.starts_with("-gencode");
}

// Prefixes of options that read files.
constexpr const char *file_options[] = {
    "-I",   "-include",  "--include-path", "--pre-include", "-opt-bc",    "--pch",
    "-pch", "--use-pch", "-use-pch",       "--create-pch",  "-create-pch"};

// Code for the device itself. A compiler older than the device yields PTX for the newest
// architecture that it knows.
std::string architecture_option(const Rtc &rtc, int compute_capability) {
    int best = 0;
    for (const int known : rtc.architectures)
        if (known <= compute_capability)
            best = known;
    if (best == 0)
        refuse(EP_UNSUPPORTED, rtc.name(), " compiles for compute capability ",
               rtc.architectures.front() / 10, ".", rtc.architectures.front() % 10,
               " and newer, and the device has ", compute_capability / 10, ".",
               compute_capability % 10, ": an older compiler knows it");
    // Instructions of this architecture alone, such as wgmma, need the suffix.
    const bool has_own_instructions = best == 90 && best == compute_capability && rtc.major >= 12;
    return "--gpu-architecture=" + std::string(best == compute_capability ? "sm_" : "compute_") +
           std::to_string(best) + (has_own_instructions ? "a" : "");
}

// Header folders of the package or toolkit, which are beside the library's folder.
Words include_options(const Rtc &rtc) {
    const std::string library_folder = rtc.path.substr(0, rtc.path.rfind('/'));
    const std::string include = library_folder.substr(0, library_folder.rfind('/')) + "/include";
    Words options;
    for (const std::string &folder : {include, include + "/cccl"})
        if (is_directory(folder))
            options.push_back("--include-path=" + folder);
    return options;
}

}  // namespace

Target target_of(CUdevice device) {
    int major = 0, minor = 0;
    check(
        driver().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
        "cuDeviceGetAttribute");
    check(
        driver().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
        "cuDeviceGetAttribute");
    return {major * 10 + minor, driver().version};
}

const Rtc &newest_rtc() { return *all_nvrtc().front(); }

const Rtc &rtc_for(const Target &target) {
    const int driver_version = target.driver_version;
    for (const auto &candidate : all_nvrtc())
        if (candidate->major <= driver_version / 1000)
            return *candidate;
    refuse(EP_UNSUPPORTED, all_nvrtc().front()->name(), " (", all_nvrtc().front()->path,
           ") compiles for newer drivers than this one, which is of CUDA ", driver_version / 1000,
           ".", driver_version % 1000 / 10, ": ", advice, ", or update the driver");
}

Words all_options(const Rtc &rtc, const Request &request) {
    Words options = request.options;
    if (std::none_of(options.begin(), options.end(), names_architecture))
        options.push_back(architecture_option(rtc, request.target.compute_capability));
    const Words includes = include_options(rtc);
    options.insert(options.end(), includes.begin(), includes.end());
    return options;
}

bool name_files(const Words &options) {
    return std::ranges::any_of(options, [](const std::string &option) {
        return std::ranges::any_of(file_options,
                                   [&](const char *known) { return option.starts_with(known); });
    });
}

std::string identity(const Rtc &rtc) { return rtc.name() + ", " + rtc.stamp; }

std::string image_of(const Rtc &rtc, nvrtcProgram program) {
    std::size_t size = 0;
    const bool is_cubin = rtc.nvrtcGetCUBINSize(program, &size) == NVRTC_SUCCESS && size != 0;
    if (!is_cubin)
        rtc.check(rtc.nvrtcGetPTXSize(program, &size), "nvrtcGetPTXSize");
    std::string image(size, '\0');
    if (is_cubin)
        rtc.check(rtc.nvrtcGetCUBIN(program, image.data()), "nvrtcGetCUBIN");
    else
        rtc.check(rtc.nvrtcGetPTX(program, image.data()), "nvrtcGetPTX");
    if (!is_cubin)
        image.erase(image.find('\0'));  // the size includes the terminator
    return image;
}

}  // namespace entrepot::backends::gpu
