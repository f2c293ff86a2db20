// Compiles only if our structures equal those of the official dlpack.h; test_dlpack.py compiles it.
#include <dlpack/dlpack.h>

#include <entrepot/core/dtype.hpp>
#include <entrepot/exchange/c_exchange_api.hpp>

namespace ours = entrepot::dlpack;

#define SAME_SIZE(type)                                                                            \
    static_assert(sizeof(ours::type) == sizeof(::type) && alignof(ours::type) == alignof(::type))
#define SAME_MEMBER(type, member)                                                                  \
    static_assert(offsetof(ours::type, member) == offsetof(::type, member) &&                      \
                  sizeof(ours::type::member) == sizeof(::type::member))
#define SAME_VALUE(value)                                                                          \
    static_assert(static_cast<long>(ours::value) == static_cast<long>(::value))

static_assert(ours::version.major == DLPACK_MAJOR_VERSION &&
              ours::version.minor == DLPACK_MINOR_VERSION);
static_assert(ours::flag_read_only == DLPACK_FLAG_BITMASK_READ_ONLY);
static_assert(ours::flag_is_copied == DLPACK_FLAG_BITMASK_IS_COPIED);
static_assert(ours::flag_subbyte_type_padded == DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

SAME_SIZE(DLPackVersion);
SAME_MEMBER(DLPackVersion, major);
SAME_MEMBER(DLPackVersion, minor);

SAME_SIZE(DLDeviceType);
SAME_VALUE(kDLCPU);
SAME_VALUE(kDLCUDA);
SAME_VALUE(kDLCUDAHost);
SAME_VALUE(kDLOpenCL);
SAME_VALUE(kDLVulkan);
SAME_VALUE(kDLMetal);
SAME_VALUE(kDLVPI);
SAME_VALUE(kDLROCM);
SAME_VALUE(kDLROCMHost);
SAME_VALUE(kDLExtDev);
SAME_VALUE(kDLCUDAManaged);
SAME_VALUE(kDLOneAPI);
SAME_VALUE(kDLWebGPU);
SAME_VALUE(kDLHexagon);
SAME_VALUE(kDLMAIA);
SAME_VALUE(kDLTrn);

SAME_SIZE(DLDevice);
SAME_MEMBER(DLDevice, device_type);
SAME_MEMBER(DLDevice, device_id);

SAME_SIZE(DLDataType);
SAME_MEMBER(DLDataType, code);
SAME_MEMBER(DLDataType, bits);
SAME_MEMBER(DLDataType, lanes);

SAME_SIZE(DLTensor);
SAME_MEMBER(DLTensor, data);
SAME_MEMBER(DLTensor, device);
SAME_MEMBER(DLTensor, ndim);
SAME_MEMBER(DLTensor, dtype);
SAME_MEMBER(DLTensor, shape);
SAME_MEMBER(DLTensor, strides);
SAME_MEMBER(DLTensor, byte_offset);

SAME_SIZE(DLManagedTensor);
SAME_MEMBER(DLManagedTensor, dl_tensor);
SAME_MEMBER(DLManagedTensor, manager_ctx);
SAME_MEMBER(DLManagedTensor, deleter);

SAME_SIZE(DLManagedTensorVersioned);
SAME_MEMBER(DLManagedTensorVersioned, version);
SAME_MEMBER(DLManagedTensorVersioned, manager_ctx);
SAME_MEMBER(DLManagedTensorVersioned, deleter);
SAME_MEMBER(DLManagedTensorVersioned, flags);
SAME_MEMBER(DLManagedTensorVersioned, dl_tensor);

SAME_SIZE(DLPackExchangeAPIHeader);
SAME_MEMBER(DLPackExchangeAPIHeader, version);
SAME_MEMBER(DLPackExchangeAPIHeader, prev_api);

SAME_SIZE(DLPackExchangeAPI);
SAME_MEMBER(DLPackExchangeAPI, header);
SAME_MEMBER(DLPackExchangeAPI, managed_tensor_allocator);
SAME_MEMBER(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync);
SAME_MEMBER(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync);
SAME_MEMBER(DLPackExchangeAPI, dltensor_from_py_object_no_sync);
SAME_MEMBER(DLPackExchangeAPI, current_work_stream);

// The codes of our Dtype are DLPack's.
#define SAME_CODE(code, official)                                                                  \
    static_assert(static_cast<long>(entrepot::TypeCode::code) == static_cast<long>(official))

SAME_CODE(integer, kDLInt);
SAME_CODE(unsigned_integer, kDLUInt);
SAME_CODE(floating, kDLFloat);
SAME_CODE(opaque, kDLOpaqueHandle);
SAME_CODE(bfloat, kDLBfloat);
SAME_CODE(complex, kDLComplex);
SAME_CODE(boolean, kDLBool);
SAME_CODE(float8_e3m4, kDLFloat8_e3m4);
SAME_CODE(float8_e4m3, kDLFloat8_e4m3);
SAME_CODE(float8_e4m3b11fnuz, kDLFloat8_e4m3b11fnuz);
SAME_CODE(float8_e4m3fn, kDLFloat8_e4m3fn);
SAME_CODE(float8_e4m3fnuz, kDLFloat8_e4m3fnuz);
SAME_CODE(float8_e5m2, kDLFloat8_e5m2);
SAME_CODE(float8_e5m2fnuz, kDLFloat8_e5m2fnuz);
SAME_CODE(float8_e8m0fnu, kDLFloat8_e8m0fnu);
SAME_CODE(float6_e2m3fn, kDLFloat6_e2m3fn);
SAME_CODE(float6_e3m2fn, kDLFloat6_e3m2fn);
SAME_CODE(float4_e2m1fn, kDLFloat4_e2m1fn);
