// The table under test, and the driver's own functions for what the table does not do: other people's contexts and streams.
#pragma once
#include "backends/cuda/driver.hpp"

#include <backends/contract.hpp>

#include <dlfcn.h>

namespace entrepot::contract {

// The CUDA backend's table; opened by main, which ends the program where there is no device.
const ep_backend &cuda_table();

// A function of the driver that the backend does not use: driver_function<decltype(&::cuMemCreate)>("cuMemCreate").
template <class Function> Function driver_function(const char *name) {
    void *const library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    REQUIRE(library != nullptr);
    void *const found = dlsym(library, name);
    REQUIRE_MESSAGE(found != nullptr, name);
    return reinterpret_cast<Function>(found);
}

inline CUcontext current_context() {
    CUcontext now = nullptr;
    backends::cuda::check(backends::cuda::driver().cuCtxGetCurrent(&now), "cuCtxGetCurrent");
    return now;
}

}  // namespace entrepot::contract
