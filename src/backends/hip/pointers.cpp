// What the HIP runtime knows of a pointer, as version 5 says it or as later ones do.
#include "backends/gpu/native.hpp"

namespace entrepot::backends::hip {
namespace {

// HIP 5 counts host, device, array, unified and managed memory from 0 on; HIP 6 says 0 of what it does not know, and counts
// from 1.
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
    if (pointer == nullptr)  // which the runtime refuses to be asked about
        return attributes;
    hipPointerAttribute_t found{};
    const CUresult code = driver().hipPointerGetAttributes(&found, pointer);
    if (code == CUDA_ERROR_INVALID_VALUE) {  // how HIP 5 says that it does not know it
        driver().hipGetLastError();
        return attributes;
    }
    check(code, "hipPointerGetAttributes");
    attributes.type = memory_type(found.type);
    if (attributes.is_pageable())
        return attributes;
    attributes.is_managed = is_managed(found);
    attributes.ordinal = found.device;
    if (driver().hipMemGetAddressRange(&attributes.base, &attributes.size, address(pointer)) != CUDA_SUCCESS) {
        driver().hipGetLastError();
        attributes.base = attributes.size = 0;  // of some memory it knows the kind and not the range
    }
    return attributes;
}

}  // namespace entrepot::backends::hip
