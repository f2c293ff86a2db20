// The table under test, CUDA's or HIP's.
#pragma once
#include "backends/gpu/driver.hpp"

#include <backends/contract.hpp>

namespace entrepot::contract {

// Opened by main, which ends the program if there is no device.
const ep_backend &gpu_table();

inline auto current_context() {
    using namespace backends::gpu;
    CUcontext now = nullptr;
    check(driver().cuCtxGetCurrent(&now), "cuCtxGetCurrent");
    return now;
}

}  // namespace entrepot::contract
