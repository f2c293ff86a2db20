// The functions of the HIP runtime that Entrepot uses, as version 7 has them, over CUDA's driver.
//
// Nearly every status has the same number in both. Structures are declared here independently of
// the backend, so that a mistake there is not repeated. HIP has a current device where CUDA's
// driver has a current context, and needs no hipInit.
#include "library.hpp"

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace hip_over_cuda {
namespace {

// Initialized when it is opened; hipInit returns the result of that.
void *driver_library() {
    static void *const library = [] {
        void *const found = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (found != nullptr)
            reinterpret_cast<decltype(&::cuInit)>(symbol_of(found, "cuInit"))(0);
        return found;
    }();
    return library;
}

#define QUOTED(name) #name
// The function under the header's name, a macro for the version that it declares.
#define CU(function)                                                                               \
    ([]() -> decltype(&::function) {                                                               \
        static const auto function_found = reinterpret_cast<decltype(&::function)>(                \
            symbol_of(driver_library(), QUOTED(function)));                                        \
        return function_found;                                                                     \
    }())

thread_local int last_error = 0;

// Records the code for hipGetLastError and returns it.
int said(CUresult code) {
    if (code != CUDA_SUCCESS)
        last_error = code;
    return code;
}

int make_current(int device) {
    CUcontext context = nullptr;
    if (const CUresult code = CU(cuDevicePrimaryCtxRetain)(&context, device); code != CUDA_SUCCESS)
        return said(code);
    return said(CU(cuCtxSetCurrent)(context));
}

// The runtime uses device 0 if a thread has selected none.
int current_device() {
    CUcontext context = nullptr;
    CUdevice device = 0;
    if (CU(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == nullptr)
        make_current(0);
    CU(cuCtxGetDevice)(&device);
    return device;
}

CUcontext context_of(int device) {
    CUcontext context = nullptr;
    CU(cuDevicePrimaryCtxRetain)(&context, device);
    return context;
}

CUdeviceptr address(const void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// HIP's hipMemcpyKind: source and target of a copy. For `either` the addresses decide.
enum Direction { host_to_host, host_to_device, device_to_host, device_to_device, either };

// A copy of `height` rows, as CUDA's parameters for two or three axes.
template <class Plan>
Plan rows(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
          std::size_t width, std::size_t height, int direction) {
    const auto type = [direction](bool is_host) {
        return direction == either ? CU_MEMORYTYPE_UNIFIED
               : is_host           ? CU_MEMORYTYPE_HOST
                                   : CU_MEMORYTYPE_DEVICE;
    };
    Plan plan{};
    plan.srcMemoryType = type(direction == host_to_host || direction == host_to_device);
    plan.dstMemoryType = type(direction == host_to_host || direction == device_to_host);
    plan.srcHost = from;
    plan.dstHost = to;
    plan.srcDevice = address(from);
    plan.dstDevice = address(to);
    plan.srcPitch = from_pitch;
    plan.dstPitch = to_pitch;
    plan.WidthInBytes = width;
    plan.Height = height;
    return plan;
}

struct Row {
    int hip;
    CUdevice_attribute cuda;
};
constexpr Row attributes[] = {
    {9, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
    {10, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
    {23, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {26, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
    {27, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
    {28, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
    {29, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
    {30, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
    {31, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
    {56, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {58, CU_DEVICE_ATTRIBUTE_MAX_PITCH},
    {61, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {63, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {65, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
    {74, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
    {87, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {88, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
    {89, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
};

int attribute(int device, CUdevice_attribute which) {
    int value = 0;
    CU(cuDeviceGetAttribute)(&value, which, device);
    return value;
}

struct Found {
    CUmemorytype type = static_cast<CUmemorytype>(0);
    int is_managed = 0, ordinal = -1;
    CUdeviceptr base = 0;
    std::size_t size = 0;
};

Found look_up(CUdeviceptr pointer) {
    Found found;
    CUpointer_attribute asked[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *answers[] = {&found.type, &found.is_managed, &found.ordinal, &found.base, &found.size};
    CU(cuPointerGetAttributes)(5, asked, answers, pointer);
    return found;
}

}  // namespace
}  // namespace hip_over_cuda

using namespace hip_over_cuda;

// ----------------------------------------------------------------- devices

HIP_OVER_CUDA int hipInit(unsigned flags) {
    return driver_library() == nullptr ? 100 : said(CU(cuInit)(flags));
}
HIP_OVER_CUDA int hipRuntimeGetVersion(int *version) {
    *version = 70100000;
    return 0;
}
HIP_OVER_CUDA int hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }
HIP_OVER_CUDA int hipGetLastError() { return std::exchange(last_error, 0); }
HIP_OVER_CUDA int hipPeekAtLastError() { return last_error; }
HIP_OVER_CUDA const char *hipGetErrorName(int code) {
    static thread_local std::string name;
    const char *found = "CUDA_ERROR_UNKNOWN";
    CU(cuGetErrorName)(static_cast<CUresult>(code), &found);
    name = std::string(found == nullptr ? "CUDA_ERROR_UNKNOWN" : found);
    return name.c_str();
}
HIP_OVER_CUDA const char *hipGetErrorString(int code) {
    const char *found = "unknown";
    CU(cuGetErrorString)(static_cast<CUresult>(code), &found);
    return found == nullptr ? "unknown" : found;
}
HIP_OVER_CUDA int hipGetDeviceCount(int *count) { return said(CU(cuDeviceGetCount)(count)); }
HIP_OVER_CUDA int hipDeviceGet(int *device, int number) {
    return said(CU(cuDeviceGet)(device, number));
}
HIP_OVER_CUDA int hipDeviceGetName(char *name, int bytes, int device) {
    return said(CU(cuDeviceGetName)(name, bytes, device));
}
HIP_OVER_CUDA int hipDeviceTotalMem(std::size_t *bytes, int device) {
    return said(CU(cuDeviceTotalMem)(bytes, device));
}
HIP_OVER_CUDA int hipDeviceGetUuid(CUuuid *number, int device) {
    return said(CU(cuDeviceGetUuid)(number, device));
}
HIP_OVER_CUDA int hipDeviceGetAttribute(int *value, int which, int device) {
    for (const Row &row : attributes)
        if (row.hip == which)
            return said(CU(cuDeviceGetAttribute)(value, row.cuda, device));
    return said(CUDA_ERROR_INVALID_VALUE);
}
// Layout of HIP 6 and 7; fields not named here are 0.
struct Properties {
    char name[256], uuid[16], luid[8];
    unsigned mask_of_luid;
    std::size_t memory, memory_of_block;
    int registers_of_block, warp;
    std::size_t pitch;
    int threads_of_block, block[3], grid[3];
    char rest[812], architecture[256], more[56];
};
static_assert(offsetof(Properties, memory) == 288 && offsetof(Properties, architecture) == 1160 &&
              sizeof(Properties) == 1472);
HIP_OVER_CUDA int hipGetDevicePropertiesR0600(Properties *found, int device) {
    *found = {};
    if (const int code = hipDeviceGetName(found->name, sizeof found->name, device); code != 0)
        return code;
    hipDeviceTotalMem(&found->memory, device);
    found->memory_of_block = static_cast<std::size_t>(
        attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
    found->registers_of_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    found->warp = attribute(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    found->pitch = static_cast<std::size_t>(attribute(device, CU_DEVICE_ATTRIBUTE_MAX_PITCH));
    found->threads_of_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    for (int axis = 0; axis < 3; ++axis) {
        found->block[axis] = attribute(
            device, static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + axis));
        found->grid[axis] = attribute(
            device, static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + axis));
    }
    std::snprintf(found->architecture, sizeof found->architecture, "sm_%d%d",
                  attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                  attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    return 0;
}
HIP_OVER_CUDA int hipSetDevice(int device) { return make_current(device); }
HIP_OVER_CUDA int hipGetDevice(int *device) {
    *device = current_device();
    return 0;
}
HIP_OVER_CUDA int hipDeviceSynchronize() {
    current_device();
    return said(CU(cuCtxSynchronize)());
}
HIP_OVER_CUDA int hipDeviceCanAccessPeer(int *can, int device, int peer) {
    return said(CU(cuDeviceCanAccessPeer)(can, device, peer));
}
HIP_OVER_CUDA int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
    current_device();
    return said(CU(cuCtxEnablePeerAccess)(context_of(peer), flags));
}

// ------------------------------------------------------- streams and events

HIP_OVER_CUDA int hipStreamCreateWithFlags(CUstream *stream, unsigned flags) {
    current_device();
    return said(CU(cuStreamCreate)(stream, flags));
}
HIP_OVER_CUDA int hipStreamCreate(CUstream *stream) { return hipStreamCreateWithFlags(stream, 0); }
HIP_OVER_CUDA int hipStreamDestroy(CUstream stream) { return said(CU(cuStreamDestroy)(stream)); }
HIP_OVER_CUDA int hipStreamSynchronize(CUstream stream) {
    current_device();
    return said(CU(cuStreamSynchronize)(stream));
}
HIP_OVER_CUDA int hipStreamQuery(CUstream stream) {
    current_device();
    return said(CU(cuStreamQuery)(stream));
}
HIP_OVER_CUDA int hipStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    current_device();
    return said(CU(cuStreamWaitEvent)(stream, event, flags));
}
HIP_OVER_CUDA int hipStreamGetDevice(CUstream stream, int *device) {
    CUcontext context = nullptr;
    if (const CUresult code = CU(cuStreamGetCtx)(stream, &context); code != CUDA_SUCCESS)
        return said(code);
    CU(cuCtxPushCurrent)(context);
    const CUresult code = CU(cuCtxGetDevice)(device);
    CU(cuCtxPopCurrent)(&context);
    return said(code);
}
HIP_OVER_CUDA int hipLaunchHostFunc(CUstream stream, CUhostFn function, void *user) {
    return said(CU(cuLaunchHostFunc)(stream, function, user));
}
HIP_OVER_CUDA int hipStreamAddCallback(CUstream stream, CUstreamCallback function, void *user,
                                       unsigned flags) {
    return said(CU(cuStreamAddCallback)(stream, function, user, flags));
}
HIP_OVER_CUDA int hipThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    return said(CU(cuThreadExchangeStreamCaptureMode)(mode));
}
HIP_OVER_CUDA int hipStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
                                             cuuint64_t *number, CUgraph *graph,
                                             const CUgraphNode **dependencies, std::size_t *count) {
    using Function = CUresult (*)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                                  const CUgraphNode **, std::size_t *);
    static const auto function =
        reinterpret_cast<Function>(symbol_of(driver_library(), "cuStreamGetCaptureInfo_v2"));
    current_device();
    return said(function(stream, status, number, graph, dependencies, count));
}
HIP_OVER_CUDA int hipStreamBeginCapture(CUstream stream, int mode) {
    current_device();
    return said(CU(cuStreamBeginCapture)(stream, static_cast<CUstreamCaptureMode>(mode)));
}
HIP_OVER_CUDA int hipStreamEndCapture(CUstream stream, CUgraph *graph) {
    current_device();
    return said(CU(cuStreamEndCapture)(stream, graph));
}
HIP_OVER_CUDA int hipStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
    current_device();
    return said(CU(cuStreamIsCapturing)(stream, status));
}
HIP_OVER_CUDA int hipGraphCreate(CUgraph *graph, unsigned flags) {
    return said(CU(cuGraphCreate)(graph, flags));
}
HIP_OVER_CUDA int hipGraphAddMemcpyNode1D(CUgraphNode *node, CUgraph graph,
                                          const CUgraphNode *after, std::size_t count, void *to,
                                          const void *from, std::size_t bytes, int direction) {
    auto plan = rows<CUDA_MEMCPY3D>(to, bytes, from, bytes, bytes, 1, direction);
    plan.Depth = 1;
    return said(
        CU(cuGraphAddMemcpyNode)(node, graph, after, count, &plan, context_of(current_device())));
}
HIP_OVER_CUDA int hipGraphInstantiateWithFlags(CUgraphExec *ready, CUgraph graph,
                                               unsigned long long flags) {
    current_device();
    return said(CU(cuGraphInstantiateWithFlags)(ready, graph, flags));
}
HIP_OVER_CUDA int hipGraphInstantiate(CUgraphExec *ready, CUgraph graph, CUgraphNode *, char *,
                                      std::size_t) {
    return hipGraphInstantiateWithFlags(ready, graph, 0);
}
HIP_OVER_CUDA int hipGraphLaunch(CUgraphExec ready, CUstream stream) {
    current_device();
    return said(CU(cuGraphLaunch)(ready, stream));
}
HIP_OVER_CUDA int hipGraphExecDestroy(CUgraphExec ready) {
    return said(CU(cuGraphExecDestroy)(ready));
}
HIP_OVER_CUDA int hipGraphDestroy(CUgraph graph) { return said(CU(cuGraphDestroy)(graph)); }
HIP_OVER_CUDA int hipUserObjectRelease(CUuserObject object, unsigned references) {
    return said(CU(cuUserObjectRelease)(object, references));
}
HIP_OVER_CUDA int hipUserObjectCreate(CUuserObject *made, void *user, CUhostFn let_go,
                                      unsigned references, unsigned flags) {
    return said(CU(cuUserObjectCreate)(made, user, let_go, references, flags));
}
HIP_OVER_CUDA int hipGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned references,
                                           unsigned flags) {
    return said(CU(cuGraphRetainUserObject)(graph, object, references, flags));
}
HIP_OVER_CUDA int hipEventCreateWithFlags(CUevent *event, unsigned flags) {
    current_device();
    return said(CU(cuEventCreate)(event, flags));
}
HIP_OVER_CUDA int hipEventCreate(CUevent *event) { return hipEventCreateWithFlags(event, 0); }
HIP_OVER_CUDA int hipEventDestroy(CUevent event) { return said(CU(cuEventDestroy)(event)); }
HIP_OVER_CUDA int hipEventRecord(CUevent event, CUstream stream) {
    return said(CU(cuEventRecord)(event, stream));
}
HIP_OVER_CUDA int hipEventQuery(CUevent event) { return said(CU(cuEventQuery)(event)); }
HIP_OVER_CUDA int hipEventSynchronize(CUevent event) { return said(CU(cuEventSynchronize)(event)); }
HIP_OVER_CUDA int hipEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
    return said(CU(cuEventElapsedTime)(milliseconds, from, to));
}

// ------------------------------------------------------------------ memory

HIP_OVER_CUDA int hipMalloc(CUdeviceptr *pointer, std::size_t bytes) {
    current_device();
    return said(CU(cuMemAlloc)(pointer, bytes));
}
HIP_OVER_CUDA int hipMallocManaged(CUdeviceptr *pointer, std::size_t bytes, unsigned flags) {
    current_device();
    return said(CU(cuMemAllocManaged)(pointer, bytes, flags));
}
HIP_OVER_CUDA int hipFree(CUdeviceptr pointer) {
    return pointer == 0 ? 0 : said(CU(cuMemFree)(pointer));
}
HIP_OVER_CUDA int hipHostMalloc(void **pointer, std::size_t bytes, unsigned flags) {
    current_device();
    return said(CU(cuMemHostAlloc)(pointer, bytes, flags & 7));
}
HIP_OVER_CUDA int hipHostFree(void *pointer) { return said(CU(cuMemFreeHost)(pointer)); }
HIP_OVER_CUDA int hipHostRegister(void *pointer, std::size_t bytes, unsigned flags) {
    current_device();
    return said(CU(cuMemHostRegister)(pointer, bytes, flags & 7));
}
HIP_OVER_CUDA int hipHostUnregister(void *pointer) {
    return said(CU(cuMemHostUnregister)(pointer));
}
HIP_OVER_CUDA int hipHostGetDevicePointer(CUdeviceptr *seen, void *pointer, unsigned flags) {
    current_device();
    return said(CU(cuMemHostGetDevicePointer)(seen, pointer, flags));
}
HIP_OVER_CUDA int hipMemGetInfo(std::size_t *free, std::size_t *all) {
    current_device();
    return said(CU(cuMemGetInfo)(free, all));
}
HIP_OVER_CUDA int hipMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
    return said(CU(cuMemPoolCreate)(pool, properties));
}
HIP_OVER_CUDA int hipMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access,
                                      std::size_t count) {
    return said(CU(cuMemPoolSetAccess)(pool, access, count));
}
HIP_OVER_CUDA int hipMemPoolTrimTo(CUmemoryPool pool, std::size_t bytes) {
    return said(CU(cuMemPoolTrimTo)(pool, bytes));
}
HIP_OVER_CUDA int hipMallocFromPoolAsync(CUdeviceptr *pointer, std::size_t bytes, CUmemoryPool pool,
                                         CUstream stream) {
    return said(CU(cuMemAllocFromPoolAsync)(pointer, bytes, pool, stream));
}
HIP_OVER_CUDA int hipFreeAsync(CUdeviceptr pointer, CUstream stream) {
    return said(CU(cuMemFreeAsync)(pointer, stream));
}

struct PointerAttribute {
    int type, device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned flags;
};
HIP_OVER_CUDA int hipPointerGetAttributes(PointerAttribute *answer, const void *pointer) {
    const Found found = look_up(address(pointer));
    *answer = {};
    answer->type = found.is_managed                     ? 3
                   : found.type == CU_MEMORYTYPE_HOST   ? 1
                   : found.type == CU_MEMORYTYPE_DEVICE ? 2
                                                        : 0;
    answer->device = found.ordinal;
    answer->is_managed = found.is_managed;
    return 0;
}
HIP_OVER_CUDA int hipMemGetAddressRange(CUdeviceptr *base, std::size_t *size, CUdeviceptr pointer) {
    const Found found = look_up(pointer);
    *base = found.base;
    *size = found.size;
    return found.base == 0 ? said(CUDA_ERROR_INVALID_VALUE) : 0;
}

HIP_OVER_CUDA int hipMemcpyAsync(void *to, const void *from, std::size_t bytes, int,
                                 CUstream stream) {
    current_device();
    return said(CU(cuMemcpyAsync)(address(to), address(from), bytes, stream));
}
HIP_OVER_CUDA int hipMemcpy(void *to, const void *from, std::size_t bytes, int) {
    current_device();
    return said(CU(cuMemcpy)(address(to), address(from), bytes));
}
HIP_OVER_CUDA int hipMemcpyPeerAsync(CUdeviceptr to, int to_device, CUdeviceptr from,
                                     int from_device, std::size_t bytes, CUstream stream) {
    return said(CU(cuMemcpyPeerAsync)(to, context_of(to_device), from, context_of(from_device),
                                      bytes, stream));
}
HIP_OVER_CUDA int hipMemcpyHtoD(CUdeviceptr to, const void *from, std::size_t bytes) {
    current_device();
    return said(CU(cuMemcpyHtoD)(to, from, bytes));
}
HIP_OVER_CUDA int hipMemcpyDtoH(void *to, CUdeviceptr from, std::size_t bytes) {
    current_device();
    return said(CU(cuMemcpyDtoH)(to, from, bytes));
}
HIP_OVER_CUDA int hipMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    current_device();
    return said(CU(cuMemcpyDtoD)(to, from, bytes));
}
HIP_OVER_CUDA int hipMemcpy2D(void *to, std::size_t to_pitch, const void *from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              int direction) {
    current_device();
    const auto plan = rows<CUDA_MEMCPY2D>(to, to_pitch, from, from_pitch, width, height, direction);
    return said(CU(cuMemcpy2DUnaligned)(&plan));
}
HIP_OVER_CUDA int hipMemcpy2DAsync(void *to, std::size_t to_pitch, const void *from,
                                   std::size_t from_pitch, std::size_t width, std::size_t height,
                                   int direction, CUstream stream) {
    const auto plan = rows<CUDA_MEMCPY2D>(to, to_pitch, from, from_pitch, width, height, direction);
    return said(CU(cuMemcpy2DAsync)(&plan, stream));
}

struct Pitched {
    void *pointer;
    std::size_t pitch, width, height;
};
struct Copy3D {
    void *from_array;
    std::size_t from_position[3];
    Pitched from;
    void *to_array;
    std::size_t to_position[3];
    Pitched to;
    std::size_t width, height, depth;
    int kind;
};
HIP_OVER_CUDA int hipMemcpy3DAsync(const Copy3D *asked, CUstream stream) {
    CUDA_MEMCPY3D plan{};
    plan.srcMemoryType = plan.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    plan.srcDevice = address(asked->from.pointer);
    plan.dstDevice = address(asked->to.pointer);
    plan.srcPitch = asked->from.pitch;
    plan.dstPitch = asked->to.pitch;
    plan.srcHeight = asked->from.height;
    plan.dstHeight = asked->to.height;
    plan.WidthInBytes = asked->width;
    plan.Height = asked->height;
    plan.Depth = asked->depth;
    return said(CU(cuMemcpy3DAsync)(&plan, stream));
}
HIP_OVER_CUDA int hipMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count,
                                   CUstream stream) {
    return said(CU(cuMemsetD8Async)(to, value, count, stream));
}
HIP_OVER_CUDA int hipMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count,
                                    CUstream stream) {
    return said(CU(cuMemsetD16Async)(to, value, count, stream));
}
HIP_OVER_CUDA int hipMemsetD32Async(CUdeviceptr to, int value, std::size_t count, CUstream stream) {
    return said(CU(cuMemsetD32Async)(to, static_cast<unsigned>(value), count, stream));
}
HIP_OVER_CUDA int hipMemset(CUdeviceptr to, int value, std::size_t bytes) {
    current_device();
    return said(CU(cuMemsetD8)(to, static_cast<unsigned char>(value), bytes));
}
HIP_OVER_CUDA int hipMemsetAsync(CUdeviceptr to, int value, std::size_t bytes, CUstream stream) {
    current_device();
    return said(CU(cuMemsetD8Async)(to, static_cast<unsigned char>(value), bytes, stream));
}

// ------------------------------------------- memory that has a handle

struct AllocationProperties {
    int type, handles;
    CUmemLocation location;
    void *metadata;
    unsigned char flags[8];
};
static CUmemAllocationProp in_cuda(const AllocationProperties &asked) {
    CUmemAllocationProp properties{};
    properties.type = static_cast<CUmemAllocationType>(asked.type);
    properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(asked.handles);
    properties.location = asked.location;
    return properties;
}
HIP_OVER_CUDA int hipMemGetAllocationGranularity(std::size_t *step,
                                                 const AllocationProperties *asked, int option) {
    const CUmemAllocationProp properties = in_cuda(*asked);
    return said(CU(cuMemGetAllocationGranularity)(
        step, &properties, static_cast<CUmemAllocationGranularity_flags>(option)));
}
HIP_OVER_CUDA int hipMemGetAllocationPropertiesFromHandle(AllocationProperties *found,
                                                          CUmemGenericAllocationHandle block) {
    CUmemAllocationProp properties{};
    const CUresult code = CU(cuMemGetAllocationPropertiesFromHandle)(&properties, block);
    *found = {properties.type, properties.requestedHandleTypes, properties.location, nullptr, {}};
    return said(code);
}
HIP_OVER_CUDA int hipMemCreate(CUmemGenericAllocationHandle *block, std::size_t bytes,
                               const AllocationProperties *asked, unsigned long long flags) {
    const CUmemAllocationProp properties = in_cuda(*asked);
    return said(CU(cuMemCreate)(block, bytes, &properties, flags));
}
HIP_OVER_CUDA int hipMemRelease(CUmemGenericAllocationHandle block) {
    return said(CU(cuMemRelease)(block));
}
HIP_OVER_CUDA int hipMemMap(CUdeviceptr start, std::size_t bytes, std::size_t offset,
                            CUmemGenericAllocationHandle block, unsigned long long flags) {
    return said(CU(cuMemMap)(start, bytes, offset, block, flags));
}
HIP_OVER_CUDA int hipMemUnmap(CUdeviceptr start, std::size_t bytes) {
    return said(CU(cuMemUnmap)(start, bytes));
}
HIP_OVER_CUDA int hipMemSetAccess(CUdeviceptr start, std::size_t bytes,
                                  const CUmemAccessDesc *access, std::size_t count) {
    return said(CU(cuMemSetAccess)(start, bytes, access, count));
}
HIP_OVER_CUDA int hipMemAddressReserve(CUdeviceptr *start, std::size_t bytes, std::size_t alignment,
                                       CUdeviceptr wanted, unsigned long long flags) {
    return said(CU(cuMemAddressReserve)(start, bytes, alignment, wanted, flags));
}
HIP_OVER_CUDA int hipMemAddressFree(CUdeviceptr start, std::size_t bytes) {
    return said(CU(cuMemAddressFree)(start, bytes));
}
HIP_OVER_CUDA int hipMemExportToShareableHandle(void *name, CUmemGenericAllocationHandle block,
                                                int type, unsigned long long flags) {
    return said(CU(cuMemExportToShareableHandle)(
        name, block, static_cast<CUmemAllocationHandleType>(type), flags));
}
HIP_OVER_CUDA int hipMemImportFromShareableHandle(CUmemGenericAllocationHandle *block, void *name,
                                                  int type) {
    return said(CU(cuMemImportFromShareableHandle)(block, name,
                                                   static_cast<CUmemAllocationHandleType>(type)));
}
HIP_OVER_CUDA int hipPointerGetAttribute(void *value, int which, CUdeviceptr pointer) {
    return said(CU(cuPointerGetAttribute)(value, static_cast<CUpointer_attribute>(which), pointer));
}
HIP_OVER_CUDA int hipMemRetainAllocationHandle(CUmemGenericAllocationHandle *block, void *pointer) {
    return said(CU(cuMemRetainAllocationHandle)(block, pointer));
}
HIP_OVER_CUDA int hipMemPoolDestroy(CUmemoryPool pool) { return said(CU(cuMemPoolDestroy)(pool)); }
HIP_OVER_CUDA int hipMemPoolExportToShareableHandle(void *file, CUmemoryPool pool, int type,
                                                    unsigned flags) {
    return said(CU(cuMemPoolExportToShareableHandle)(
        file, pool, static_cast<CUmemAllocationHandleType>(type), flags));
}
HIP_OVER_CUDA int hipMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *file, int type,
                                                      unsigned flags) {
    return said(CU(cuMemPoolImportFromShareableHandle)(
        pool, file, static_cast<CUmemAllocationHandleType>(type), flags));
}
HIP_OVER_CUDA int hipMemPoolExportPointer(CUmemPoolPtrExportData *name, CUdeviceptr pointer) {
    return said(CU(cuMemPoolExportPointer)(name, pointer));
}
HIP_OVER_CUDA int hipMemPoolImportPointer(CUdeviceptr *pointer, CUmemoryPool pool,
                                          CUmemPoolPtrExportData *name) {
    return said(CU(cuMemPoolImportPointer)(pointer, pool, name));
}
HIP_OVER_CUDA int hipIpcGetMemHandle(CUipcMemHandle *name, CUdeviceptr pointer) {
    return said(CU(cuIpcGetMemHandle)(name, pointer));
}
HIP_OVER_CUDA int hipIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle name, unsigned flags) {
    current_device();
    return said(CU(cuIpcOpenMemHandle)(pointer, name, flags));
}
HIP_OVER_CUDA int hipIpcCloseMemHandle(CUdeviceptr pointer) {
    return said(CU(cuIpcCloseMemHandle)(pointer));
}
HIP_OVER_CUDA int hipIpcGetEventHandle(CUipcEventHandle *name, CUevent event) {
    return said(CU(cuIpcGetEventHandle)(name, event));
}
HIP_OVER_CUDA int hipIpcOpenEventHandle(CUevent *event, CUipcEventHandle name) {
    current_device();
    return said(CU(cuIpcOpenEventHandle)(event, name));
}

// ----------------------------------------------------------------- modules

HIP_OVER_CUDA int hipModuleLoadData(CUmodule *module, const void *image) {
    current_device();
    return said(CU(cuModuleLoadData)(module, image));
}
HIP_OVER_CUDA int hipModuleUnload(CUmodule module) { return said(CU(cuModuleUnload)(module)); }
HIP_OVER_CUDA int hipModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    return said(CU(cuModuleGetFunction)(function, module, name));
}
HIP_OVER_CUDA int hipFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function) {
    return said(CU(cuFuncGetAttribute)(value, which, function));
}
HIP_OVER_CUDA int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *groups,
                                                                     CUfunction function, int group,
                                                                     std::size_t dynamic_bytes) {
    return said(
        CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(groups, function, group, dynamic_bytes));
}
HIP_OVER_CUDA int hipModuleLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                        unsigned grid_z, unsigned block_x, unsigned block_y,
                                        unsigned block_z, unsigned dynamic_bytes, CUstream stream,
                                        void **parameters, void **extra) {
    current_device();
    void *const *const asked = extra;
    if (asked == nullptr)
        return said(CU(cuLaunchKernel)(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                       dynamic_bytes, stream, parameters, nullptr));
    // HIP's list ends with 3, CUDA's with 0; their other tags are equal.
    void *list[] = {asked[0], asked[1], asked[2], asked[3], CU_LAUNCH_PARAM_END};
    return said(CU(cuLaunchKernel)(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                   dynamic_bytes, stream, nullptr, list));
}
HIP_OVER_CUDA int hipModuleLaunchCooperativeKernel(CUfunction function, unsigned grid_x,
                                                   unsigned grid_y, unsigned grid_z,
                                                   unsigned block_x, unsigned block_y,
                                                   unsigned block_z, unsigned dynamic_bytes,
                                                   CUstream stream, void **parameters) {
    return said(CU(cuLaunchCooperativeKernel)(function, grid_x, grid_y, grid_z, block_x, block_y,
                                              block_z, dynamic_bytes, stream, parameters));
}
