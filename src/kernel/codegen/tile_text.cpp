#include "kernel/codegen/tile_text.hpp"

namespace entrepot::kernel {

// Fragments are those of mma.sync (PTX ISA, "Matrix Fragments for mma.m16n8k16"). A lane has rows
// lane / 4 and lane / 4 + 8. Its columns are 2 * (lane % 4) and the next one.
const std::string_view tile_cuda = R"(#define TILE_LANES 32
#define TILE_FRAGMENT_COLUMNS 8
#define TILE_PAIR 2  // elements of a lane in neighboring columns
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TILE_WGMMA
#endif

static __device__ __forceinline__ unsigned tile_row(unsigned lane, unsigned i) {
    return lane / 4 + i / 2 * 8;
}
static __device__ __forceinline__ unsigned tile_column(unsigned lane, unsigned i) {
    return lane % 4 * 2 + i % 2;
}

static __device__ __forceinline__ float tile_from_float16(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
static __device__ __forceinline__ float tile_from_bfloat16(unsigned short bits) {
    return __uint_as_float((unsigned)bits << 16);
}
static __device__ __forceinline__ unsigned short tile_to_float16(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
static __device__ __forceinline__ unsigned short tile_to_bfloat16(float value) {
    const unsigned bits = __float_as_uint(value);
    return value != value ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// Copies `bytes` of 16 bytes; the others become zeros.
static __device__ __forceinline__ void tile_copy(void *to, const void *from, int bytes) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
#else
    for (int i = 0; i < 16; ++i)
        ((unsigned char *)to)[i] = i < bytes ? ((const unsigned char *)from)[i] : 0;
#endif
}
static __device__ __forceinline__ void tile_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until the products of this warp have been added: wgmma runs while the warp continues.
static __device__ __forceinline__ void tile_finish() {
#ifdef TILE_WGMMA
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
}
// wgmma reads local memory through another proxy, for which the fence orders the writes.
template <int PENDING> static __device__ __forceinline__ void tile_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
#ifdef TILE_WGMMA
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Reads four elements at an address that is a multiple of 16.
static __device__ __forceinline__ void tile_read_four(float *to, const float *from) {
    const float4 four = *(const float4 *)from;
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}
// The sum after tile_finish(): the compiler cannot read its register earlier.
static __device__ __forceinline__ float tile_finished(float sum) {
    asm volatile("" : "+f"(sum)::"memory");
    return sum;
}
static __device__ __forceinline__ double tile_finished(double sum) { return sum; }

#if __CUDA_ARCH__ >= 800
// Four matrices of 8 rows of 16 bytes; the lanes of each quarter give the addresses of one.
static __device__ __forceinline__ void tile_ldmatrix(unsigned *to, const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}
static __device__ __forceinline__ void tile_ldmatrix_transposed(unsigned *to, const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}
#define TILE_MMA(shape)                                                                            \
    asm volatile("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "       \
                 "{%0, %1, %2, %3};"                                                               \
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <int KIND>
static __device__ __forceinline__ void tile_mma(float *sum, const unsigned *a, const unsigned *b) {
    if constexpr (KIND == TILE_FLOAT16)
        TILE_MMA("m16n8k16.row.col.f32.f16.f16.f32");
    else if constexpr (KIND == TILE_BFLOAT16)
        TILE_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
    else
        TILE_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
}
#undef TILE_MMA
static __device__ __forceinline__ void tile_mma_float64(double *sum, double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(sum[0]), "+d"(sum[1])
                 : "d"(a), "d"(b));
}
static __device__ __forceinline__ unsigned tile_tf32(unsigned bits) {
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
}
#endif
)";

// Fragments are those of v_mfma_f32_16x16x16_f16: a lane has the column lane % 16, and 4 rows from
// 4 * (lane / 16) on.
const std::string_view tile_hip = R"(#define TILE_LANES 64
#define TILE_FRAGMENT_COLUMNS 16
#define TILE_PAIR 1  // elements of a lane in neighboring columns
#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) ||    \
    defined(__gfx950__)
#define TILE_MFMA
#endif

static __device__ __forceinline__ unsigned tile_row(unsigned lane, unsigned i) {
    return lane / 16 * 4 + i;
}
static __device__ __forceinline__ unsigned tile_column(unsigned lane, unsigned) {
    return lane % 16;
}

static __device__ __forceinline__ float tile_from_float16(unsigned short bits) {
    return (float)__builtin_bit_cast(_Float16, bits);
}
static __device__ __forceinline__ float tile_from_bfloat16(unsigned short bits) {
    return __builtin_bit_cast(float, (unsigned)bits << 16);
}
static __device__ __forceinline__ unsigned short tile_to_float16(float value) {
    return __builtin_bit_cast(unsigned short, (_Float16)value);
}
static __device__ __forceinline__ unsigned short tile_to_bfloat16(float value) {
    const unsigned bits = __builtin_bit_cast(unsigned, value);
    return value != value ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// Copies `bytes` of 16 bytes; the others become zeros.
static __device__ __forceinline__ void tile_copy(void *to, const void *from, int bytes) {
    typedef unsigned four __attribute__((ext_vector_type(4)));
    if (bytes == 16)
        *(four *)to = *(const four *)from;
    else
        for (int i = 0; i < 16; ++i)
            ((unsigned char *)to)[i] = i < bytes ? ((const unsigned char *)from)[i] : 0;
}
static __device__ __forceinline__ void tile_commit() {}
static __device__ __forceinline__ void tile_finish() {}
template <int PENDING> static __device__ __forceinline__ void tile_wait() {}
template <class Sum> static __device__ __forceinline__ Sum tile_finished(Sum sum) { return sum; }
// Reads four elements at an address that is a multiple of 16.
static __device__ __forceinline__ void tile_read_four(float *to, const float *from) {
    typedef float vector __attribute__((ext_vector_type(4)));
    const vector four = *(const vector *)from;
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

#ifdef TILE_MFMA
typedef float tile_sums __attribute__((ext_vector_type(4)));
typedef _Float16 tile_float16s __attribute__((ext_vector_type(4)));
typedef short tile_bfloat16s __attribute__((ext_vector_type(4)));
#endif
)";

const std::string_view tile_common = R"(
template <int KIND> struct tile_types { typedef unsigned short element; typedef float sum; };
template <> struct tile_types<TILE_TF32> { typedef float element; typedef float sum; };
template <> struct tile_types<TILE_FLOAT32> { typedef float element; typedef float sum; };
template <> struct tile_types<TILE_FLOAT64> { typedef double element; typedef double sum; };

template <int KIND>
static __device__ __forceinline__ typename tile_types<KIND>::sum
tile_value(typename tile_types<KIND>::element element) {
    if constexpr (KIND == TILE_FLOAT16)
        return tile_from_float16(element);
    else if constexpr (KIND == TILE_BFLOAT16)
        return tile_from_bfloat16(element);
    else
        return element;
}
template <int KIND, class Sum>
static __device__ __forceinline__ typename tile_types<KIND>::element tile_element(Sum value) {
    if constexpr (KIND == TILE_FLOAT16)
        return tile_to_float16((float)value);
    else if constexpr (KIND == TILE_BFLOAT16)
        return tile_to_bfloat16((float)value);
    else
        return value;
}

// Number of the work-item in its group. The mask tells compilers that it has 10 bits, so that they
// can combine its bits with constants.
static __device__ __forceinline__ unsigned tile_item() { return group_thread() & 1023; }

// Columns of a panel: those of 128 bytes, or fewer if they do not divide a row.
template <class T> static __device__ constexpr int tile_panel(int columns) {
    const int chunk = 16 / sizeof(T), chunks = columns / chunk, lowest = chunks & -chunks;
    return (lowest < 8 ? lowest : 8) * chunk;
}

// Offset of an element in local memory. TILE_SWIZZLED and TILE_ROTATED store panels of rows, one
// after the other. Chunks of 16 bytes change places within a row of a panel, so that the same chunk
// of 8 rows is in different banks. The layout TILE_SWIZZLED is that of wgmma. With TILE_ROTATED,
// lanes that read 4 rows of 8 columns of 4 bytes use all banks.
template <class T, int LAYOUT, int ROWS, int COLUMNS>
static __device__ __forceinline__ unsigned tile_offset(unsigned row, unsigned column, int stride) {
    if constexpr (LAYOUT != TILE_SWIZZLED && LAYOUT != TILE_ROTATED) {
        return row * (LAYOUT == TILE_STRIDED ? stride : COLUMNS) + column;
    } else {
        constexpr unsigned chunk = 16 / sizeof(T), panel = tile_panel<T>(COLUMNS);
        constexpr unsigned places = panel / chunk;
        unsigned place = row / (8 / places) % places;
        if (LAYOUT == TILE_ROTATED && places == 8)
            place = (place & 3) << 1 | place >> 2;
        return column / panel * (ROWS * panel) + row * panel + (column % panel ^ place * chunk);
    }
}

// Copies chunks of 16 bytes. If the number of work-items allows it, each has one column of chunks,
// so that its addresses differ by constants.
template <class T, int ROWS, int COLUMNS, int ITEMS, int LAYOUT>
static __device__ __forceinline__ void tile_load_chunks(T *tile, const T *first, long long stride) {
    constexpr int chunk = 16 / sizeof(T), across = COLUMNS / chunk, count = ROWS * across;
    const unsigned item = tile_item();
    if constexpr (ITEMS % across == 0 && count % ITEMS == 0) {
        constexpr int step = ITEMS / across;
        const unsigned r = item / across, c = item % across * chunk;
        const T *from = first + r * stride + c;
#pragma unroll
        for (int i = 0; i < count / ITEMS; ++i) {
            const unsigned offset = step % 8 == 0
                                   ? tile_offset<T, LAYOUT, ROWS, COLUMNS>(r, c, 0) +
                                         tile_offset<T, LAYOUT, ROWS, COLUMNS>(i * step, 0, 0)
                                   : tile_offset<T, LAYOUT, ROWS, COLUMNS>(r + i * step, c, 0);
            tile_copy(tile + offset, from, 16);
            from += step * stride;
        }
    } else {
        for (unsigned number = item; number < count; number += ITEMS) {
            const unsigned r = number / across, c = number % across * chunk;
            tile_copy(tile + tile_offset<T, LAYOUT, ROWS, COLUMNS>(r, c, 0),
                      first + r * stride + c, 16);
        }
    }
}

template <class T, int ROWS, int COLUMNS, int ITEMS, int LAYOUT, bool ASYNC>
static __device__ __forceinline__ void tile_load(T *tile, int tile_stride, const T *array,
                                                 long long rows, long long columns,
                                                 long long stride, long long column_stride,
                                                 long long row, long long column) {
    constexpr int chunk = 16 / sizeof(T);
    bool has_chunks = false;
    if constexpr (LAYOUT != TILE_STRIDED && COLUMNS % chunk == 0) {
        has_chunks = column_stride == 1 && stride % chunk == 0 && column % chunk == 0 &&
                     row >= 0 && column >= 0 && (unsigned long long)array % 16 == 0;
        if (has_chunks && row + ROWS <= rows && column + COLUMNS <= columns)
            tile_load_chunks<T, ROWS, COLUMNS, ITEMS, LAYOUT>(
                tile, array + row * stride + column, stride);
        else if (has_chunks)
#pragma unroll 1
            for (unsigned number = tile_item(); number < ROWS * COLUMNS / chunk; number += ITEMS) {
                const unsigned r = number / (COLUMNS / chunk), c = number % (COLUMNS / chunk) * chunk;
                const long long left = row + r < rows ? columns - column - c : 0;
                const int elements = left <= 0 ? 0 : left >= chunk ? chunk : (int)left;
                tile_copy(tile + tile_offset<T, LAYOUT, ROWS, COLUMNS>(r, c, 0),
                          elements == 0 ? array : array + (row + r) * stride + column + c,
                          elements * (int)sizeof(T));
            }
    }
    if (!has_chunks)
#pragma unroll 1
        for (unsigned number = tile_item(); number < ROWS * COLUMNS; number += ITEMS) {
            const unsigned r = number / COLUMNS, c = number % COLUMNS;
            const long long from_row = row + r, from_column = column + c;
            const bool is_inside =
                from_row >= 0 && from_row < rows && from_column >= 0 && from_column < columns;
            tile[tile_offset<T, LAYOUT, ROWS, COLUMNS>(r, c, tile_stride)] =
                is_inside ? array[from_row * stride + from_column * column_stride] : T();
        }
    if (!ASYNC) {
        tile_commit();
        tile_wait<0>();
    }
}

// The part of a warp: `down` blocks of 16 rows, which are ROWS * 16 rows apart, and `across`
// fragments of columns.
template <int M, int N, int WARPS, int ROWS> struct tile_warp {
    static constexpr int columns = WARPS / ROWS, down = M / ROWS / 16,
                         across = N / columns / TILE_FRAGMENT_COLUMNS;
    const unsigned lane, top, left;

    __device__ __forceinline__ tile_warp(unsigned item)
        : lane(item % TILE_LANES), top(item / TILE_LANES % ROWS * 16),
          left(item / TILE_LANES / ROWS * (across * TILE_FRAGMENT_COLUMNS)) {}
    static __device__ __forceinline__ unsigned row(unsigned i) { return i * (ROWS * 16); }
};

// Calls visit(number in the accumulator, row, column) for the elements of this work-item.
template <int M, int N, int WARPS, int ROWS, class Visit>
static __device__ __forceinline__ void tile_for_each(Visit visit) {
    typedef tile_warp<M, N, WARPS, ROWS> Warp;
    const Warp warp(tile_item());
#pragma unroll
    for (int i = 0; i < Warp::down; ++i)
#pragma unroll
        for (int j = 0; j < Warp::across; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e)
                visit((i * Warp::across + j) * 4 + e,
                      warp.top + Warp::row(i) + tile_row(warp.lane, e),
                      warp.left + j * TILE_FRAGMENT_COLUMNS + tile_column(warp.lane, e));
}

// Order of the elements of an accumulator, for the instructions that add to it. The groups of 4
// warps that run wgmma together are in GROUP_ROWS rows; it is 0 if none can.
template <int SUMS, int GROUP_ROWS> static __device__ constexpr int tile_order() {
#ifdef TILE_WGMMA
    if (GROUP_ROWS != 0)
        return SUMS;
#endif
    return TILE_WARPS;
}

template <int KIND, int M, int N, int WARPS, int ROWS, int SUMS, int GROUP_ROWS, class Sum>
static __device__ __forceinline__ void
tile_store(typename tile_types<KIND>::element *array, long long rows, long long columns,
           long long stride, long long column_stride, long long row, long long column,
           const Sum *sums) {
    const bool is_inside = row >= 0 && column >= 0 && row + M <= rows && column + N <= columns;
    tile_finish();
    const auto write = [&](int number, unsigned r, unsigned c) {
        const long long to_row = row + r, to_column = column + c;
        const Sum sum = tile_finished(sums[number]);
        if (is_inside || (to_row >= 0 && to_row < rows && to_column >= 0 && to_column < columns))
            array[to_row * stride + to_column * column_stride] = tile_element<KIND>(sum);
    };
    constexpr int order = tile_order<SUMS, GROUP_ROWS>();
    if constexpr (order == TILE_TRANSPOSED)
        tile_for_each<N, M, WARPS, 4 * GROUP_ROWS>([&](int number, unsigned c, unsigned r) { write(number, r, c); });
    else
        tile_for_each<M, N, WARPS, order == TILE_GROUPS ? 4 * GROUP_ROWS : ROWS>(write);
}

// The product of a warp's part by fused multiply-adds.
template <int KIND, int M, int N, int K, int WARPS, int ROWS, int LAYOUT_A, int LAYOUT_B>
static __device__ __forceinline__ void
tile_loops(const typename tile_types<KIND>::element *a, int stride_a,
           const typename tile_types<KIND>::element *b, int stride_b,
           typename tile_types<KIND>::sum *sums) {
    typedef typename tile_types<KIND>::element T;
    typedef typename tile_types<KIND>::sum Sum;
    typedef tile_warp<M, N, WARPS, ROWS> Warp;
    const Warp warp(tile_item());
    constexpr int down = Warp::down, across = Warp::across;
    // Elements of a row of `a` that follow each other in every layout.
    constexpr int run = LAYOUT_A != TILE_STRIDED && sizeof(T) == 4 ? 4 : 1;
    // The layout repeats after 8 rows, so that one round has constant distances of addresses.
#pragma unroll 1
    for (unsigned round = 0; round < K / 8; ++round)
#pragma unroll
        for (unsigned part = 0; part < 8; part += run) {
            T of_a[down][4][run];
#pragma unroll
            for (int i = 0; i < down; ++i)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const T *const from = a + tile_offset<T, LAYOUT_A, M, K>(
                        warp.top + Warp::row(i) + tile_row(warp.lane, e), round * 8 + part, stride_a);
                    if constexpr (run == 4)
                        tile_read_four(of_a[i][e], from);
                    else
                        of_a[i][e][0] = *from;
                }
#pragma unroll
            for (unsigned next = 0; next < run; ++next) {
                Sum of_b[across][4];
#pragma unroll
                for (int j = 0; j < across; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        of_b[j][e] = tile_value<KIND>(b[tile_offset<T, LAYOUT_B, K, N>(
                            round * 8 + part + next,
                            warp.left + j * TILE_FRAGMENT_COLUMNS +
                                tile_column(warp.lane, e / TILE_PAIR * TILE_PAIR),
                            stride_b) + e % TILE_PAIR]);
#pragma unroll
                for (int i = 0; i < down; ++i)
#pragma unroll
                    for (int e = 0; e < 4; ++e)
#pragma unroll
                        for (int j = 0; j < across; ++j)
                            sums[(i * across + j) * 4 + e] +=
                                tile_value<KIND>(of_a[i][e][next]) * of_b[j][e];
            }
        }
}
)";

const std::string_view tile_matmul_cuda = R"(
#if __CUDA_ARCH__ >= 800
// The part of `a` for 16 rows, and of `b` for 16 columns, at one step of mma.sync.
template <int KIND, int M, int K, int LAYOUT>
static __device__ __forceinline__ void
tile_fragment_a(unsigned *to, const typename tile_types<KIND>::element *a, int stride,
                unsigned top, unsigned k, unsigned lane) {
    typedef typename tile_types<KIND>::element T;
    if constexpr (LAYOUT != TILE_STRIDED) {
        tile_ldmatrix(to, a + tile_offset<T, LAYOUT, M, K>(top + lane % 16,
                                                        k + lane / 16 * (16 / (int)sizeof(T)), 0));
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned row = top + lane / 4 + i % 2 * 8;
            if constexpr (sizeof(T) == 2) {
                const T *const from = a + row * stride + k + lane % 4 * 2 + i / 2 * 8;
                to[i] = from[0] | (unsigned)from[1] << 16;
            } else {
                to[i] = __float_as_uint(a[row * stride + k + lane % 4 + i / 2 * 4]);
            }
        }
    }
    if constexpr (KIND == TILE_TF32)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            to[i] = tile_tf32(to[i]);
}
template <int KIND, int K, int N, int LAYOUT>
static __device__ __forceinline__ void
tile_fragment_b(unsigned *to, const typename tile_types<KIND>::element *b, int stride,
                unsigned left, unsigned k, unsigned lane) {
    typedef typename tile_types<KIND>::element T;
    if constexpr (KIND == TILE_TF32) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            to[i] = tile_tf32(__float_as_uint(b[tile_offset<T, LAYOUT, K, N>(
                k + lane % 4 + i % 2 * 4, left + lane / 4 + i / 2 * 8, stride)]));
    } else if constexpr (LAYOUT != TILE_STRIDED) {
        tile_ldmatrix_transposed(
            to, b + tile_offset<T, LAYOUT, K, N>(k + lane % 16, left + lane / 16 * 8, 0));
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const T *const from =
                b + (k + lane % 4 * 2 + i % 2 * 8) * stride + left + lane / 4 + i / 2 * 8;
            to[i] = from[0] | (unsigned)from[stride] << 16;
        }
    }
}
#endif

#ifdef TILE_WGMMA
static __device__ __forceinline__ void tile_wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void tile_wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Describes a swizzled tile in local memory (PTX ISA, "Matrix Descriptor Format"). Panels are `next`
// bytes apart, and blocks of 8 rows are `eight` bytes apart.
template <int PANEL_BYTES>
static __device__ __forceinline__ unsigned long long tile_descriptor(const void *first, int next,
                                                                     int eight) {
    constexpr unsigned long long mode = PANEL_BYTES == 128 ? 1 : PANEL_BYTES == 64 ? 2 : 3;
    return ((unsigned)__cvta_generic_to_shared(first) & 0x3ffff) >> 4 |
           (unsigned long long)(next >> 4) << 16 | (unsigned long long)(eight >> 4) << 32 |
           mode << 62;
}

// Instructions of one precision with 64 rows and N columns; the kernel's text has those it needs.
template <int KIND, int N> struct tile_wgmma;

// A group of 4 warps multiplies blocks of 64 rows of `a` by its columns of `b`. Both are in local
// memory.
template <int KIND, int M, int N, int K, int WARPS, int GROUP_ROWS>
static __device__ __forceinline__ void tile_matmul_of_groups(const unsigned short *a,
                                                             const unsigned short *b, float *sums) {
    constexpr int columns = N * GROUP_ROWS / (WARPS / 4), panel = tile_panel<unsigned short>(K);
    const unsigned group = tile_item() / 128, left = group / GROUP_ROWS * columns;
    const unsigned top = group % GROUP_ROWS * 64;
    tile_wgmma_fence();
#pragma unroll
    for (int k = 0; k < K; k += 16) {
        const unsigned long long of_b =
            tile_descriptor<128>(b + left * K + k * 64, K * 128, 8 * 128);
#pragma unroll
        for (int i = 0; i < M / (64 * GROUP_ROWS); ++i)
            tile_wgmma<KIND, columns>::run(
                sums + i * (columns / 2),
                tile_descriptor<panel * 2>(a + k / panel * (M * panel) +
                                               (i * (64 * GROUP_ROWS) + top) * panel + k % panel,
                                           0, 8 * panel * 2),
                of_b);
    }
    tile_wgmma_commit();
}

// Tensor cores read tiles of 4-byte elements along k only, which is how `a` is stored. Therefore the
// sums are those of the transposed product, and `b` is in registers.
template <int M, int N, int K, int WARPS, int GROUP_ROWS>
static __device__ __forceinline__ void tile_matmul_transposed(const float *a, const float *b,
                                                              float *sums) {
    constexpr int rows = M * GROUP_ROWS / (WARPS / 4), panel = tile_panel<float>(K);
    constexpr int blocks = N / (64 * GROUP_ROWS);
    const unsigned item = tile_item(), lane = item % 32, group = item / 128;
    const unsigned left = item / 32 % (4 * GROUP_ROWS) * 16, top = group / GROUP_ROWS * rows;
    unsigned of_b[K / 8][blocks][4];
#pragma unroll
    for (int k = 0; k < K / 8; ++k) {
#pragma unroll
        for (int i = 0; i < blocks; ++i)
#pragma unroll
            for (int e = 0; e < 4; ++e)
                of_b[k][i][e] = tile_tf32(__float_as_uint(b[tile_offset<float, TILE_ROTATED, K, N>(
                    k * 8 + lane % 4 + e / 2 * 4,
                    i * (64 * GROUP_ROWS) + left + lane / 4 + e % 2 * 8, 0)]));
        const unsigned long long of_a = tile_descriptor<panel * 4>(
            a + k * 8 / panel * (M * panel) + top * panel + k * 8 % panel, 0, 8 * panel * 4);
        tile_wgmma_fence();
#pragma unroll
        for (int i = 0; i < blocks; ++i)
            tile_wgmma<TILE_TF32, rows>::run(sums + i * (rows / 2), of_b[k][i], of_a);
        tile_wgmma_commit();
    }
}
#endif

template <int KIND, int M, int N, int K, int WARPS, int ROWS, int SUMS, int GROUP_ROWS, int LAYOUT_A,
          int LAYOUT_B>
static __device__ __forceinline__ void
tile_matmul(const typename tile_types<KIND>::element *a, int stride_a,
            const typename tile_types<KIND>::element *b, int stride_b,
            typename tile_types<KIND>::sum *sums) {
    constexpr int order = tile_order<SUMS, GROUP_ROWS>();
#ifdef TILE_WGMMA
    if constexpr (order == TILE_GROUPS) {
        tile_matmul_of_groups<KIND, M, N, K, WARPS, GROUP_ROWS>(a, b, sums);
        return;
    }
    if constexpr (order == TILE_TRANSPOSED) {
        tile_matmul_transposed<M, N, K, WARPS, GROUP_ROWS>(a, b, sums);
        return;
    }
#endif
#if __CUDA_ARCH__ >= 800
    typedef tile_warp<M, N, WARPS, ROWS> Warp;
    const Warp warp(tile_item());
    constexpr int down = Warp::down, across = Warp::across;
    const unsigned lane = warp.lane, top = warp.top, left = warp.left;
    if constexpr (order != TILE_WARPS) {
        return;
    } else if constexpr (KIND == TILE_FLOAT64) {
#pragma unroll
        for (int k = 0; k < K; k += 4) {
            double factors[across];
#pragma unroll
            for (int j = 0; j < across; ++j)
                factors[j] = b[tile_offset<double, LAYOUT_B, K, N>(
                    k + lane % 4, left + j * 8 + lane / 4, stride_b)];
#pragma unroll
            for (int i = 0; i < down * 2; ++i) {
                const double factor = a[tile_offset<double, LAYOUT_A, M, K>(
                    top + Warp::row(i / 2) + i % 2 * 8 + lane / 4, k + lane % 4, stride_a)];
#pragma unroll
                for (int j = 0; j < across; ++j)
                    tile_mma_float64(sums + ((i / 2 * across + j) * 2 + i % 2) * 2, factor,
                                     factors[j]);
            }
        }
        return;
    } else if constexpr (KIND != TILE_FLOAT32) {
        constexpr int step = KIND == TILE_TF32 ? 8 : 16;
#pragma unroll
        for (int k = 0; k < K; k += step) {
            unsigned of_a[down][4], of_b[across / 2][4];
#pragma unroll
            for (int i = 0; i < down; ++i)
                tile_fragment_a<KIND, M, K, LAYOUT_A>(of_a[i], a, stride_a, top + Warp::row(i), k,
                                                      lane);
#pragma unroll
            for (int j = 0; j < across / 2; ++j)
                tile_fragment_b<KIND, K, N, LAYOUT_B>(of_b[j], b, stride_b, left + j * 16, k,
                                                      lane);
#pragma unroll
            for (int i = 0; i < down; ++i)
#pragma unroll
                for (int j = 0; j < across; ++j)
                    tile_mma<KIND>(sums + (i * across + j) * 4, of_a[i], of_b[j / 2] + j % 2 * 2);
        }
        return;
    }
#endif
    tile_loops<KIND, M, N, K, WARPS, ROWS, LAYOUT_A, LAYOUT_B>(a, stride_a, b, stride_b, sums);
}
)";

const std::string_view tile_matmul_hip = R"(
template <int KIND, int M, int N, int K, int WARPS, int ROWS, int SUMS, int GROUP_ROWS, int LAYOUT_A,
          int LAYOUT_B>
static __device__ __forceinline__ void
tile_matmul(const typename tile_types<KIND>::element *a, int stride_a,
            const typename tile_types<KIND>::element *b, int stride_b,
            typename tile_types<KIND>::sum *sums) {
    typedef typename tile_types<KIND>::element T;
#ifdef TILE_MFMA
    typedef tile_warp<M, N, WARPS, ROWS> Warp;
    const Warp warp(tile_item());
    constexpr int down = Warp::down, across = Warp::across;
    const unsigned lane = warp.lane, top = warp.top, left = warp.left;
    if constexpr (KIND != TILE_FLOAT64) {
        // A lane has the row of `a`, or the column of `b`, lane % 16, and `each` elements along k.
        constexpr int each = sizeof(T) == 2 ? 4 : 1;
        T of_a[down][each], of_b[across][each];
        for (int k = 0; k < K; k += 4 * each) {
#pragma unroll
            for (int i = 0; i < down; ++i)
#pragma unroll
                for (int e = 0; e < each; ++e)
                    of_a[i][e] = a[tile_offset<T, LAYOUT_A, M, K>(
                        top + Warp::row(i) + lane % 16, k + lane / 16 * each + e, stride_a)];
#pragma unroll
            for (int j = 0; j < across; ++j)
#pragma unroll
                for (int e = 0; e < each; ++e)
                    of_b[j][e] = b[tile_offset<T, LAYOUT_B, K, N>(
                        k + lane / 16 * each + e, left + j * 16 + lane % 16, stride_b)];
#pragma unroll
            for (int i = 0; i < down; ++i)
#pragma unroll
                for (int j = 0; j < across; ++j) {
                    tile_sums sum;
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        sum[e] = sums[(i * across + j) * 4 + e];
                    if constexpr (KIND == TILE_FLOAT16) {
                        tile_float16s x, y;
#pragma unroll
                        for (int e = 0; e < 4; ++e) {
                            x[e] = __builtin_bit_cast(_Float16, of_a[i][e]);
                            y[e] = __builtin_bit_cast(_Float16, of_b[j][e]);
                        }
                        sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
                    } else if constexpr (KIND == TILE_BFLOAT16) {
                        tile_bfloat16s x, y;
#pragma unroll
                        for (int e = 0; e < 4; ++e) {
                            x[e] = (short)of_a[i][e];
                            y[e] = (short)of_b[j][e];
                        }
                        sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, sum, 0, 0, 0);
                    } else {
                        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(of_a[i][0], of_b[j][0], sum, 0,
                                                                   0, 0);
                    }
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        sums[(i * across + j) * 4 + e] = sum[e];
                }
        }
        return;
    }
#endif
    tile_loops<KIND, M, N, K, WARPS, ROWS, LAYOUT_A, LAYOUT_B>(a, stride_a, b, stride_b, sums);
}
)";

std::string tile_wgmma_text(std::string_view kind, std::int64_t columns) {
    const bool is_tf32 = kind == "TILE_TF32";
    const std::string type = is_tf32 ? "tf32" : kind == "TILE_FLOAT16" ? "f16" : "bf16";
    const std::int64_t sums = columns / 2;
    std::string places, operands;
    for (std::int64_t i = 0; i < sums; ++i) {
        places += (i ? ", %" : "%") + std::to_string(i);
        operands += (i % 8 ? " "
                     : i   ? ",\n              "
                           : "") +
                    std::string("\"+f\"(sum[") + std::to_string(i) + "])" +
                    (i % 8 == 7 || i + 1 == sums ? "" : ",");
    }
    const auto place = [&](std::int64_t after) { return "%" + std::to_string(sums + after); };
    const std::string first = is_tf32 ? "{" + place(0) + ", " + place(1) + ", " + place(2) + ", " +
                                            place(3) + "}, " + place(4)
                                      : place(0) + ", " + place(1);
    return "#ifdef TILE_WGMMA\ntemplate <> struct tile_wgmma<" + std::string(kind) + ", " +
           std::to_string(columns) +
           "> {\n    static __device__ __forceinline__ void run(float *sum, " +
           (is_tf32 ? "const unsigned *a" : "unsigned long long a") +
           ", unsigned long long b) {\n        asm volatile(\n            \"{\\n.reg .pred "
           "adds;\\nsetp.ne.b32 adds, 1, 0;\\n\"\n            \"wgmma.mma_async.sync.aligned.m64n" +
           std::to_string(columns) + "k" + (is_tf32 ? "8" : "16") + ".f32." + type + "." + type +
           " {" + places + "}, " + first + ", adds, 1, 1" + (is_tf32 ? "" : ", 0, 1") +
           ";\\n}\"\n            : " + operands + "\n            : " +
           (is_tf32 ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), " : "\"l\"(a), ") +
           "\"l\"(b));\n    }\n};\n#endif";
}

}  // namespace entrepot::kernel
