/* Structs that earlier versions of HIP laid out otherwise, by names of their own. hip.toml says
 * which library means which. */
#pragma once
#include <hip/hip_runtime_api.h>

/** HIP_MEMCPY3D of HIP 5. */
typedef struct HIP_MEMCPY3DR0000 {
    unsigned int srcXInBytes, srcY, srcZ, srcLOD;
    hipMemoryType srcMemoryType;
    const void *srcHost;
    hipDeviceptr_t srcDevice;
    hipArray_t srcArray;
    unsigned int srcPitch, srcHeight;
    unsigned int dstXInBytes, dstY, dstZ, dstLOD;
    hipMemoryType dstMemoryType;
    void *dstHost;
    hipDeviceptr_t dstDevice;
    hipArray_t dstArray;
    unsigned int dstPitch, dstHeight;
    unsigned int WidthInBytes, Height, Depth;
} HIP_MEMCPY3DR0000;

/** hipExternalSemaphoreSignalParams of HIP 5. */
typedef struct hipExternalSemaphoreSignalParamsR0000 {
    struct {
        struct {
            unsigned long long value;
        } fence;
        struct {
            unsigned long long key;
        } keyedMutex;
        unsigned int reserved[12];
    } params;
    unsigned int flags;
    unsigned int reserved[16];
} hipExternalSemaphoreSignalParamsR0000;

/** hipExternalSemaphoreWaitParams of HIP 5. */
typedef struct hipExternalSemaphoreWaitParamsR0000 {
    struct {
        struct {
            unsigned long long value;
        } fence;
        struct {
            unsigned long long key;
            unsigned int timeoutMs;
        } keyedMutex;
        unsigned int reserved[10];
    } params;
    unsigned int flags;
    unsigned int reserved[16];
} hipExternalSemaphoreWaitParamsR0000;

/** hipMemAllocationProp before HIP 5.3. */
typedef struct hipMemAllocationPropR0000 {
    unsigned char compressionType;
    hipMemLocation location;
    hipMemAllocationHandleType requestedHandleType;
    hipMemAllocationType type;
    unsigned short usage;
    void *win32HandleMetaData;
} hipMemAllocationPropR0000;

/** HIP_MEMSET_NODE_PARAMS of HIP 6. */
typedef struct HIP_MEMSET_NODE_PARAMSR0600 {
    hipDeviceptr_t dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
} HIP_MEMSET_NODE_PARAMSR0600;
