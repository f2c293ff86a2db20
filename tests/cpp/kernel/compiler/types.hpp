// The dtypes that tests of kernels name, in short.
#pragma once
#include <entrepot/core/dtype.hpp>

namespace entrepot::kernel::tree {

inline constexpr Dtype b1{TypeCode::boolean, 8};
inline constexpr Dtype i8{TypeCode::integer, 8}, i16{TypeCode::integer, 16}, i32{TypeCode::integer, 32},
    i64{TypeCode::integer, 64};
inline constexpr Dtype u8{TypeCode::unsigned_integer, 8}, u16{TypeCode::unsigned_integer, 16},
    u32{TypeCode::unsigned_integer, 32}, u64{TypeCode::unsigned_integer, 64};
inline constexpr Dtype f16{TypeCode::floating, 16}, bf16{TypeCode::bfloat, 16}, f32{TypeCode::floating, 32},
    f64{TypeCode::floating, 64};
inline constexpr Dtype c64{TypeCode::complex, 64}, c128{TypeCode::complex, 128};

}  // namespace entrepot::kernel::tree
