// Pointer attributes of HIP, in the form of version 5 and that of later ones.
#include "backends/gpu/native.hpp"

namespace entrepot::backends::gpu {
namespace {

// HIP 5 numbers host, device, array, unified and managed memory from 0. HIP 6 numbers them from 1,
// and 0 is unknown memory.
CUmemorytype memory_type(int type) {
    enum Five { host_of_5 = 0, device_of_5 = 1 };
    enum Later { unknown = 0, host = 1, device = 2, managed = 3 };
    if (driver().major() < 6)
        return type == host_of_5 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    switch (type) {
    case unknown:
        return CUmemorytype{};
    case host:
        return CU_MEMORYTYPE_HOST;
    case device:
    case managed:
    default:
        return CU_MEMORYTYPE_DEVICE;
    }
}

bool is_managed(const hipPointerAttribute_t &found) {
    constexpr int managed = 3;
    return found.isManaged != 0 || (driver().major() >= 6 && found.type == managed);
}

}  // namespace

PointerAttributes attributes_of(const void *pointer) {
    PointerAttributes attributes;
    if (pointer == nullptr)  // the runtime refuses it
        return attributes;
    hipPointerAttribute_t found{};
    const CUresult code = driver().hipPointerGetAttributes(&found, pointer);
    if (code == CUDA_ERROR_INVALID_VALUE) {  // unknown to HIP 5
        driver().hipGetLastError();
        return attributes;
    }
    check(code, "hipPointerGetAttributes");
    attributes.type = memory_type(found.type);
    if (attributes.is_pageable())
        return attributes;
    attributes.is_managed = is_managed(found);
    attributes.ordinal = found.device;
    if (driver().hipMemGetAddressRange(&attributes.base, &attributes.size, address(pointer)) !=
        CUDA_SUCCESS) {
        driver().hipGetLastError();
        attributes.base = attributes.size = 0;  // the range of some memory is unknown
    }
    return attributes;
}

}  // namespace entrepot::backends::gpu
