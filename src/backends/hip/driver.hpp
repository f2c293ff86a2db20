// The HIP runtime: loaded on first use of the backend, never linked. All of its statuses go through
// one check.
//
// The sources of backends/gpu use the names of CUDA's driver, which this header maps to HIP's. Most
// functions have a twin with the same parameters. If HIP or one of its versions differs, a function
// in driver.cpp adapts it.
//
// The declarations are HIP's binary interface as far as versions 5, 6 and 7 agree. Headers of HIP
// cannot be used: those of two versions contradict each other, and either may be present at run
// time. A test compares the declarations with the headers that it finds.
//
// A device has one context in HIP, and functions for others are deprecated: a CUcontext is the
// device's position in the list.
#pragma once
#include "backends/boundary.hpp"

#include <cstdint>
#include <string>

namespace entrepot::backends::gpu {

// Words for messages and selectors of this backend, used by the shared sources (backends/gpu).
inline constexpr const char *selector_word = "hip", *maker = "AMD", *maker_api = "HIP",
                            *visible_devices = "HIP_VISIBLE_DEVICES";
inline constexpr const char *partition_advice =
    "an administrator may choose another compute partition, and its parts are devices then";
inline constexpr const char *context_mark_advice =
    "HIP has nothing that marks all work of a device";
inline constexpr const char *mapped_memory_advice =
    "use hipMalloc, as PyTorch does with PYTORCH_HIP_ALLOC_CONF=expandable_segments:False, or "
    "request hipMemHandleTypePosixFileDescriptor from hipMemCreate";
inline constexpr const char *pool_advice =
    "hipMallocAsync needs a pool that was made with hipMemHandleTypePosixFileDescriptor; memory of "
    "hipMalloc can be shared";

// -------------------------------------------------------------------- types

using CUdevice = int;
using CUdeviceptr = std::uintptr_t;
using CUcontext = struct DeviceOfContext *;
using CUstream = struct ihipStream_t *;
using CUevent = struct ihipEvent_t *;
using CUmodule = struct ihipModule_t *;
using CUfunction = struct ihipModuleSymbol_t *;
using CUmemoryPool = struct ihipMemPoolHandle_t *;
using CUmemGenericAllocationHandle = struct ihipMemGenericAllocationHandle *;
using CUgraph = struct ihipGraph *;
using CUgraphNode = struct hipGraphNode *;
using CUgraphExec = struct hipGraphExec *;
using CUuserObject = struct hipUserObject *;
using CUhostFn = void (*)(void *user);
using cuuint64_t = unsigned long long;

inline const CUstream CU_STREAM_LEGACY = nullptr;
inline const CUstream CU_STREAM_PER_THREAD = reinterpret_cast<CUstream>(std::uintptr_t{2});

enum CUresult : int {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_INVALID_KERNEL_FILE = 218,
    CUDA_ERROR_INVALID_SOURCE = 300,
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
    CUDA_ERROR_INVALID_CLUSTER_SIZE = -1,  // never: HIP has no clusters
    CUDA_ERROR_NOT_PERMITTED = -2,         // never
};

enum CUdevice_attribute : int {
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 9,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 10,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 23,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 26,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 27,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 28,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 56,
    CU_DEVICE_ATTRIBUTE_MAX_PITCH = 58,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 61,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 63,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 65,
    // all local memory, without opting in
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 74,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 87,
    CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 88,
    // since HIP 6, with files for IPC
    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 89,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 89,
    CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = -1,  // not in HIP: 0 for all devices
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = -1,
    // The runtime ignores the flag, and devices write to the memory all the same.
    CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = -1,
    CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED = -2,  // not in HIP: an attempt tells
};

enum CUfunction_attribute : int {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = -1,
};

// The first is answered in driver.cpp. HIP does not have the last two.
enum CUpointer_attribute : int {
    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
    CU_POINTER_ATTRIBUTE_MAPPING_SIZE = -1,
    CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = -2,
};
// These have no effect in HIP.
enum CUjit_option : int { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };

// Entrepot's own: the numbers of HIP 5 and 6 contradict each other; pointers.cpp reads both.
enum CUmemorytype : int { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };

enum : unsigned {
    CU_MEMHOSTALLOC_PORTABLE = 1,
    CU_MEMHOSTREGISTER_PORTABLE = 1,
    CU_MEMHOSTREGISTER_DEVICEMAP = 2,
    CU_MEMHOSTREGISTER_READ_ONLY = 8,
    CU_MEM_ATTACH_GLOBAL = 1,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_INTERPROCESS = 4,
    CU_EVENT_WAIT_DEFAULT = 0,
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1,
    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1,
    CU_GRAPH_USER_OBJECT_MOVE = 1,
};

enum CUstreamCaptureMode : int { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum CUstreamCaptureStatus : int {
    CU_STREAM_CAPTURE_STATUS_NONE = 0,
    CU_STREAM_CAPTURE_STATUS_ACTIVE = 1
};

struct CUuuid {
    char bytes[16];
};
struct CUipcMemHandle {
    char reserved[64];
};
struct CUipcEventHandle {
    char reserved[64];
};
struct CUmemFabricHandle {
    char data[64];
};
struct CUmemPoolPtrExportData {
    unsigned char reserved[64];
};

enum CUmemAllocationType : int { CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemLocationType : int { CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum CUmemAllocationHandleType : int {
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
    CU_MEM_HANDLE_TYPE_FABRIC = 0
};
enum CUmemAccess_flags : int { CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 };
enum CUmemAllocationGranularity_flags : int { CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0 };

struct CUmemLocation {
    CUmemLocationType type;
    int id;
};
struct CUmemAccessDesc {
    CUmemLocation location;
    CUmemAccess_flags flags;
};
struct CUmemPoolProps {
    CUmemAllocationType allocType;
    CUmemAllocationHandleType handleTypes;
    CUmemLocation location;
    void *security_attributes;
    std::size_t most_bytes;
    unsigned char reserved[56];
};
struct CUmemAllocationProp {  // since HIP 6
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    CUmemLocation location;
    void *metadata;
    unsigned char flags[8];
};

// Entrepot's own, since versions before HIP 7 have no such structures.
enum CUlaunchAttributeID : int {
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
};
struct CUlaunchAttribute {
    CUlaunchAttributeID id;
    struct {
        int cooperative;
        struct {
            unsigned x, y, z;
        } clusterDim;
    } value;
};
struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
};

struct CUDA_KERNEL_NODE_PARAMS {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void **kernelParams;
};

// HIP's own types, used by driver.cpp, pointers.cpp and strided.cpp.
struct hipDim3 {
    unsigned x, y, z;
};
struct hipKernelNodeParams {
    hipDim3 blockDim;
    void **extra;
    void *func;
    hipDim3 gridDim;
    void **kernelParams;
    unsigned sharedMemBytes;
};
struct hipPointerAttribute_t {
    int type, device;
    void *devicePointer, *hostPointer;
    int isManaged;
    unsigned allocationFlags;
};
struct hipPitchedPtr {
    void *ptr;
    std::size_t pitch, xsize, ysize;
};
struct hipMemcpy3DParms {
    void *srcArray;
    std::size_t srcPos[3];
    hipPitchedPtr srcPtr;
    void *dstArray;
    std::size_t dstPos[3];
    hipPitchedPtr dstPtr;
    std::size_t width, height, depth;
    int kind;
};
inline constexpr int hipMemcpyDefault = 4;

// ---------------------------------------------------------------- functions

// Functions that have a twin: CUDA's name, HIP's name, and the parameters.
// clang-format off
#define ENTREPOT_HIP_TWINS(twin) \
    twin(cuDriverGetVersion, hipRuntimeGetVersion, (int *version)) \
    twin(cuDeviceGetCount, hipGetDeviceCount, (int *count)) \
    twin(cuDeviceGet, hipDeviceGet, (CUdevice *device, int number)) \
    twin(cuDeviceGetName, hipDeviceGetName, (char *name, int bytes, CUdevice device)) \
    twin(cuDeviceTotalMem, hipDeviceTotalMem, (std::size_t *bytes, CUdevice device)) \
    twin(cuDeviceCanAccessPeer, hipDeviceCanAccessPeer, \
         (int *can, CUdevice device, CUdevice peer)) \
    twin(cuDeviceGetUuid, hipDeviceGetUuid, (CUuuid *number, CUdevice device)) \
    twin(cuCtxGetDevice, hipGetDevice, (CUdevice *device)) \
    twin(cuCtxSynchronize, hipDeviceSynchronize, ()) \
    twin(cuStreamCreate, hipStreamCreateWithFlags, (CUstream *stream, unsigned flags)) \
    twin(cuStreamDestroy, hipStreamDestroy, (CUstream stream)) \
    twin(cuStreamSynchronize, hipStreamSynchronize, (CUstream stream)) \
    twin(cuStreamWaitEvent, hipStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags)) \
    twin(cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode, \
         (CUstreamCaptureMode *mode)) \
    twin(capture_info, hipStreamGetCaptureInfo_v2, \
         (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *number, CUgraph *graph, \
          const CUgraphNode **dependencies, std::size_t *dependency_count)) \
    twin(cuStreamBeginCapture, hipStreamBeginCapture, (CUstream stream, CUstreamCaptureMode mode)) \
    twin(cuStreamEndCapture, hipStreamEndCapture, (CUstream stream, CUgraph *graph)) \
    twin(cuGraphLaunch, hipGraphLaunch, (CUgraphExec graph, CUstream stream)) \
    twin(cuGraphDestroy, hipGraphDestroy, (CUgraph graph)) \
    twin(cuGraphExecDestroy, hipGraphExecDestroy, (CUgraphExec graph)) \
    twin(cuEventCreate, hipEventCreateWithFlags, (CUevent *event, unsigned flags)) \
    twin(cuEventDestroy, hipEventDestroy, (CUevent event)) \
    twin(cuEventRecord, hipEventRecord, (CUevent event, CUstream stream)) \
    twin(cuEventSynchronize, hipEventSynchronize, (CUevent event)) \
    twin(event_elapsed_time, hipEventElapsedTime, (float *milliseconds, CUevent from, CUevent to)) \
    twin(cuMemPoolCreate, hipMemPoolCreate, \
         (CUmemoryPool *pool, const CUmemPoolProps *properties)) \
    twin(cuMemPoolSetAccess, hipMemPoolSetAccess, \
         (CUmemoryPool pool, const CUmemAccessDesc *access, std::size_t count)) \
    twin(cuMemPoolTrimTo, hipMemPoolTrimTo, (CUmemoryPool pool, std::size_t bytes)) \
    twin(cuMemAllocFromPoolAsync, hipMallocFromPoolAsync, \
         (CUdeviceptr *pointer, std::size_t bytes, CUmemoryPool pool, CUstream stream)) \
    twin(cuMemFreeAsync, hipFreeAsync, (CUdeviceptr pointer, CUstream stream)) \
    twin(cuMemAlloc, hipMalloc, (CUdeviceptr *pointer, std::size_t bytes)) \
    twin(cuMemAllocManaged, hipMallocManaged, \
         (CUdeviceptr *pointer, std::size_t bytes, unsigned flags)) \
    twin(cuMemFree, hipFree, (CUdeviceptr pointer)) \
    twin(cuMemHostAlloc, hipHostMalloc, (void **pointer, std::size_t bytes, unsigned flags)) \
    twin(cuMemFreeHost, hipHostFree, (void *pointer)) \
    twin(cuMemHostRegister, hipHostRegister, (void *pointer, std::size_t bytes, unsigned flags)) \
    twin(cuMemHostUnregister, hipHostUnregister, (void *pointer)) \
    twin(cuMemHostGetDevicePointer, hipHostGetDevicePointer, \
         (CUdeviceptr *seen, void *pointer, unsigned flags)) \
    twin(cuMemGetInfo, hipMemGetInfo, (std::size_t *free, std::size_t *all)) \
    twin(cuMemGetAllocationGranularity, hipMemGetAllocationGranularity, \
         (std::size_t *step, const CUmemAllocationProp *properties, \
          CUmemAllocationGranularity_flags option)) \
    twin(cuMemGetAllocationPropertiesFromHandle, hipMemGetAllocationPropertiesFromHandle, \
         (CUmemAllocationProp *properties, CUmemGenericAllocationHandle block)) \
    twin(cuMemCreate, hipMemCreate, \
         (CUmemGenericAllocationHandle *block, std::size_t bytes, \
          const CUmemAllocationProp *properties, unsigned long long flags)) \
    twin(cuMemRelease, hipMemRelease, (CUmemGenericAllocationHandle block)) \
    twin(cuMemMap, hipMemMap, \
         (CUdeviceptr start, std::size_t bytes, std::size_t offset, \
          CUmemGenericAllocationHandle block, unsigned long long flags)) \
    twin(cuMemUnmap, hipMemUnmap, (CUdeviceptr start, std::size_t bytes)) \
    twin(cuMemSetAccess, hipMemSetAccess, \
         (CUdeviceptr start, std::size_t bytes, const CUmemAccessDesc *access, std::size_t count)) \
    twin(cuMemAddressReserve, hipMemAddressReserve, \
         (CUdeviceptr *start, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted, \
          unsigned long long flags)) \
    twin(cuMemAddressFree, hipMemAddressFree, (CUdeviceptr start, std::size_t bytes)) \
    twin(cuMemExportToShareableHandle, hipMemExportToShareableHandle, \
         (void *name, CUmemGenericAllocationHandle block, CUmemAllocationHandleType type, \
          unsigned long long flags)) \
    twin(cuMemImportFromShareableHandle, hipMemImportFromShareableHandle, \
         (CUmemGenericAllocationHandle *block, void *name, CUmemAllocationHandleType type)) \
    twin(cuIpcGetMemHandle, hipIpcGetMemHandle, (CUipcMemHandle *name, CUdeviceptr pointer)) \
    twin(cuIpcOpenMemHandle, hipIpcOpenMemHandle, \
         (CUdeviceptr *pointer, CUipcMemHandle name, unsigned flags)) \
    twin(cuIpcCloseMemHandle, hipIpcCloseMemHandle, (CUdeviceptr pointer)) \
    twin(cuIpcGetEventHandle, hipIpcGetEventHandle, (CUipcEventHandle *name, CUevent event)) \
    twin(cuIpcOpenEventHandle, hipIpcOpenEventHandle, (CUevent *event, CUipcEventHandle name)) \
    twin(cuMemsetD8Async, hipMemsetD8Async, \
         (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream)) \
    twin(cuMemsetD16Async, hipMemsetD16Async, \
         (CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream)) \
    twin(cuMemsetD32Async, hipMemsetD32Async, \
         (CUdeviceptr to, int value, std::size_t count, CUstream stream)) \
    twin(cuModuleUnload, hipModuleUnload, (CUmodule module)) \
    twin(cuModuleGetFunction, hipModuleGetFunction, \
         (CUfunction *function, CUmodule module, const char *name)) \
    twin(cuFuncGetAttribute, hipFuncGetAttribute, \
         (int *value, CUfunction_attribute which, CUfunction function)) \
    twin(cuOccupancyMaxActiveBlocksPerMultiprocessor, \
         hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, \
         (int *groups, CUfunction function, int group, std::size_t dynamic_bytes)) \
    twin(cuLaunchKernel, hipModuleLaunchKernel, \
         (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
          unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_bytes, \
          CUstream stream, void **parameters, void **extra))

// Functions of HIP that implement those of CUDA without a twin, for driver.cpp and its neighbors.
#define ENTREPOT_HIP_OWN(required, optional) \
    required(hipSetDevice, (int device)) \
    required(hipGetLastError, ()) \
    required(hipDeviceGetAttribute, (int *value, CUdevice_attribute which, CUdevice device)) \
    required(hipDeviceEnablePeerAccess, (int peer, unsigned flags)) \
    required(hipStreamQuery, (CUstream stream)) \
    required(hipEventQuery, (CUevent event)) \
    optional(hipStreamGetDevice, (CUstream stream, CUdevice *device)) \
    optional(hipUserObjectCreate, \
             (CUuserObject *made, void *user, CUhostFn release, unsigned references, \
              unsigned flags)) \
    optional(hipUserObjectRelease, (CUuserObject object, unsigned references)) \
    optional(hipGraphRetainUserObject, \
             (CUgraph graph, CUuserObject object, unsigned references, unsigned flags)) \
    required(hipGraphInstantiate, \
             (CUgraphExec *made, CUgraph graph, CUgraphNode *failed, char *log, \
              std::size_t bytes)) \
    optional(hipGraphExecKernelNodeSetParams, \
             (CUgraphExec graph, CUgraphNode node, const hipKernelNodeParams *parameters)) \
    optional(hipLaunchHostFunc, (CUstream stream, CUhostFn function, void *user)) \
    required(hipStreamAddCallback, \
             (CUstream stream, void (*function)(CUstream, CUresult, void *), void *user, \
              unsigned flags)) \
    required(hipPointerGetAttributes, (hipPointerAttribute_t *found, const void *pointer)) \
    required(hipMemGetAddressRange, (CUdeviceptr *base, std::size_t *size, CUdeviceptr pointer)) \
    optional(hipPointerGetAttribute, \
             (void *value, CUpointer_attribute which, CUdeviceptr pointer)) \
    optional(hipMemRetainAllocationHandle, (CUmemGenericAllocationHandle *block, void *pointer)) \
    optional(hipMemPoolDestroy, (CUmemoryPool pool)) \
    optional(hipMemPoolExportToShareableHandle, \
             (void *file, CUmemoryPool pool, CUmemAllocationHandleType type, unsigned flags)) \
    optional(hipMemPoolImportFromShareableHandle, \
             (CUmemoryPool *pool, void *file, CUmemAllocationHandleType type, unsigned flags)) \
    optional(hipMemPoolExportPointer, (CUmemPoolPtrExportData *name, void *pointer)) \
    optional(hipMemPoolImportPointer, \
             (void **pointer, CUmemoryPool pool, CUmemPoolPtrExportData *name)) \
    required(hipMemcpyAsync, \
             (void *to, const void *from, std::size_t bytes, int kind, CUstream stream)) \
    required(hipMemcpyPeerAsync, \
             (CUdeviceptr to, int to_device, CUdeviceptr from, int from_device, std::size_t bytes, \
              CUstream stream)) \
    required(hipMemcpy2DAsync, \
             (void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch, \
              std::size_t width, std::size_t height, int kind, CUstream stream)) \
    required(hipMemcpy3DAsync, (const hipMemcpy3DParms *plan, CUstream stream)) \
    required(hipModuleLoadData, (CUmodule *module, const void *image)) \
    required(hipModuleLaunchCooperativeKernel, \
             (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
              unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_bytes, \
              CUstream stream, void **parameters))
// clang-format on

struct Driver {
#define ENTREPOT_HIP_TWIN(name, of_hip, takes) CUresult(*name) takes = nullptr;
    ENTREPOT_HIP_TWINS(ENTREPOT_HIP_TWIN)
#undef ENTREPOT_HIP_TWIN
#define ENTREPOT_HIP_MEMBER(name, takes) CUresult(*name) takes = nullptr;
    ENTREPOT_HIP_OWN(ENTREPOT_HIP_MEMBER, ENTREPOT_HIP_MEMBER)
#undef ENTREPOT_HIP_MEMBER
    // before hipStreamGetDevice (5.6), which is preferred
    int (*hipGetStreamDeviceId)(CUstream stream) = nullptr;
    const char *(*hipGetErrorName)(CUresult code) = nullptr;
    const char *(*hipGetErrorString)(CUresult code) = nullptr;

    // Adapters, in driver.cpp.
    CUresult (*cuDeviceGetAttribute)(int *value, CUdevice_attribute which,
                                     CUdevice device) = nullptr;
    CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *context, CUdevice device) = nullptr;
    CUresult (*cuDevicePrimaryCtxRelease)(CUdevice device) = nullptr;
    CUresult (*cuDevicePrimaryCtxGetState)(CUdevice device, unsigned *flags, int *active) = nullptr;
    CUresult (*cuCtxGetCurrent)(CUcontext *context) = nullptr;
    CUresult (*cuCtxEnablePeerAccess)(CUcontext peer, unsigned flags) = nullptr;
    // Always NULL, since HIP lacks it.
    CUresult (*cuCtxRecordEvent)(CUcontext context, CUevent event) = nullptr;
    CUresult (*cuStreamGetCtx)(CUstream stream, CUcontext *context) = nullptr;
    CUresult (*cuStreamQuery)(CUstream stream) = nullptr;
    CUresult (*cuEventQuery)(CUevent event) = nullptr;
    CUresult (*cuPointerGetAttribute)(void *value, CUpointer_attribute which,
                                      CUdeviceptr pointer) = nullptr;
    // NULL if the runtime lacks the function.
    CUresult (*cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle *block,
                                            void *pointer) = nullptr;
    CUresult (*cuMemPoolDestroy)(CUmemoryPool pool) = nullptr;
    CUresult (*cuMemPoolExportToShareableHandle)(void *file, CUmemoryPool pool,
                                                 CUmemAllocationHandleType type,
                                                 unsigned long long flags) = nullptr;
    CUresult (*cuMemPoolImportFromShareableHandle)(CUmemoryPool *pool, void *file,
                                                   CUmemAllocationHandleType type,
                                                   unsigned long long flags) = nullptr;
    CUresult (*cuMemPoolExportPointer)(CUmemPoolPtrExportData *name, CUdeviceptr pointer) = nullptr;
    CUresult (*cuMemPoolImportPointer)(CUdeviceptr *pointer, CUmemoryPool pool,
                                       CUmemPoolPtrExportData *name) = nullptr;
    CUresult (*cuMemcpyAsync)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                              CUstream stream) = nullptr;
    CUresult (*cuMemcpyPeerAsync)(CUdeviceptr to, CUcontext of_to, CUdeviceptr from,
                                  CUcontext of_from, std::size_t bytes, CUstream stream) = nullptr;
    CUresult (*cuLaunchHostFunc)(CUstream stream, CUhostFn function, void *user) = nullptr;
    CUresult (*cuUserObjectCreate)(CUuserObject *made, void *user, CUhostFn release,
                                   unsigned references, unsigned flags) = nullptr;
    CUresult (*cuUserObjectRelease)(CUuserObject object, unsigned references) = nullptr;
    CUresult (*cuGraphRetainUserObject)(CUgraph graph, CUuserObject object, unsigned references,
                                        unsigned flags) = nullptr;
    CUresult (*cuGraphInstantiate)(CUgraphExec *made, CUgraph graph,
                                   unsigned long long flags) = nullptr;
    CUresult (*cuGraphExecKernelNodeSetParams)(CUgraphExec graph, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS *changed) = nullptr;
    CUresult (*cuModuleLoadDataEx)(CUmodule *module, const void *image, unsigned count,
                                   CUjit_option *options, void **values) = nullptr;
    // Not all of these exist in HIP.
    CUresult (*cuModuleGetFunctionCount)(unsigned *count, CUmodule module) = nullptr;
    CUresult (*cuModuleEnumerateFunctions)(CUfunction *functions, unsigned count,
                                           CUmodule module) = nullptr;
    CUresult (*cuFuncGetName)(const char **name, CUfunction function) = nullptr;
    CUresult (*cuFuncGetParamInfo)(CUfunction function, std::size_t index, std::size_t *offset,
                                   std::size_t *bytes) = nullptr;
    CUresult (*cuFuncSetAttribute)(CUfunction function, CUfunction_attribute which,
                                   int value) = nullptr;
    CUresult (*cuLaunchKernelEx)(const CUlaunchConfig *config, CUfunction function,
                                 void **parameters, void **extra) = nullptr;

    int version = 0;  // 60140093 for HIP 6.1
    std::string path;

    int major() const noexcept { return version / 10000000; }
};

// Set by `open_driver`, before any other function of the backend runs.
inline const Driver *opened_driver = nullptr;
inline const Driver &driver() noexcept { return *opened_driver; }

// The library, loaded but not initialized: that of ENTREPOT_HIP_LIBRARY, else the copy already in
// the process, else a package's, else the system's. Refuses with EP_UNAVAILABLE, listing what was
// tried.
void *hip_library();

// Returns "6.1" for 60140093.
std::string version_text(int version);

// Loads and initializes the runtime. Refuses with EP_UNAVAILABLE, saying why that failed and what
// to install.
void open_driver();

// Takes CUDA's name of the function; the message has HIP's.
[[noreturn]] void fail(CUresult code, const char *function);

inline void check(CUresult code, const char *function) {
    if (code != CUDA_SUCCESS) [[unlikely]]
        fail(code, function);
}

// "hipErrorInvalidValue (invalid argument)"
std::string text_of(CUresult code);

inline CUcontext context_at(CUdevice device) noexcept {
    return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1);
}
inline CUdevice device_at(CUcontext context) noexcept {
    return static_cast<CUdevice>(reinterpret_cast<std::uintptr_t>(context) - 1);
}

// Scope in which a context's device is current on this thread; the destructor restores the
// caller's.
class Current {
public:
    explicit Current(CUcontext context) {
        check(driver().cuCtxGetDevice(&before_), "cuCtxGetDevice");
        now_ = device_at(context);
        if (now_ != before_)
            check(driver().hipSetDevice(now_), "hipSetDevice");
    }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;
    ~Current() {
        if (now_ != before_)
            driver().hipSetDevice(before_);
    }

private:
    CUdevice before_ = 0, now_ = 0;
};

}  // namespace entrepot::backends::gpu
