// The CUDA driver: loaded on first use of the backend, never linked. All of its statuses go through
// one check.
#pragma once
#include "backends/boundary.hpp"

#include <cuda.h>

#include <string>

// Functions that this backend uses, by the names of the header, which expand to those of its
// version. Optional ones are newer than the oldest supported driver (CUDA 12.0) and may be NULL.
// clang-format off
#define ENTREPOT_CUDA_DRIVER(required, optional) \
    required(cuDriverGetVersion) required(cuDeviceGetCount) \
    required(cuDeviceGet) required(cuDeviceGetName) \
    required(cuDeviceTotalMem) required(cuDeviceGetAttribute) \
    required(cuDeviceCanAccessPeer) required(cuDeviceGetUuid) \
    required(cuDevicePrimaryCtxRetain) required(cuDevicePrimaryCtxRelease) \
    required(cuDevicePrimaryCtxGetState) \
    required(cuCtxGetCurrent) required(cuCtxPushCurrent) \
    required(cuCtxPopCurrent) required(cuCtxGetDevice) \
    required(cuCtxEnablePeerAccess) required(cuCtxSynchronize) optional(cuCtxRecordEvent) \
    required(cuStreamCreate) required(cuStreamDestroy) \
    required(cuStreamSynchronize) required(cuStreamQuery) \
    required(cuStreamWaitEvent) required(cuStreamGetCtx) \
    required(cuThreadExchangeStreamCaptureMode) \
    required(cuStreamBeginCapture) required(cuStreamEndCapture) \
    required(cuGraphInstantiate) required(cuGraphLaunch) required(cuGraphDestroy) \
    required(cuGraphExecDestroy) required(cuGraphExecKernelNodeSetParams) \
    required(cuUserObjectCreate) required(cuUserObjectRelease) required(cuGraphRetainUserObject) \
    required(cuEventCreate) required(cuEventDestroy) required(cuEventRecord) \
    required(cuEventQuery) required(cuEventSynchronize) \
    required(cuMemPoolCreate) required(cuMemPoolSetAccess) required(cuMemPoolTrimTo) \
    required(cuMemAllocFromPoolAsync) required(cuMemFreeAsync) \
    required(cuMemAlloc) required(cuMemAllocManaged) \
    required(cuMemFree) required(cuMemHostAlloc) required(cuMemFreeHost) \
    required(cuMemHostRegister) required(cuMemHostUnregister) \
    required(cuMemHostGetDevicePointer) \
    required(cuMemGetInfo) required(cuPointerGetAttribute) required(cuPointerGetAttributes) \
    required(cuMemGetAllocationGranularity) required(cuMemGetAllocationPropertiesFromHandle) \
    required(cuMemCreate) required(cuMemRelease) required(cuMemMap) \
    required(cuMemUnmap) required(cuMemSetAccess) \
    required(cuMemAddressReserve) required(cuMemAddressFree) \
    required(cuMemRetainAllocationHandle) \
    required(cuMemPoolDestroy) required(cuMemPoolExportToShareableHandle) \
    required(cuMemPoolImportFromShareableHandle) required(cuMemPoolExportPointer) \
    required(cuMemPoolImportPointer) \
    required(cuMemExportToShareableHandle) required(cuMemImportFromShareableHandle) \
    required(cuIpcGetMemHandle) required(cuIpcOpenMemHandle) required(cuIpcCloseMemHandle) \
    required(cuIpcGetEventHandle) required(cuIpcOpenEventHandle) \
    required(cuMemcpyAsync) required(cuMemcpyPeerAsync) \
    required(cuMemcpy2DAsync) required(cuMemcpy3DAsync) \
    required(cuMemsetD8Async) required(cuMemsetD16Async) \
    required(cuMemsetD32Async) required(cuLaunchHostFunc) \
    required(cuModuleLoadDataEx) required(cuModuleUnload) required(cuModuleGetFunction) \
    optional(cuModuleGetFunctionCount) \
    optional(cuModuleEnumerateFunctions) optional(cuFuncGetName) \
    required(cuFuncGetAttribute) required(cuFuncSetAttribute) optional(cuFuncGetParamInfo) \
    required(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
    required(cuLaunchKernel) required(cuLaunchKernelEx)
// clang-format on

namespace entrepot::backends::gpu {

// Words for messages and selectors of this backend, used by the shared sources (backends/gpu).
inline constexpr const char *selector_word = "cuda", *maker = "NVIDIA", *maker_api = "CUDA",
                            *visible_devices = "CUDA_VISIBLE_DEVICES";
inline constexpr const char *partition_advice =
    "an administrator may divide it with MIG, and its parts are devices then";
inline constexpr const char *context_mark_advice =
    "NVIDIA's driver is too old to mark all work of a context: CUDA 12.5 is the first that can";
inline constexpr const char *mapped_memory_advice =
    "PyTorch's expandable segments have one unless TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC is 0, and "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False uses cudaMalloc, whose memory can be "
    "shared; "
    "other libraries request CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR from cuMemCreate";
inline constexpr const char *pool_advice =
    "cudaMallocAsync needs a pool that was made with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; "
    "PyTorch uses cudaMalloc with PYTORCH_CUDA_ALLOC_CONF=backend:native, and CuPy with its "
    "MemoryPool instead of MemoryAsyncPool";

struct Driver {
#define ENTREPOT_CUDA_MEMBER(function) decltype(&::function) function = nullptr;
    ENTREPOT_CUDA_DRIVER(ENTREPOT_CUDA_MEMBER, ENTREPOT_CUDA_MEMBER)
#undef ENTREPOT_CUDA_MEMBER
    // Newer versions of these do the same and are missing in older drivers.
    CUresult (*event_elapsed_time)(float *milliseconds, CUevent from, CUevent to) = nullptr;
    CUresult (*capture_info)(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *number,
                             CUgraph *graph, const CUgraphNode **dependencies,
                             std::size_t *dependency_count) = nullptr;
    decltype(&::cuGetErrorName) error_name = nullptr;
    decltype(&::cuGetErrorString) error_text = nullptr;
    int version = 0;  // 12040 for CUDA 12.4
    std::string path;
};

// Set by `open_driver`, before any other function of the backend runs.
inline const Driver *opened_driver = nullptr;
inline const Driver &driver() noexcept { return *opened_driver; }

// Returns "12.4" for 12040.
std::string version_text(int version);

// Loads and initializes the driver. Refuses with EP_UNAVAILABLE, saying why that failed and what to
// install.
void open_driver();

[[noreturn]] void fail(CUresult code, const char *function);

inline void check(CUresult code, const char *function) {
    if (code != CUDA_SUCCESS) [[unlikely]]
        fail(code, function);
}

// "CUDA_ERROR_INVALID_VALUE (invalid argument)"
std::string text_of(CUresult code);

// Scope in which a context is current on this thread; the destructor restores the caller's.
class Current {
public:
    explicit Current(CUcontext context) {
        CUcontext now = nullptr;
        check(driver().cuCtxGetCurrent(&now), "cuCtxGetCurrent");
        if (now == context)
            return;
        check(driver().cuCtxPushCurrent(context), "cuCtxPushCurrent");
        is_pushed_ = true;
    }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;
    ~Current() {
        CUcontext ours;
        if (is_pushed_)
            driver().cuCtxPopCurrent(&ours);
    }

private:
    bool is_pushed_ = false;
};

}  // namespace entrepot::backends::gpu
