// Short names of dtypes for tests of kernels.
#pragma once
#include <entrepot/core/dtype.hpp>

namespace entrepot::kernel::tree {

inline constexpr Dtype b1 = dtypes::boolean;
inline constexpr Dtype i8 = dtypes::int8, i16 = dtypes::int16, i32 = dtypes::int32,
                       i64 = dtypes::int64;
inline constexpr Dtype u8 = dtypes::uint8, u16 = dtypes::uint16, u32 = dtypes::uint32,
                       u64 = dtypes::uint64;
inline constexpr Dtype f16 = dtypes::float16, bf16 = dtypes::bfloat16, f32 = dtypes::float32,
                       f64 = dtypes::float64;
inline constexpr Dtype c64 = dtypes::complex64, c128 = dtypes::complex128;

}  // namespace entrepot::kernel::tree
