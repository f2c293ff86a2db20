#include "device/loader.hpp"

#include "core/interrupt.hpp"
#include <entrepot/device/registry.hpp>

#include "backends/host/table.hpp"
#include "device/mapped.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace entrepot {
namespace {

thread_local std::string error_sentence;

void set_error(const char *sentence) {
    try {
        error_sentence = sentence;
    } catch (...) {
        error_sentence.clear();  // out of memory; the kind of the error still says what happened
    }
}

void log(const char *message) {
    if (std::getenv("ENTREPOT_LOG"))
        std::fprintf(stderr, "entrepot: %s\n", message);
}

bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

// The first `directory/file` that exists; empty: none.
std::string find_file(const std::vector<std::string> &directories, const std::string &file) {
    for (const std::string &directory : directories)
        if (std::string path = directory + "/" + file; exists(path))
            return path;
    return {};
}

const char *find_library(const char *file) {
    thread_local std::string found;
    try {
        found = find_file(library_directories(), file);
    } catch (...) {
        return nullptr;  // out of memory: the system's own search may still do
    }
    return found.empty() ? nullptr : found.c_str();
}

std::atomic<registry::ForeignQueue> foreign_queue_of{nullptr};

void cache_unwritable(const char *message) {
    static std::atomic<bool> is_told{false};
    log(message);
    if (!is_told.exchange(true, std::memory_order_relaxed))
        warn_later(message);
}

constexpr ep_loader loader_functions{
    sizeof(ep_loader), EP_BACKEND_VERSION,      set_error,       log,
    find_library,      registry::foreign_queue, cache_unwritable};

// ------------------------------------------------------------------- plugins

std::string dlopen_error() {
    const char *sentence = dlerror();
    return sentence ? sentence : "no reason given";
}

std::string plugin_path(const std::string &file) {
    const char *chosen = std::getenv("ENTREPOT_PLUGIN_PATH");
    return (chosen ? std::string(chosen) : own_directory()) + "/" + file;
}

// The reason is the path of the driver, if the plugin has a function that returns it.
Loaded open_plugin(const std::string &path) {
    void *library = dlopen(path.c_str(), RTLD_NOW);
    if (!library)
        return {nullptr, "the plugin does not load: " + dlopen_error()};
    const auto entry = reinterpret_cast<ep_backend_entry>(dlsym(library, EP_BACKEND_ENTRY));
    if (!entry)
        return {nullptr, path + " is no backend: it exports no " EP_BACKEND_ENTRY};
    const ep_backend *api = nullptr;
    if (entry(&loader_functions, &api) != EP_OK)
        return {nullptr, error_sentence};
    if (!api)
        return {nullptr, path + " returned no table of functions from " EP_BACKEND_ENTRY
                                ": reinstall entrepot"};
    if (api->version != EP_BACKEND_VERSION || api->size != sizeof(ep_backend))
        return {
            nullptr,
            path +
                " was built for another version of Entrepot: install both from the same release"};
    const auto driver_path =
        reinterpret_cast<ep_backend_driver_path>(dlsym(library, EP_BACKEND_DRIVER_PATH));
    return {api, driver_path ? driver_path() : std::string()};
}

// A plugin that loads its driver itself.
Loaded load_gpu(const char *file, const char *option) {
    const std::string path = plugin_path(file);
    if (!exists(path))
        return {nullptr, "not part of this build (" + path + " is not there): build it with " +
                             option + "=ON"};
    return open_plugin(path);
}

// ---------------------------------------------------------- the SYCL runtime

// The libraries of the plugin's generation. The wheels of one generation are named for the year:
// 2026 has libsycl.so.9.
constexpr const char *sycl_soname = "libsycl.so.9";
constexpr const char *sycl_plugin = "libentrepot_sycl9.so";
constexpr const char *sycl_packages =
    "pip install \"entrepot[sycl]\" (in a clone of its sources \".[sycl]\")";

bool same_directory(const std::string &a, const std::string &b) {
    struct stat of_a, of_b;
    return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

// Two generations in one process would each have their own devices, contexts and allocations.
std::string other_generation() {
    for (const MappedLibrary &library : mapped_libraries("libsycl.so."))
        if (library.soname != sycl_soname)
            return "another generation of the SYCL runtime is in this process, " + library.soname +
                   " (" + library.path + "), and two do not mix; this build is for " + sycl_soname +
                   ": update the package that brought it (dpctl from 0.22 on fits), or do not "
                   "import it here";
    return {};
}

// Maps the runtime where it is not mapped yet, so that the plugin finds it by SONAME. Returns why
// it could not.
std::string map_sycl_runtime(const std::vector<std::string> &directories) {
    if (dlopen(sycl_soname, RTLD_NOLOAD | RTLD_NOW))
        return {};
    const std::string path = find_file(directories, sycl_soname);
    if (dlopen(path.empty() ? sycl_soname : path.c_str(), RTLD_NOW))
        return {};
    const std::string said = dlopen_error();
    if (path.empty())
        return std::string("the SYCL runtime (") + sycl_soname +
               ") is not installed: " + sycl_packages;
    return "the SYCL runtime is installed but does not load: " + said;
}

// ------------------------------------------------ why there may be no device

// Before this interface version (oneTBB 2022.0) the OpenCL CPU device fails to start and is left
// out of the list.
constexpr int needed_tbb_interface = 12140;

std::string old_tbb() {
    const std::optional<MappedLibrary> tbb = mapped_library("libtbb.so.12");
    if (!tbb)
        return {};
    void *library = dlopen(tbb->path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    const auto interface =
        library ? reinterpret_cast<int (*)()>(dlsym(library, "TBB_runtime_interface_version"))
                : nullptr;
    const auto version =
        library ? reinterpret_cast<const char *(*)()>(dlsym(library, "TBB_runtime_version"))
                : nullptr;
    if (!interface || interface() >= needed_tbb_interface)
        return {};
    return std::string("oneTBB ") + (version ? version() : "of an old version") + " (" + tbb->path +
           ") was mapped first, and the OpenCL CPU device vanishes with any before 2022.0: import "
           "entrepot or dpctl before what "
           "brings it, "
           "or install tbb>=2022";
}

std::string foreign_opencl(const std::string &runtime_directory) {
    const std::optional<MappedLibrary> loader = mapped_library("libOpenCL.so.1");
    if (!loader || same_directory(directory_of(loader->path), runtime_directory))
        return {};
    return "another OpenCL loader (" + loader->path +
           ") was mapped first, which does not read OCL_ICD_FILENAMES: import entrepot or dpctl "
           "and list the devices before what "
           "brings it, or set OCL_ICD_VENDORS=" +
           runtime_directory + "/libintelocl.so before the program starts";
}

}  // namespace

const std::string &backend_error() noexcept { return error_sentence; }

namespace registry {
const ep_loader *loader() noexcept { return &loader_functions; }

void set_foreign_queue(ForeignQueue of) noexcept {
    foreign_queue_of.store(of, std::memory_order_release);
}

void *foreign_queue(const char *backend, std::uint32_t device) {
    const ForeignQueue of = foreign_queue_of.load(std::memory_order_acquire);
    return of ? of(backend, device) : nullptr;
}
}  // namespace registry

Loaded load_host() {
    const ep_backend *api = nullptr;
    if (entrepot_host_backend(&loader_functions, &api) != EP_OK)
        return {nullptr, error_sentence};
    return {api, "built in"};
}

Loaded load_cuda() { return load_gpu("libentrepot_cuda.so", "ENTREPOT_CUDA"); }

Loaded load_hip() { return load_gpu("libentrepot_hip.so", "ENTREPOT_HIP"); }

Loaded load_sycl(const std::vector<std::string> &library_directories) {
    if (std::string why = other_generation(); !why.empty())
        return {nullptr, why};
    const std::string plugin = plugin_path(sycl_plugin);
    if (!exists(plugin))  // before the message that asks for its runtime
        return {nullptr, "this build has no SYCL backend (" + plugin +
                             " is not there): install entrepot without ENTREPOT_SYCL=OFF"};
    if (std::string why = map_sycl_runtime(library_directories); !why.empty())
        return {nullptr, why};
    Loaded loaded = open_plugin(plugin);
    if (loaded.api)
        loaded.reason =
            std::string(sycl_soname) + " of " + directory_of(mapped_library(sycl_soname)->path);
    return loaded;
}

std::string explain_no_sycl_device(const std::vector<std::string> &library_directories) {
    const std::string runtime = directory_of(mapped_library(sycl_soname)->path);
    if (std::string why = old_tbb(); !why.empty())
        return why;
    if (std::string why = foreign_opencl(runtime); !why.empty())
        return why;
    std::vector<std::string> directories = library_directories;
    directories.push_back(runtime);
    const std::string cpu_device = find_file(directories, "libintelocl.so");
    if (cpu_device.empty())
        return std::string("no driver for OpenCL or Level Zero is installed: ") + sycl_packages +
               " brings one for this machine's CPU";
    const char *named = std::getenv("OCL_ICD_FILENAMES");
    if (!named)
        return "OCL_ICD_FILENAMES is not set, so the OpenCL loader does not find " + cpu_device +
               ": set it to that before the program starts (import entrepot does so, unless "
               "ENTREPOT_OPENCL_CPU=0)";
    if (!exists(named) && std::strchr(named, ':') == nullptr)
        return std::string("OCL_ICD_FILENAMES is ") + named + ", which does not exist: set it to " +
               cpu_device + " before the program starts";
    return std::string("OCL_ICD_FILENAMES is ") + named +
           ", but the platforms were listed and none found, probably before it was set: import "
           "entrepot before the first use of "
           "SYCL or OpenCL "
           "in the process, or set it before the program starts; OCL_ICD_ENABLE_TRACE=1 shows what "
           "the loader tries";
}

}  // namespace entrepot
