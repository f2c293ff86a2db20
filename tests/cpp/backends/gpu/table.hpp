// The table under test, CUDA's or HIP's.
#pragma once
#include "backends/gpu/driver.hpp"

#include <backends/contract.hpp>

namespace entrepot::contract {

// Requires: main has opened the table. Without a device, it skips the tests.
const ep_backend &gpu_table();

inline auto current_context() {
    using namespace backends::gpu;
    CUcontext now = nullptr;
    check(driver().cuCtxGetCurrent(&now), "cuCtxGetCurrent");
    return now;
}

}  // namespace entrepot::contract
