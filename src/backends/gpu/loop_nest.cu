// Kernels of strided copies and fills, in the common subset of CUDA C++ and HIP C++. For CUDA they
// are compiled to PTX at build time (cmake/cuda_ptx.py) and embedded, so no run-time compiler is
// needed. HIP has no portable code form, so the source is embedded and compiled at run time.
//
// For each unit of 1, 2, 4, 8 and 16 bytes: copy_UNIT, fill_UNIT and transpose_UNIT. Nests of many
// loops use deep_copy_UNIT and deep_fill_UNIT.
#include "device_loop_nest.hpp"

#ifdef __HIP__
#define __grid_constant__  // marks parameters as constant; not in HIP
#endif

using namespace entrepot::backends::loop_nests;

namespace {

struct Place {
    long long to, from;
};

__device__ inline unsigned divide(unsigned dividend, const Step &step) {
    return (__umulhi(dividend, step.multiplier) + dividend) >> step.shift;
}

template <unsigned Depth>
__device__ inline Place place_of(unsigned item, const DeviceLoopNest<Depth> &nest) {
    Place place{0, 0};
#pragma unroll 1
    for (int loop = static_cast<int>(nest.depth) - 1; loop > 0; --loop) {
        const unsigned outer = divide(item, nest.steps[loop]);
        const unsigned index = item - outer * nest.steps[loop].count;
        place.to += index * nest.steps[loop].to;
        place.from += index * nest.steps[loop].from;
        item = outer;
    }
    if (nest.depth > 0) {
        place.to += item * nest.steps[0].to;
        place.from += item * nest.steps[0].from;
    }
    return place;
}

// Each thread processes several items at a time, to hide memory latency.
template <class Unit, unsigned Depth>
__device__ inline void copy(char *to, const char *from, const DeviceLoopNest<Depth> &nest) {
    constexpr unsigned at_once = 4;
    const unsigned stride = gridDim.x * blockDim.x;
#pragma unroll 1
    for (unsigned first = blockIdx.x * blockDim.x + threadIdx.x; first < nest.items;
         first += at_once * stride) {
        Unit values[at_once];
        long long places[at_once];
#pragma unroll
        for (unsigned i = 0; i < at_once; ++i)
            if (first + i * stride < nest.items) {
                const Place place = place_of(first + i * stride, nest);
                places[i] = place.to;
                values[i] = *reinterpret_cast<const Unit *>(from + place.from);
            }
#pragma unroll
        for (unsigned i = 0; i < at_once; ++i)
            if (first + i * stride < nest.items)
                *reinterpret_cast<Unit *>(to + places[i]) = values[i];
    }
}

template <class Unit, unsigned Depth>
__device__ inline void fill(char *to, Unit value, const DeviceLoopNest<Depth> &nest) {
    const unsigned stride = gridDim.x * blockDim.x;
#pragma unroll 1
    for (unsigned item = blockIdx.x * blockDim.x + threadIdx.x; item < nest.items; item += stride)
        *reinterpret_cast<Unit *>(to + place_of(item, nest).to) = value;
}

// A tile is read contiguously in `from` and written contiguously in `to`. The extra column avoids
// bank conflicts.
template <class Unit>
__device__ inline void transpose(char *to, const char *from, const Transposition &plan) {
    __shared__ Unit kept[tile][tile + 1];
    const unsigned column_tile = blockIdx.x % plan.column_tiles;
    const unsigned rest = blockIdx.x / plan.column_tiles;
    const Place place = place_of(rest / plan.row_tiles, plan.batch);
    const unsigned column = column_tile * tile, row = rest % plan.row_tiles * tile;
    from += place.from;
    to += place.to;
    for (unsigned i = threadIdx.y; i < tile; i += tile_rows)
        if (column + i < plan.columns && row + threadIdx.x < plan.rows)
            kept[i][threadIdx.x] = *reinterpret_cast<const Unit *>(
                from + (column + i) * plan.column_from + (row + threadIdx.x) * plan.row_from);
    __syncthreads();
    for (unsigned i = threadIdx.y; i < tile; i += tile_rows)
        if (row + i < plan.rows && column + threadIdx.x < plan.columns)
            *reinterpret_cast<Unit *>(to + (row + i) * plan.row_to +
                                      (column + threadIdx.x) *
                                          static_cast<long long>(sizeof(Unit))) =
                kept[threadIdx.x][i];
}

}  // namespace

#define KERNELS(bytes, Unit)                                                                       \
    extern "C" __global__ void copy_##bytes(                                                       \
        char *to, const char *from, const __grid_constant__ DeviceLoopNest<usual_depth> nest) {    \
        copy<Unit>(to, from, nest);                                                                \
    }                                                                                              \
    extern "C" __global__ void deep_copy_##bytes(                                                  \
        char *to, const char *from, const __grid_constant__ DeviceLoopNest<greatest_depth> nest) { \
        copy<Unit>(to, from, nest);                                                                \
    }                                                                                              \
    extern "C" __global__ void fill_##bytes(                                                       \
        char *to, Unit value, const __grid_constant__ DeviceLoopNest<usual_depth> nest) {          \
        fill(to, value, nest);                                                                     \
    }                                                                                              \
    extern "C" __global__ void deep_fill_##bytes(                                                  \
        char *to, Unit value, const __grid_constant__ DeviceLoopNest<greatest_depth> nest) {       \
        fill(to, value, nest);                                                                     \
    }                                                                                              \
    extern "C" __global__ void transpose_##bytes(char *to, const char *from,                       \
                                                 const __grid_constant__ Transposition plan) {     \
        transpose<Unit>(to, from, plan);                                                           \
    }

KERNELS(1, unsigned char)
KERNELS(2, unsigned short)
KERNELS(4, unsigned int)
KERNELS(8, unsigned long long)
KERNELS(16, uint4)
