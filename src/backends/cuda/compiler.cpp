#include "backends/cuda/compiler.hpp"

#include "backends/cache.hpp"

#include <dlfcn.h>
#include <nvrtc.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <type_traits>

// clang-format off
#define ENTREPOT_NVRTC(function) \
    function(nvrtcVersion) function(nvrtcGetErrorString) function(nvrtcGetNumSupportedArchs) function(nvrtcGetSupportedArchs) \
    function(nvrtcCreateProgram) function(nvrtcDestroyProgram) function(nvrtcCompileProgram) function(nvrtcAddNameExpression) \
    function(nvrtcGetLoweredName) function(nvrtcGetProgramLogSize) function(nvrtcGetProgramLog) function(nvrtcGetCUBINSize) \
    function(nvrtcGetCUBIN) function(nvrtcGetPTXSize) function(nvrtcGetPTX)
// clang-format on

namespace entrepot::backends::cuda {
namespace {

// The newest first. Each compiles for the drivers of its own major version and later ones.
constexpr const char *library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr const char *advice = "pip install \"entrepot[cuda]\" brings one for drivers of CUDA 13, "
                               "pip install nvidia-cuda-nvrtc-cu12 one for CUDA 12";

struct Nvrtc {
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

bool is_directory(const std::string &path) {
    struct stat found;
    return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

// The copy that is in the process already, else that of a package, else the system's.
void *open_library(const char *name) {
    if (void *const mapped = dlopen(name, RTLD_NOLOAD | RTLD_NOW))
        return mapped;
    if (const char *const path = loader->find_library(name))
        if (void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL))
            return library;
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

std::unique_ptr<Nvrtc> describe(void *library) {
    auto made = std::make_unique<Nvrtc>();
    bool is_complete = true;
    const auto look_up = [&](auto &function, const char *name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        is_complete &= function != nullptr;
    };
#define ENTREPOT_NVRTC_LOOK_UP(name) look_up(made->name, #name);
    ENTREPOT_NVRTC(ENTREPOT_NVRTC_LOOK_UP)
#undef ENTREPOT_NVRTC_LOOK_UP
    if (!is_complete)
        return nullptr;
    made->check(made->nvrtcVersion(&made->major, &made->minor), "nvrtcVersion");
    Dl_info info{};
    made->path = dladdr(reinterpret_cast<const void *>(made->nvrtcVersion), &info) != 0 ? info.dli_fname : "";
    int count = 0;
    made->check(made->nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
    made->architectures.resize(static_cast<std::size_t>(count));
    made->check(made->nvrtcGetSupportedArchs(made->architectures.data()), "nvrtcGetSupportedArchs");
    std::sort(made->architectures.begin(), made->architectures.end());
    return made;
}

// Every NVRTC that there is. Opened once, never closed.
const std::vector<std::unique_ptr<Nvrtc>> &all_nvrtc() {
    static const auto &all = *[] {
        auto *const found = new std::vector<std::unique_ptr<Nvrtc>>;
        for (const char *name : library_names)
            if (void *const library = open_library(name))
                if (std::unique_ptr<Nvrtc> described = describe(library))
                    found->push_back(std::move(described));
        return found;
    }();
    if (all.empty())
        refuse(EP_UNAVAILABLE, "CUDA C++ is compiled by NVRTC (", library_names[0], " or ", library_names[1],
               "), and it is not installed: ", advice);
    return all;
}

// The newest that compiles what the driver takes.
const Nvrtc &nvrtc_for(int driver_version) {
    for (const auto &candidate : all_nvrtc())
        if (candidate->major <= driver_version / 1000)
            return *candidate;
    refuse(EP_UNSUPPORTED, all_nvrtc().front()->name(), " (", all_nvrtc().front()->path,
           ") compiles for newer drivers than this one, which is of CUDA ", driver_version / 1000, ".",
           driver_version % 1000 / 10, ": ", advice, ", or update the driver");
}

// ------------------------------------------------------------------ options

bool names_architecture(const std::string &option) {
    return option.starts_with("-arch") || option.starts_with("--gpu-architecture") || option.starts_with("-gencode");
}

// Code for the device itself; from a compiler that is older than the device, PTX for the newest that it knows.
std::string architecture_option(const Nvrtc &nvrtc, int compute_capability) {
    int best = 0;
    for (const int known : nvrtc.architectures)
        if (known <= compute_capability)
            best = known;
    if (best == 0)
        refuse(EP_UNSUPPORTED, nvrtc.name(), " compiles for compute capability ", nvrtc.architectures.front() / 10, ".",
               nvrtc.architectures.front() % 10, " and newer, and the device has ", compute_capability / 10, ".",
               compute_capability % 10, ": an older compiler knows it");
    return "--gpu-architecture=" + std::string(best == compute_capability ? "sm_" : "compute_") + std::to_string(best);
}

// The toolkit's headers where a package or a toolkit lays them: beside the library's folder.
Words include_options(const Nvrtc &nvrtc) {
    const std::string library_folder = nvrtc.path.substr(0, nvrtc.path.rfind('/'));
    const std::string include = library_folder.substr(0, library_folder.rfind('/')) + "/include";
    Words options;
    for (const std::string &folder : {include, include + "/cccl"})
        if (is_directory(folder))
            options.push_back("--include-path=" + folder);
    return options;
}

Words all_options(const Nvrtc &nvrtc, const Request &request) {
    Words options = request.options;
    if (std::none_of(options.begin(), options.end(), names_architecture))
        options.push_back(architecture_option(nvrtc, request.compute_capability));
    const Words includes = include_options(nvrtc);
    options.insert(options.end(), includes.begin(), includes.end());
    return options;
}

// Files that the options bring in may change without the request changing.
bool depends_on_files(const Words &options) {
    return std::any_of(options.begin(), options.end(), [](const std::string &option) {
        return option.starts_with("-I") || option.starts_with("-include") || option.starts_with("--include-path") ||
               option.starts_with("--pre-include") || option.starts_with("-opt-bc") || option.starts_with("--pch");
    });
}

// Each part with its length before it, so that no two requests have the same key.
std::string key_of(const Nvrtc &nvrtc, const Request &request, const Words &options) {
    std::string key;
    const auto add = [&](const std::string &part) { key += std::to_string(part.size()) + ':' + part; };
    add(nvrtc.name());
    add(request.source);
    add(request.expression);
    for (const std::string &option : options)
        add(option);
    return key;
}

// ---------------------------------------------------------------- compiling

class Compilation {
public:
    Compilation(const Nvrtc &nvrtc, const Request &request) : nvrtc_(nvrtc) {
        nvrtc_.check(nvrtc_.nvrtcCreateProgram(&program_, request.source.c_str(), "kernel.cu", 0, nullptr, nullptr),
                     "nvrtcCreateProgram");
        if (!request.expression.empty())
            nvrtc_.check(nvrtc_.nvrtcAddNameExpression(program_, request.expression.c_str()), "nvrtcAddNameExpression");
    }
    Compilation(const Compilation &) = delete;
    Compilation &operator=(const Compilation &) = delete;
    ~Compilation() { nvrtc_.nvrtcDestroyProgram(&program_); }

    nvrtcResult run(const Words &options) {
        std::vector<const char *> words;
        for (const std::string &option : options)
            words.push_back(option.c_str());
        return nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(words.size()), words.data());
    }

    std::string log() const { return text(nvrtc_.nvrtcGetProgramLogSize, nvrtc_.nvrtcGetProgramLog); }

    // A cubin where the architecture is a real one; PTX otherwise, and then its final NUL is not part of it.
    std::string image() const {
        std::size_t size = 0;
        if (nvrtc_.nvrtcGetCUBINSize(program_, &size) != NVRTC_SUCCESS || size == 0)
            return text(nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX);
        std::string cubin(size, '\0');
        nvrtc_.check(nvrtc_.nvrtcGetCUBIN(program_, cubin.data()), "nvrtcGetCUBIN");
        return cubin;
    }

    std::string lowered_name(const std::string &expression) const {
        const char *name = nullptr;
        nvrtc_.check(nvrtc_.nvrtcGetLoweredName(program_, expression.c_str(), &name), "nvrtcGetLoweredName");
        return name;
    }

private:
    template <class Size, class Get> std::string text(Size size_of, Get get) const {
        std::size_t size = 0;
        nvrtc_.check(size_of(program_, &size), "the size of what NVRTC made");
        std::string found(size, '\0');
        nvrtc_.check(get(program_, found.data()), "what NVRTC made");
        found.erase(std::find(found.begin(), found.end(), '\0'), found.end());
        return found;
    }

    const Nvrtc &nvrtc_;
    nvrtcProgram program_ = nullptr;
};

Code compile_now(const Nvrtc &nvrtc, const Request &request, const Words &options, std::string &log) {
    Compilation compilation(nvrtc, request);
    const nvrtcResult result = compilation.run(options);
    log += compilation.log();
    if (result == NVRTC_ERROR_INVALID_OPTION)
        refuse(EP_INVALID, nvrtc.name(), " does not know one of the options: ", log);
    if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID)
        refuse(EP_BUILD_FAILED, nvrtc.name(), " refused the program: the build log says why");
    nvrtc.check(result, "nvrtcCompileProgram");
    return {compilation.image(), request.expression.empty() ? "" : compilation.lowered_name(request.expression)};
}

// The name on the first line, the image after it.
std::string packed(const Code &code) { return code.lowered_name + '\n' + code.image; }
Code unpacked(const std::string &content) {
    const std::size_t end = content.find('\n');
    return {content.substr(end + 1), content.substr(0, end)};
}

}  // namespace

std::string compiler_version() {
    const Nvrtc &newest = *all_nvrtc().front();
    return std::to_string(newest.major) + "." + std::to_string(newest.minor) + " (" + newest.path + ")";
}

Code compile(const Request &request, std::string &log) {
    const Nvrtc &nvrtc = nvrtc_for(request.driver_version);
    const Words options = all_options(nvrtc, request);
    if (depends_on_files(request.options))
        return compile_now(nvrtc, request, options, log);
    const std::string key = key_of(nvrtc, request, options);
    if (const std::optional<std::string> known = cached("cuda", key))
        return unpacked(*known);
    const Code code = compile_now(nvrtc, request, options, log);
    keep_cached("cuda", key, packed(code));
    return code;
}

Words words_in(const char *options) {
    std::istringstream stream(options == nullptr ? "" : options);
    Words words;
    for (std::string word; stream >> word;)
        words.push_back(std::move(word));
    return words;
}

}  // namespace entrepot::backends::cuda
