// Shared by the two halves of the library: NVIDIA's functions, opened at their first use.
#pragma once
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#define HIP_OVER_CUDA extern "C" __attribute__((visibility("default")))

namespace hip_over_cuda {

// Ends the process if a needed function is missing.
inline void *symbol_of(void *library, const char *name) {
    void *const found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) {
        std::fprintf(stderr, "hip_over_cuda: there is no %s\n", name);
        std::abort();
    }
    return found;
}

}  // namespace hip_over_cuda
