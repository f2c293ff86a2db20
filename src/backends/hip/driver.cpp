#include "backends/gpu/driver.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace entrepot::backends::gpu {
namespace {

// Newest first.
constexpr const char *library_names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                         "libamdhip64.so.5"};
constexpr const char *library_variable = "ENTREPOT_HIP_LIBRARY";
constexpr int oldest_version = 50200000;

std::string reason_of_dlopen() {
    const char *const said = dlerror();
    return said == nullptr ? "no reason given" : said;
}

void *open_chosen(const char *path) {
    if (void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL))
        return library;
    refuse(EP_UNAVAILABLE, library_variable, " is ", path,
           ", which does not load: ", reason_of_dlopen());
}

void *open_mapped() {
    for (const char *name : library_names)
        if (void *const mapped = dlopen(name, RTLD_NOLOAD | RTLD_NOW))
            return mapped;
    return nullptr;
}

// Paths to try: the folders of packages, of ROCm, and the system's search.
std::vector<std::string> places_of(const char *name) {
    std::vector<std::string> places;
    if (const char *const path = loader->find_library(name))
        places.push_back(path);
    const char *const chosen = std::getenv("ROCM_PATH");
    places.push_back(std::string(chosen == nullptr ? "/opt/rocm" : chosen) + "/lib/" + name);
    places.push_back(name);
    return places;
}

void *open_installed() {
    std::string said;
    for (const char *name : library_names) {
        for (const std::string &place : places_of(name))
            if (void *const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL))
                return library;
        said += std::string(said.empty() ? "" : "; ") + reason_of_dlopen();
    }
    refuse(EP_UNAVAILABLE, "AMD's HIP runtime is not installed (", said,
           "): ROCm has it, and Debian in libamdhip64-5; ", library_variable,
           " names one that lies elsewhere");
}

template <class Function> void look_up(void *library, Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
}

template <class Function> void require(void *library, Function &function, const char *name) {
    look_up(library, function, name);
    if (function == nullptr)
        refuse(EP_UNAVAILABLE, "the HIP runtime has no function ", name, ": it is older than HIP ",
               version_text(oldest_version), ", update it");
}

std::string path_of(const void *function) {
    Dl_info info{};
    return dladdr(function, &info) != 0 ? info.dli_fname : "the HIP runtime";
}

void look_up_all(void *library, Driver &made) {
#define ENTREPOT_HIP_TWIN(name, of_hip, takes) require(library, made.name, #of_hip);
    ENTREPOT_HIP_TWINS(ENTREPOT_HIP_TWIN)
#undef ENTREPOT_HIP_TWIN
#define ENTREPOT_HIP_REQUIRE(name, takes) require(library, made.name, #name);
#define ENTREPOT_HIP_LOOK_UP(name, takes) look_up(library, made.name, #name);
    ENTREPOT_HIP_OWN(ENTREPOT_HIP_REQUIRE, ENTREPOT_HIP_LOOK_UP)
#undef ENTREPOT_HIP_REQUIRE
#undef ENTREPOT_HIP_LOOK_UP
    look_up(library, made.hipGetStreamDeviceId, "hipGetStreamDeviceId");
}

// ------------------------------------------------------ what stands between

// Clears the thread's last error in the runtime, which other code in the process may query.
CUresult forget(CUresult code) {
    if (code != CUDA_SUCCESS)
        driver().hipGetLastError();
    return code;
}

// Wraps a function that has a twin, if the caller handles its errors and `fail` does not see them.
template <auto function> struct Forgetful;
template <class... Takes, CUresult (*Driver::*function)(Takes...)> struct Forgetful<function> {
    static inline CUresult (*twin)(Takes...) = nullptr;
    static CUresult call(Takes... takes) { return forget(twin(takes...)); }
    static void stand_before(Driver &made) { twin = std::exchange(made.*function, call); }
};
template <auto... functions> void forget_errors_of(Driver &made) {
    (Forgetful<functions>::stand_before(made), ...);
}

// Attributes that the runtime's version does not know are reported as 0.
CUresult device_attribute(int *value, CUdevice_attribute which, CUdevice device) {
    *value = 0;
    if (which == CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED)
        *value = 1;
    if (which < 0)
        return CUDA_SUCCESS;
    const CUresult code = forget(driver().hipDeviceGetAttribute(value, which, device));
    return code == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : code;
}

CUresult retain_context(CUcontext *context, CUdevice device) {
    *context = context_at(device);
    return CUDA_SUCCESS;
}

CUresult release_context(CUdevice) { return CUDA_SUCCESS; }

CUresult context_state(CUdevice, unsigned *flags, int *active) {
    *flags = 0;
    *active = 1;
    return CUDA_SUCCESS;
}

CUresult current_context(CUcontext *context) {
    CUdevice device = 0;
    const CUresult code = driver().cuCtxGetDevice(&device);
    *context = context_at(device);
    return code;
}

CUresult enable_peer(CUcontext peer, unsigned flags) {
    return forget(driver().hipDeviceEnablePeerAccess(device_at(peer), flags));
}

CUresult context_of_stream(CUstream stream, CUcontext *context) {
    CUdevice device = -1;
    CUresult code = CUDA_SUCCESS;
    if (driver().hipStreamGetDevice != nullptr)
        code = driver().hipStreamGetDevice(stream, &device);
    else if (driver().hipGetStreamDeviceId != nullptr)
        device = driver().hipGetStreamDeviceId(stream);
    *context = context_at(device);
    return code == CUDA_SUCCESS && device < 0 ? CUDA_ERROR_NOT_SUPPORTED : code;
}

CUresult query_stream(CUstream stream) { return forget(driver().hipStreamQuery(stream)); }
CUresult query_event(CUevent event) { return forget(driver().hipEventQuery(event)); }

CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return driver().hipMemcpyAsync(reinterpret_cast<void *>(to),
                                   reinterpret_cast<const void *>(from), bytes, hipMemcpyDefault,
                                   stream);
}

CUresult copy_between(CUdeviceptr to, CUcontext of_to, CUdeviceptr from, CUcontext of_from,
                      std::size_t bytes, CUstream stream) {
    return driver().hipMemcpyPeerAsync(to, device_at(of_to), from, device_at(of_from), bytes,
                                       stream);
}

// Before HIP 5.3 there is only the stream callback, which receives stream and status, and is also
// called after errors.
CUresult call_host_later(CUstream stream, CUhostFn function, void *user) {
    if (driver().hipLaunchHostFunc != nullptr)
        return driver().hipLaunchHostFunc(stream, function, user);
    struct Call {
        CUhostFn function;
        void *user;
    };
    auto call = std::make_unique<Call>(Call{function, user});
    const auto run = [](CUstream, CUresult, void *given) {
        const std::unique_ptr<Call> mine(static_cast<Call *>(given));
        mine->function(mine->user);
    };
    const CUresult code = driver().hipStreamAddCallback(stream, run, call.get(), 0);
    if (code == CUDA_SUCCESS)
        call.release();
    return code;
}

// Graphs cannot own objects before HIP 5.3.
CUresult create_user_object(CUuserObject *made, void *user, CUhostFn release, unsigned references,
                            unsigned flags) {
    const Driver &d = driver();
    if (d.hipUserObjectCreate == nullptr || d.hipUserObjectRelease == nullptr ||
        d.hipGraphRetainUserObject == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return d.hipUserObjectCreate(made, user, release, references, flags);
}

CUresult release_user_object(CUuserObject object, unsigned references) {
    return driver().hipUserObjectRelease(object, references);
}

CUresult retain_user_object(CUgraph graph, CUuserObject object, unsigned references,
                            unsigned flags) {
    return driver().hipGraphRetainUserObject(graph, object, references, flags);
}

CUresult instantiate_graph(CUgraphExec *made, CUgraph graph, unsigned long long) {
    return driver().hipGraphInstantiate(made, graph, nullptr, nullptr, 0);
}

CUresult replace_launch_of_node(CUgraphExec graph, CUgraphNode node,
                                const CUDA_KERNEL_NODE_PARAMS *changed) {
    const CUDA_KERNEL_NODE_PARAMS &c = *changed;
    if (driver().hipGraphExecKernelNodeSetParams == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const hipKernelNodeParams parameters{
        {c.blockDimX, c.blockDimY, c.blockDimZ}, nullptr,        c.func,
        {c.gridDimX, c.gridDimY, c.gridDimZ},    c.kernelParams, c.sharedMemBytes};
    return forget(driver().hipGraphExecKernelNodeSetParams(graph, node, &parameters));
}

// HIP's code loader has no log.
CUresult load_code(CUmodule *module, const void *image, unsigned, CUjit_option *, void **) {
    return forget(driver().hipModuleLoadData(module, image));
}

// A no-op: kernels may use all local memory without opting in.
CUresult set_function_attribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }

CUresult launch(const CUlaunchConfig *config, CUfunction function, void **parameters, void **) {
    const CUlaunchConfig &c = *config;
    return forget(driver().hipModuleLaunchCooperativeKernel(
        function, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY, c.blockDimZ,
        c.sharedMemBytes, c.hStream, parameters));
}

// Memory of hipMalloc can be shared by IPC handle. The runtime's attribute for that is never true,
// so this requests a handle instead.
CUresult pointer_attribute(void *value, CUpointer_attribute which, CUdeviceptr pointer) {
    if (which != CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
        return which < 0 || driver().hipPointerGetAttribute == nullptr
                   ? CUDA_ERROR_NOT_SUPPORTED
                   : forget(driver().hipPointerGetAttribute(value, which, pointer));
    CUipcMemHandle name;
    *static_cast<int *>(value) = forget(driver().cuIpcGetMemHandle(&name, pointer)) == CUDA_SUCCESS;
    return CUDA_SUCCESS;
}

// Pools are shared by all of these functions or not at all.
bool shares_pools(const Driver &made) {
    return made.hipMemPoolDestroy != nullptr && made.hipMemPoolExportToShareableHandle != nullptr &&
           made.hipMemPoolImportFromShareableHandle != nullptr &&
           made.hipMemPoolExportPointer != nullptr && made.hipMemPoolImportPointer != nullptr;
}

CUresult retain_block(CUmemGenericAllocationHandle *block, void *pointer) {
    return forget(driver().hipMemRetainAllocationHandle(block, pointer));
}

CUresult destroy_pool(CUmemoryPool pool) { return forget(driver().hipMemPoolDestroy(pool)); }

CUresult export_pool(void *file, CUmemoryPool pool, CUmemAllocationHandleType type,
                     unsigned long long) {
    return forget(driver().hipMemPoolExportToShareableHandle(file, pool, type, 0));
}

CUresult import_pool(CUmemoryPool *pool, void *file, CUmemAllocationHandleType type,
                     unsigned long long) {
    return forget(driver().hipMemPoolImportFromShareableHandle(pool, file, type, 0));
}

CUresult export_pool_pointer(CUmemPoolPtrExportData *name, CUdeviceptr pointer) {
    return forget(driver().hipMemPoolExportPointer(name, reinterpret_cast<void *>(pointer)));
}

CUresult import_pool_pointer(CUdeviceptr *pointer, CUmemoryPool pool,
                             CUmemPoolPtrExportData *name) {
    return forget(driver().hipMemPoolImportPointer(reinterpret_cast<void **>(pointer), pool, name));
}

void stand_between(Driver &made) {
    forget_errors_of<&Driver::capture_info, &Driver::cuMemAllocFromPoolAsync, &Driver::cuMemAlloc,
                     &Driver::cuMemAllocManaged, &Driver::cuMemHostAlloc, &Driver::cuMemGetInfo,
                     &Driver::cuMemHostRegister, &Driver::cuMemHostGetDevicePointer,
                     &Driver::cuMemCreate, &Driver::cuMemImportFromShareableHandle,
                     &Driver::cuMemGetAllocationPropertiesFromHandle, &Driver::cuIpcOpenMemHandle,
                     &Driver::cuIpcGetEventHandle, &Driver::cuIpcOpenEventHandle,
                     &Driver::cuModuleGetFunction>(made);
    made.cuDeviceGetAttribute = device_attribute;
    made.cuDevicePrimaryCtxRetain = retain_context;
    made.cuDevicePrimaryCtxRelease = release_context;
    made.cuDevicePrimaryCtxGetState = context_state;
    made.cuCtxGetCurrent = current_context;
    made.cuCtxEnablePeerAccess = enable_peer;
    made.cuStreamGetCtx = context_of_stream;
    made.cuStreamQuery = query_stream;
    made.cuEventQuery = query_event;
    made.cuPointerGetAttribute = pointer_attribute;
    if (made.hipMemRetainAllocationHandle != nullptr)
        made.cuMemRetainAllocationHandle = retain_block;
    if (shares_pools(made)) {
        made.cuMemPoolDestroy = destroy_pool;
        made.cuMemPoolExportToShareableHandle = export_pool;
        made.cuMemPoolImportFromShareableHandle = import_pool;
        made.cuMemPoolExportPointer = export_pool_pointer;
        made.cuMemPoolImportPointer = import_pool_pointer;
    }
    made.cuMemcpyAsync = copy;
    made.cuMemcpyPeerAsync = copy_between;
    made.cuLaunchHostFunc = call_host_later;
    made.cuUserObjectCreate = create_user_object;
    made.cuUserObjectRelease = release_user_object;
    made.cuGraphRetainUserObject = retain_user_object;
    made.cuGraphInstantiate = instantiate_graph;
    made.cuGraphExecKernelNodeSetParams = replace_launch_of_node;
    made.cuModuleLoadDataEx = load_code;
    made.cuFuncSetAttribute = set_function_attribute;
    made.cuLaunchKernelEx = launch;
}

// ------------------------------------------------------------------- errors

struct Named {
    const char *cuda, *hip;
};
constexpr Named names[] = {
#define ENTREPOT_HIP_TWIN(name, of_hip, takes) {#name, #of_hip},
    ENTREPOT_HIP_TWINS(ENTREPOT_HIP_TWIN)
#undef ENTREPOT_HIP_TWIN
        {"cuEventElapsedTime", "hipEventElapsedTime"},
    {"cuDeviceGetAttribute", "hipDeviceGetAttribute"},
    {"cuCtxGetCurrent", "hipGetDevice"},
    {"cuCtxEnablePeerAccess", "hipDeviceEnablePeerAccess"},
    {"cuStreamGetCtx", "hipStreamGetDevice"},
    {"cuStreamQuery", "hipStreamQuery"},
    {"cuEventQuery", "hipEventQuery"},
    {"cuMemcpyAsync", "hipMemcpyAsync"},
    {"cuMemcpyPeerAsync", "hipMemcpyPeerAsync"},
    {"cuLaunchHostFunc", "hipLaunchHostFunc"},
    {"cuMemPoolExportPointer", "hipMemPoolExportPointer"},
    {"cuStreamGetCaptureInfo", "hipStreamGetCaptureInfo_v2"},
    {"cuUserObjectCreate", "hipUserObjectCreate"},
    {"cuGraphRetainUserObject", "hipGraphRetainUserObject"},
    {"cuGraphInstantiate", "hipGraphInstantiate"},
    {"cuModuleLoadDataEx", "hipModuleLoadData"},
    {"cuLaunchKernelEx", "hipModuleLaunchCooperativeKernel"},
};

const char *name_in_hip(const char *function) {
    for (const Named &known : names)
        if (std::string_view(known.cuda) == function)
            return known.hip;
    return function;
}

// Errors after which the context is unusable, and other process-wide state of the runtime is
// suspect.
bool is_fatal(CUresult code) {
    switch (code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
        return true;
    default:
        return false;
    }
}

std::string text_of(const Driver &of, CUresult code) {
    const std::string name = of.hipGetErrorName(code), text = of.hipGetErrorString(code);
    return text == name ? name : name + " (" + text + ")";  // the text of HIP 5 is the name
}

// Explains a failed hipInit: HIP 5 reports an invalid device on a machine without devices.
const char *advice_for(CUresult code) {
    switch (code) {
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
        return ": the runtime sees no device (HIP_VISIBLE_DEVICES hides those that it does not "
               "list, "
               "and /dev/kfd must be open to the user)";
    default:
        return "";
    }
}

// Runs before other look-ups: errors of the machine are reported first, then those of the version.
void initialize(void *library, Driver &made) {
    CUresult (*function)(unsigned flags);
    require(library, function, "hipInit");
    require(library, made.hipGetErrorName, "hipGetErrorName");
    require(library, made.hipGetErrorString, "hipGetErrorString");
    made.path = path_of(reinterpret_cast<const void *>(function));
    if (const CUresult code = function(0); code != CUDA_SUCCESS)
        refuse(EP_UNAVAILABLE, "hipInit of ", made.path, " failed with ", text_of(made, code),
               advice_for(code));
}

}  // namespace

void *hip_library() {
    static void *const library = [] {
        if (const char *const chosen = std::getenv(library_variable);
            chosen != nullptr && *chosen != '\0')
            return open_chosen(chosen);
        void *const mapped = open_mapped();
        return mapped == nullptr ? open_installed() : mapped;
    }();
    return library;
}

std::string version_text(int version) {
    return std::to_string(version / 10000000) + "." + std::to_string(version % 10000000 / 100000);
}

void open_driver() {
    // Never freed: memory and queues may be released until process exit.
    static const Driver *const made = [] {
        void *const library = hip_library();
        auto functions = std::make_unique<Driver>();
        initialize(library, *functions);
        look_up_all(library, *functions);
        stand_between(*functions);
        if (functions->cuDriverGetVersion(&functions->version) != CUDA_SUCCESS ||
            functions->version < oldest_version)
            refuse(EP_UNAVAILABLE, functions->path, " is of HIP ", version_text(functions->version),
                   ", and ", version_text(oldest_version),
                   " is the oldest that will do: update it");
        return functions.release();
    }();
    opened_driver = made;
}

std::string text_of(CUresult code) { return text_of(driver(), code); }

void fail(CUresult code, const char *function) {
    forget(code);
    refuse(status_of(code), name_in_hip(function), " failed with ", text_of(code),
           is_fatal(code) ? "; it may come from work that was submitted earlier, and HIP takes no "
                            "more work in this process"
                          : "");
}

}  // namespace entrepot::backends::gpu
