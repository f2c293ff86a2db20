#include "kernel/codegen/tile_text.hpp"

namespace entrepot::kernel {

// Fragments are those of mma.sync (PTX ISA, "Matrix Fragments for mma.m16n8k16"). A lane has rows
// lane / 4 and lane / 4 + 8. Its columns are 2 * (lane % 4) and the next one.
const std::string_view tile_cuda = R"(#define TILE_LANES 32
#define TILE_FRAGMENT_COLUMNS 8

static __device__ __forceinline__ int tile_row(int lane, int i) { return lane / 4 + i / 2 * 8; }
static __device__ __forceinline__ int tile_column(int lane, int i) { return lane % 4 * 2 + i % 2; }

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
template <int PENDING> static __device__ __forceinline__ void tile_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

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
#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) ||    \
    defined(__gfx950__)
#define TILE_MFMA
#endif

static __device__ __forceinline__ int tile_row(int lane, int i) { return lane / 16 * 4 + i; }
static __device__ __forceinline__ int tile_column(int lane, int i) { return lane % 16; }

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
template <int PENDING> static __device__ __forceinline__ void tile_wait() {}

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

// Offset of an element in local memory. In TILE_SWIZZLED, chunks of 16 bytes change places within a
// row, so that the same chunk of 8 rows is in different banks.
template <class T, int LAYOUT, int COLUMNS>
static __device__ __forceinline__ int tile_offset(int row, int column, int stride) {
    if constexpr (LAYOUT != TILE_SWIZZLED)
        return row * (LAYOUT == TILE_STRIDED ? stride : COLUMNS) + column;
    constexpr int chunk = 16 / sizeof(T), chunks = COLUMNS / chunk, lowest = chunks & -chunks;
    constexpr int places = lowest < 8 ? lowest : 8, rows_of_banks = chunks < 8 ? 8 / places : 1;
    int place = row / rows_of_banks % places;
    if (sizeof(T) >= 4 && places == 8)  // lanes that read 4 rows of 8 columns use all banks
        place = (place & 3) << 1 | place >> 2;
    return row * COLUMNS + (column ^ place * chunk);
}

template <class T, int ROWS, int COLUMNS, int ITEMS, int LAYOUT, bool ASYNC>
static __device__ __forceinline__ void tile_load(T *tile, int tile_stride, const T *array,
                                                 long long rows, long long columns,
                                                 long long stride, long long column_stride,
                                                 long long row, long long column) {
    const int item = group_thread();
    constexpr int chunk = 16 / sizeof(T), across = COLUMNS / chunk, count = ROWS * across;
    if (LAYOUT != TILE_STRIDED && COLUMNS % chunk == 0 && column_stride == 1 &&
        stride % chunk == 0 && column % chunk == 0 && row >= 0 && column >= 0 &&
        (unsigned long long)array % 16 == 0) {
        const bool is_inside = row + ROWS <= rows && column + COLUMNS <= columns;
#pragma unroll
        for (int i = 0; i < (count + ITEMS - 1) / ITEMS; ++i) {
            const int number = item + i * ITEMS;
            if (count % ITEMS != 0 && number >= count)
                break;
            const int r = number / (across ? across : 1), c = (number - r * across) * chunk;
            T *const to = tile + tile_offset<T, LAYOUT, COLUMNS>(r, c, 0);
            int bytes = 16;
            if (!is_inside) {
                const long long left = row + r < rows ? columns - column - c : 0;
                bytes = left <= 0 ? 0 : left >= chunk ? 16 : (int)left * (int)sizeof(T);
            }
            tile_copy(to, bytes == 0 ? array : array + (row + r) * stride + column + c, bytes);
        }
        if (!ASYNC) {
            tile_commit();
            tile_wait<0>();
        }
        return;
    }
    for (int number = item; number < ROWS * COLUMNS; number += ITEMS) {
        const int r = number / COLUMNS, c = number % COLUMNS;
        const long long from_row = row + r, from_column = column + c;
        const bool is_inside =
            from_row >= 0 && from_row < rows && from_column >= 0 && from_column < columns;
        tile[tile_offset<T, LAYOUT, COLUMNS>(r, c, tile_stride)] =
            is_inside ? array[from_row * stride + from_column * column_stride] : T();
    }
}

// Calls visit(number in the accumulator, row, column) for the elements of this work-item.
template <int M, int N, int WARP_ROWS, int WARP_COLUMNS, class Visit>
static __device__ __forceinline__ void tile_for_each(Visit visit) {
    constexpr int down = M / WARP_ROWS / 16, across = N / WARP_COLUMNS / TILE_FRAGMENT_COLUMNS;
    const int item = group_thread(), lane = item % TILE_LANES, warp = item / TILE_LANES;
    const int top = warp / WARP_COLUMNS * (down * 16),
              left = warp % WARP_COLUMNS * (across * TILE_FRAGMENT_COLUMNS);
#pragma unroll
    for (int i = 0; i < down; ++i)
#pragma unroll
        for (int j = 0; j < across; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e)
                visit((i * across + j) * 4 + e, top + i * 16 + tile_row(lane, e),
                      left + j * TILE_FRAGMENT_COLUMNS + tile_column(lane, e));
}

template <int KIND, int M, int N, int WARP_ROWS, int WARP_COLUMNS, class Sum>
static __device__ __forceinline__ void
tile_store(typename tile_types<KIND>::element *array, long long rows, long long columns,
           long long stride, long long column_stride, long long row, long long column,
           const Sum *sums) {
    const bool is_inside = row >= 0 && column >= 0 && row + M <= rows && column + N <= columns;
    tile_for_each<M, N, WARP_ROWS, WARP_COLUMNS>([&](int number, int r, int c) {
        const long long to_row = row + r, to_column = column + c;
        if (is_inside ||
            (to_row >= 0 && to_row < rows && to_column >= 0 && to_column < columns))
            array[to_row * stride + to_column * column_stride] = tile_element<KIND>(sums[number]);
    });
}

// The product of a warp's part by fused multiply-adds.
template <int KIND, int M, int N, int K, int WARP_ROWS, int WARP_COLUMNS, int LAYOUT_A,
          int LAYOUT_B>
static __device__ __forceinline__ void
tile_loops(const typename tile_types<KIND>::element *a, int stride_a,
           const typename tile_types<KIND>::element *b, int stride_b,
           typename tile_types<KIND>::sum *sums, int top, int left, int lane) {
    typedef typename tile_types<KIND>::element T;
    typedef typename tile_types<KIND>::sum Sum;
    constexpr int down = M / WARP_ROWS / 16, across = N / WARP_COLUMNS / TILE_FRAGMENT_COLUMNS;
#pragma unroll 4
    for (int k = 0; k < K; ++k) {
        Sum factors[across][4];
#pragma unroll
        for (int j = 0; j < across; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e)
                factors[j][e] = tile_value<KIND>(b[tile_offset<T, LAYOUT_B, N>(
                    k, left + j * TILE_FRAGMENT_COLUMNS + tile_column(lane, e), stride_b)]);
#pragma unroll
        for (int i = 0; i < down; ++i)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const Sum factor = tile_value<KIND>(a[tile_offset<T, LAYOUT_A, K>(
                    top + i * 16 + tile_row(lane, e), k, stride_a)]);
#pragma unroll
                for (int j = 0; j < across; ++j)
                    sums[(i * across + j) * 4 + e] += factor * factors[j][e];
            }
    }
}
)";

const std::string_view tile_matmul_cuda = R"(
#if __CUDA_ARCH__ >= 800
// The part of `a` for 16 rows, and of `b` for 16 columns, at one step of mma.sync.
template <int KIND, int K, int LAYOUT>
static __device__ __forceinline__ void
tile_fragment_a(unsigned *to, const typename tile_types<KIND>::element *a, int stride, int top,
                int k, int lane) {
    typedef typename tile_types<KIND>::element T;
    if constexpr (LAYOUT != TILE_STRIDED) {
        tile_ldmatrix(to, a + tile_offset<T, LAYOUT, K>(top + lane % 16,
                                                        k + lane / 16 * (16 / (int)sizeof(T)), 0));
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = top + lane / 4 + i % 2 * 8;
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
template <int KIND, int N, int LAYOUT>
static __device__ __forceinline__ void
tile_fragment_b(unsigned *to, const typename tile_types<KIND>::element *b, int stride, int left,
                int k, int lane) {
    typedef typename tile_types<KIND>::element T;
    if constexpr (KIND == TILE_TF32) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            to[i] = tile_tf32(__float_as_uint(b[tile_offset<T, LAYOUT, N>(
                k + lane % 4 + i % 2 * 4, left + lane / 4 + i / 2 * 8, stride)]));
    } else if constexpr (LAYOUT != TILE_STRIDED) {
        tile_ldmatrix_transposed(
            to, b + tile_offset<T, LAYOUT, N>(k + lane % 16, left + lane / 16 * 8, 0));
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

template <int KIND, int M, int N, int K, int WARP_ROWS, int WARP_COLUMNS, int LAYOUT_A,
          int LAYOUT_B>
static __device__ __forceinline__ void
tile_matmul(const typename tile_types<KIND>::element *a, int stride_a,
            const typename tile_types<KIND>::element *b, int stride_b,
            typename tile_types<KIND>::sum *sums) {
    constexpr int down = M / WARP_ROWS / 16, across = N / WARP_COLUMNS / 8;
    const int item = group_thread(), lane = item % 32, warp = item / 32;
    const int top = warp / WARP_COLUMNS * (down * 16), left = warp % WARP_COLUMNS * (across * 8);
#if __CUDA_ARCH__ >= 800
    if constexpr (KIND == TILE_FLOAT64) {
#pragma unroll
        for (int k = 0; k < K; k += 4) {
            double factors[across];
#pragma unroll
            for (int j = 0; j < across; ++j)
                factors[j] = b[tile_offset<double, LAYOUT_B, N>(
                    k + lane % 4, left + j * 8 + lane / 4, stride_b)];
#pragma unroll
            for (int i = 0; i < down * 2; ++i) {
                const double factor = a[tile_offset<double, LAYOUT_A, K>(
                    top + i * 8 + lane / 4, k + lane % 4, stride_a)];
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
                tile_fragment_a<KIND, K, LAYOUT_A>(of_a[i], a, stride_a, top + i * 16, k, lane);
#pragma unroll
            for (int j = 0; j < across / 2; ++j)
                tile_fragment_b<KIND, N, LAYOUT_B>(of_b[j], b, stride_b, left + j * 16, k, lane);
#pragma unroll
            for (int i = 0; i < down; ++i)
#pragma unroll
                for (int j = 0; j < across; ++j)
                    tile_mma<KIND>(sums + (i * across + j) * 4, of_a[i], of_b[j / 2] + j % 2 * 2);
        }
        return;
    }
#endif
    tile_loops<KIND, M, N, K, WARP_ROWS, WARP_COLUMNS, LAYOUT_A, LAYOUT_B>(a, stride_a, b, stride_b,
                                                                           sums, top, left, lane);
}
)";

const std::string_view tile_matmul_hip = R"(
template <int KIND, int M, int N, int K, int WARP_ROWS, int WARP_COLUMNS, int LAYOUT_A,
          int LAYOUT_B>
static __device__ __forceinline__ void
tile_matmul(const typename tile_types<KIND>::element *a, int stride_a,
            const typename tile_types<KIND>::element *b, int stride_b,
            typename tile_types<KIND>::sum *sums) {
    typedef typename tile_types<KIND>::element T;
    constexpr int down = M / WARP_ROWS / 16, across = N / WARP_COLUMNS / 16;
    const int item = group_thread(), lane = item % 64, warp = item / 64;
    const int top = warp / WARP_COLUMNS * (down * 16), left = warp % WARP_COLUMNS * (across * 16);
#ifdef TILE_MFMA
    if constexpr (KIND != TILE_FLOAT64) {
        // A lane has the row of `a`, or the column of `b`, lane % 16, and `each` elements along k.
        constexpr int each = sizeof(T) == 2 ? 4 : 1;
        T of_a[down][each], of_b[across][each];
        for (int k = 0; k < K; k += 4 * each) {
#pragma unroll
            for (int i = 0; i < down; ++i)
#pragma unroll
                for (int e = 0; e < each; ++e)
                    of_a[i][e] = a[tile_offset<T, LAYOUT_A, K>(
                        top + i * 16 + lane % 16, k + lane / 16 * each + e, stride_a)];
#pragma unroll
            for (int j = 0; j < across; ++j)
#pragma unroll
                for (int e = 0; e < each; ++e)
                    of_b[j][e] = b[tile_offset<T, LAYOUT_B, N>(
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
    tile_loops<KIND, M, N, K, WARP_ROWS, WARP_COLUMNS, LAYOUT_A, LAYOUT_B>(a, stride_a, b, stride_b,
                                                                           sums, top, left, lane);
}
)";

}  // namespace entrepot::kernel
