// Compares HIP's binary interface as backends/hip declares it with HIP's own header of one version.
// Compiling is the test; there is nothing to run.
#include <hip/hip_runtime_api.h>

#define CHECK_SAME(ours, theirs)                                                                   \
    static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #ours)
#define CHECK_PLACE(ours, field, theirs, of_theirs)                                                \
    static_assert(offsetof(ours, field) == offsetof(theirs, of_theirs), #field)

#include "backends/hip/driver.hpp"

namespace ours = entrepot::backends::gpu;

CHECK_SAME(ours::CUDA_ERROR_INVALID_VALUE, hipErrorInvalidValue);
CHECK_SAME(ours::CUDA_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory);
CHECK_SAME(ours::CUDA_ERROR_NOT_INITIALIZED, hipErrorNotInitialized);
CHECK_SAME(ours::CUDA_ERROR_NO_DEVICE, hipErrorNoDevice);
CHECK_SAME(ours::CUDA_ERROR_INVALID_DEVICE, hipErrorInvalidDevice);
CHECK_SAME(ours::CUDA_ERROR_INVALID_IMAGE, hipErrorInvalidImage);
CHECK_SAME(ours::CUDA_ERROR_NO_BINARY_FOR_GPU, hipErrorNoBinaryForGpu);
CHECK_SAME(ours::CUDA_ERROR_ECC_UNCORRECTABLE, hipErrorECCNotCorrectable);
CHECK_SAME(ours::CUDA_ERROR_INVALID_KERNEL_FILE, hipErrorInvalidKernelFile);
CHECK_SAME(ours::CUDA_ERROR_INVALID_SOURCE, hipErrorInvalidSource);
CHECK_SAME(ours::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, hipErrorSharedObjectInitFailed);
CHECK_SAME(ours::CUDA_ERROR_NOT_FOUND, hipErrorNotFound);
CHECK_SAME(ours::CUDA_ERROR_NOT_READY, hipErrorNotReady);
CHECK_SAME(ours::CUDA_ERROR_ILLEGAL_ADDRESS, hipErrorIllegalAddress);
CHECK_SAME(ours::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, hipErrorPeerAccessAlreadyEnabled);
CHECK_SAME(ours::CUDA_ERROR_ASSERT, hipErrorAssert);
CHECK_SAME(ours::CUDA_ERROR_LAUNCH_FAILED, hipErrorLaunchFailure);
CHECK_SAME(ours::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, hipErrorCooperativeLaunchTooLarge);
CHECK_SAME(ours::CUDA_ERROR_NOT_SUPPORTED, hipErrorNotSupported);

CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
           hipDeviceAttributeConcurrentManagedAccess);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, hipDeviceAttributeCooperativeLaunch);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
           hipDeviceAttributeComputeCapabilityMajor);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, hipDeviceAttributeMaxBlockDimX);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, hipDeviceAttributeMaxBlockDimY);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, hipDeviceAttributeMaxBlockDimZ);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, hipDeviceAttributeMaxThreadsPerBlock);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_MAX_PITCH, hipDeviceAttributeMaxPitch);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
           hipDeviceAttributeComputeCapabilityMinor);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, hipDeviceAttributeMultiprocessorCount);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
           hipDeviceAttributePageableMemoryAccess);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
           hipDeviceAttributeMaxSharedMemoryPerBlock);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_WARP_SIZE, hipDeviceAttributeWarpSize);
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
           hipDeviceAttributeMemoryPoolsSupported);

CHECK_SAME(ours::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
CHECK_SAME(ours::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
CHECK_SAME(ours::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
CHECK_SAME(ours::CU_FUNC_ATTRIBUTE_NUM_REGS, HIP_FUNC_ATTRIBUTE_NUM_REGS);

CHECK_SAME(ours::CU_MEMHOSTALLOC_PORTABLE, hipHostMallocPortable);
CHECK_SAME(ours::CU_MEMHOSTREGISTER_PORTABLE, hipHostRegisterPortable);
CHECK_SAME(ours::CU_MEMHOSTREGISTER_DEVICEMAP, hipHostRegisterMapped);
CHECK_SAME(ours::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, hipErrorHostMemoryAlreadyRegistered);
CHECK_SAME(ours::CU_MEM_ATTACH_GLOBAL, hipMemAttachGlobal);
CHECK_SAME(ours::CU_STREAM_NON_BLOCKING, hipStreamNonBlocking);
CHECK_SAME(ours::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, hipErrorStreamCaptureImplicit);
CHECK_SAME(ours::CU_STREAM_CAPTURE_MODE_RELAXED, hipStreamCaptureModeRelaxed);
CHECK_SAME(ours::CU_STREAM_CAPTURE_STATUS_ACTIVE, hipStreamCaptureStatusActive);
CHECK_SAME(ours::CU_EVENT_DISABLE_TIMING, hipEventDisableTiming);
CHECK_SAME(ours::CU_EVENT_INTERPROCESS, hipEventInterprocess);
CHECK_SAME(ours::hipMemcpyDefault, ::hipMemcpyDefault);
CHECK_SAME(ours::CU_MEM_ALLOCATION_TYPE_PINNED, hipMemAllocationTypePinned);
CHECK_SAME(ours::CU_MEM_LOCATION_TYPE_DEVICE, hipMemLocationTypeDevice);
CHECK_SAME(ours::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, hipMemHandleTypePosixFileDescriptor);
CHECK_SAME(ours::CU_MEM_ACCESS_FLAGS_PROT_READWRITE, hipMemAccessFlagsProtReadWrite);
CHECK_SAME(ours::CU_MEM_ALLOC_GRANULARITY_MINIMUM, hipMemAllocationGranularityMinimum);

CHECK_SAME(sizeof(ours::CUuuid), sizeof(hipUUID));
CHECK_SAME(sizeof(ours::CUipcMemHandle), sizeof(hipIpcMemHandle_t));
CHECK_SAME(sizeof(ours::CUipcEventHandle), sizeof(hipIpcEventHandle_t));
CHECK_SAME(sizeof(ours::CUmemPoolPtrExportData), sizeof(hipMemPoolPtrExportData));
CHECK_SAME(sizeof(ours::CUmemPoolProps), sizeof(hipMemPoolProps));
CHECK_PLACE(ours::CUmemPoolProps, location, hipMemPoolProps, location);
CHECK_SAME(sizeof(ours::CUmemAccessDesc), sizeof(hipMemAccessDesc));
CHECK_PLACE(ours::CUmemAccessDesc, flags, hipMemAccessDesc, flags);
CHECK_SAME(sizeof(ours::hipPointerAttribute_t), sizeof(::hipPointerAttribute_t));
CHECK_PLACE(ours::hipPointerAttribute_t, device, ::hipPointerAttribute_t, device);
CHECK_PLACE(ours::hipPointerAttribute_t, isManaged, ::hipPointerAttribute_t, isManaged);
CHECK_SAME(sizeof(ours::hipMemcpy3DParms), sizeof(::hipMemcpy3DParms));
CHECK_PLACE(ours::hipMemcpy3DParms, srcPtr, ::hipMemcpy3DParms, srcPtr);
CHECK_PLACE(ours::hipMemcpy3DParms, dstPtr, ::hipMemcpy3DParms, dstPtr);
CHECK_PLACE(ours::hipMemcpy3DParms, width, ::hipMemcpy3DParms, extent);
CHECK_PLACE(ours::hipMemcpy3DParms, kind, ::hipMemcpy3DParms, kind);

CHECK_SAME(sizeof(ours::hipKernelNodeParams), sizeof(::hipKernelNodeParams));
CHECK_PLACE(ours::hipKernelNodeParams, func, ::hipKernelNodeParams, func);
CHECK_PLACE(ours::hipKernelNodeParams, gridDim, ::hipKernelNodeParams, gridDim);
CHECK_PLACE(ours::hipKernelNodeParams, kernelParams, ::hipKernelNodeParams, kernelParams);
CHECK_PLACE(ours::hipKernelNodeParams, sharedMemBytes, ::hipKernelNodeParams, sharedMemBytes);

#if HIP_VERSION_MAJOR >= 6
CHECK_SAME(ours::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
           hipDeviceAttributeVirtualMemoryManagementSupported);
CHECK_SAME(sizeof(ours::CUmemAllocationProp), sizeof(hipMemAllocationProp));
CHECK_PLACE(ours::CUmemAllocationProp, location, hipMemAllocationProp, location);
#endif
