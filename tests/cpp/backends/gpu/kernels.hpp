// The kernels of the contract, in the common subset of CUDA C++ and HIP C++.
#pragma once

namespace entrepot::contract::gpu_kernels {

inline constexpr const char *indices = R"(
    extern "C" __global__ void indices(long long *out, long long offset) {
        const long long x = blockIdx.x * blockDim.x + threadIdx.x;
        const long long y = blockIdx.y * blockDim.y + threadIdx.y;
        const long long z = blockIdx.z * blockDim.z + threadIdx.z;
        const long long row = z * gridDim.y * blockDim.y + y;
        const long long p = row * gridDim.x * blockDim.x + x;
        out[3 * p] = z;
        out[3 * p + 1] = y;
        out[3 * p + 2] = x + offset;
    })";

inline constexpr const char *spin = R"(
    extern "C" __global__ void spin(long long *out, long long steps, long long value) {
        unsigned long long x = 1;
        for (long long i = 0; i < steps; ++i)
            x = x * 6364136223846793005ull + 1442695040888963407ull;
        out[1] = x;
        out[0] = value;
    })";

inline constexpr const char *reverse = R"(
    extern "C" __global__ void reverse(const int *in, int *out) {
        extern __shared__ int scratch[];
        const int i = threadIdx.x, p = blockIdx.x * blockDim.x + i;
        scratch[i] = in[p];
        __syncthreads();
        out[p] = scratch[blockDim.x - 1 - i];
    })";

}  // namespace entrepot::contract::gpu_kernels
