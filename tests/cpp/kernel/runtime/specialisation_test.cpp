// Specialisations: the dialect that a device's kernels are written in, by what the device builds.
#include <entrepot/kernel/runtime/specialisation.hpp>

#include <doctest/doctest.h>

#include <initializer_list>

#include "fake_backend.hpp"

namespace entrepot::kernel {
namespace {

Device device_that_builds(std::initializer_list<ep_dialect> dialects) {
    fake::world().dialects = 0;
    for (const ep_dialect dialect : dialects)
        fake::world().dialects |= 1u << dialect;
    return fake::device();
}

}  // namespace

TEST_CASE("a device has its kernels in OpenCL C, without it in SYCL's source, and in another one if that is asked for") {
    const Device usual = device_that_builds({EP_SPIRV, EP_SYCL_SOURCE, EP_OPENCL_C});
    CHECK(usual_dialect(usual) == EP_OPENCL_C);
    CHECK(dialect_for(usual, {}) == EP_OPENCL_C);
    CHECK(dialect_for(usual, {.dialect = EP_SYCL_SOURCE}) == EP_SYCL_SOURCE);

    const Device without = device_that_builds({EP_SPIRV, EP_SYCL_SOURCE});  // as those of Level Zero may be
    CHECK(usual_dialect(without) == EP_SYCL_SOURCE);
    CHECK(dialect_for(without, {}) == EP_SYCL_SOURCE);
    CHECK(target_for(without, dialect_for(without, {}), 2, {}).dialect == Dialect::sycl);
}

TEST_CASE("a device that builds no dialect of kernels has none") {
    CHECK(usual_dialect(device_that_builds({EP_SPIRV})) == std::nullopt);
    device_that_builds({EP_OPENCL_C});
}

}  // namespace entrepot::kernel
