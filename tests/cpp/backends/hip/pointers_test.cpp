// Pointer attributes as HIP 5 and HIP 6 report them, from a fake runtime.
#include "backends/gpu/native.hpp"

#include <doctest/doctest.h>

namespace entrepot::backends::gpu {
namespace {

// A fake runtime of the given version. The backend uses it until the scope ends.
struct Fabricated {
    static inline hipPointerAttribute_t answer{};
    static inline CUresult status = CUDA_SUCCESS;
    static inline int forgotten = 0;

    explicit Fabricated(int version) {
        answer = {};
        status = CUDA_SUCCESS;
        forgotten = 0;
        made.version = version;
        made.hipPointerGetAttributes = [](hipPointerAttribute_t *found, const void *) {
            *found = answer;
            return status;
        };
        made.hipMemGetAddressRange = [](CUdeviceptr *base, std::size_t *size, CUdeviceptr) {
            *base = 0x1000;
            *size = 256;
            return CUDA_SUCCESS;
        };
        made.hipGetLastError = [] {
            ++forgotten;
            return CUDA_SUCCESS;
        };
        made.hipGetErrorName = made.hipGetErrorString = [](CUresult) { return "an error"; };
        before = std::exchange(opened_driver, &made);
    }
    ~Fabricated() { opened_driver = before; }

    Driver made;
    const Driver *before;
};

PointerAttributes asked() { return attributes_of(reinterpret_cast<void *>(0x1080)); }

constexpr int version_5 = 50221153, version_6 = 60140093, version_7 = 70125424;

}  // namespace

TEST_CASE("HIP 5 numbers memory kinds from 0, unknown pointer fails") {
    const Fabricated runtime(version_5);
    Fabricated::answer.type = 0;
    CHECK(asked().is_of_host());
    CHECK_FALSE(asked().is_pageable());
    Fabricated::answer.type = 1;
    Fabricated::answer.device = 3;
    CHECK(asked().is_of_device());
    CHECK(asked().ordinal == 3);
    Fabricated::answer.isManaged = 1;
    CHECK(asked().is_managed);
    CHECK_FALSE(asked().is_of_device());

    Fabricated::status = CUDA_ERROR_INVALID_VALUE;
    CHECK(asked().is_pageable());
    CHECK_MESSAGE(Fabricated::forgotten == 1, "the runtime's last error is cleared");
}

TEST_CASE("HIP 6 and 7 number kinds from 1, unknown pointer has kind 0") {
    for (const int version : {version_6, version_7}) {
        const Fabricated runtime(version);
        Fabricated::answer.type = 0;
        CHECK(asked().is_pageable());
        Fabricated::answer.type = 1;
        CHECK(asked().is_of_host());
        CHECK_FALSE(asked().is_pageable());
        Fabricated::answer.type = 2;
        CHECK(asked().is_of_device());
        Fabricated::answer.type = 3;
        CHECK(asked().is_managed);
        CHECK_FALSE(asked().is_of_device());
    }
}

TEST_CASE("range of an allocation is reported if known") {
    Fabricated runtime(version_7);
    Fabricated::answer.type = 2;
    CHECK(asked().base == 0x1000);
    CHECK(asked().size == 256);
    runtime.made.hipMemGetAddressRange = [](CUdeviceptr *, std::size_t *, CUdeviceptr) {
        return CUDA_ERROR_NOT_FOUND;
    };
    CHECK(asked().size == 0);
    CHECK(Fabricated::forgotten == 1);
}

TEST_CASE("error names the HIP function, not the CUDA one") {
    const Fabricated runtime(version_7);
    try {
        fail(CUDA_ERROR_INVALID_VALUE, "cuMemFreeAsync");
    } catch (const Refusal &refusal) {
        CHECK(std::string(refusal.what()) == "hipFreeAsync failed with an error");
    }
}

TEST_CASE("HIP versions are written as major.minor") {
    CHECK(version_text(version_5) == "5.2");
    CHECK(version_text(version_7) == "7.1");
}

}  // namespace entrepot::backends::gpu
