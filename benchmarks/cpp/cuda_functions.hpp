// Functions of the CUDA driver for the benchmarks that compare with it, and a kernel that does
// nothing.
#pragma once
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace benchmarks {

// The driver is opened as the backend opens it.
inline void *find_function(const char *name) {
    static void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *const function = library ? dlsym(library, name) : nullptr;
    if (!function) {
        std::fprintf(stderr, "the driver has no function %s\n", name);
        std::exit(1);
    }
    return function;
}

#define EXPANDED(name) #name
// Macro, because the header's name expands to that of the version that it declares.
#define DRIVER_FUNCTION(function)                                                                  \
    (reinterpret_cast<decltype(&::function)>(::benchmarks::find_function(EXPANDED(function))))

inline void check(CUresult code) {
    if (code != CUDA_SUCCESS) {
        std::fprintf(stderr, "the driver failed with %d\n", static_cast<int>(code));
        std::exit(1);
    }
}

// nothing(pointer, pointer, float, unsigned), and with what our kernels of four arrays take,
// nothing_to_four(pointers, long long)
inline constexpr char nothing_ptx[] =
    ".version 7.0\n"
    ".target sm_52\n"
    ".address_size 64\n"
    ".visible .entry nothing(.param .u64 a, .param .u64 b, .param .f32 x, .param .u32 n) {\n"
    "    ret;\n"
    "}\n"
    ".visible .entry nothing_to_four(.param .u64 a, .param .u64 b, .param .u64 c, "
    ".param .u64 d, .param .u64 n) {\n"
    "    ret;\n"
    "}\n"
    ".visible .entry nothing_to_eight(.param .u64 a, .param .u64 b, .param .u64 c, "
    ".param .u64 d, .param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h, "
    ".param .u64 n) {\n"
    "    ret;\n"
    "}\n";

}  // namespace benchmarks
