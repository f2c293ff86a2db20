// Kinds of numbers, and constants of the typed form.
#pragma once
#include "kernel/ir/ir.hpp"
#include <entrepot/core/dtype.hpp>

#include <optional>
#include <string>

namespace entrepot::kernel {

constexpr bool is_boolean(Dtype dtype) { return dtype.code == TypeCode::boolean; }
constexpr bool is_signed(Dtype dtype) { return dtype.code == TypeCode::integer; }
constexpr bool is_unsigned(Dtype dtype) { return dtype.code == TypeCode::unsigned_integer; }
constexpr bool is_integer(Dtype dtype) { return is_signed(dtype) || is_unsigned(dtype); }
// True for integers that C converts to int before it calculates with them.
constexpr bool is_small_integer(Dtype dtype) { return is_integer(dtype) && dtype.bits < 32; }
constexpr bool is_float(Dtype dtype) {
    return dtype.code == TypeCode::floating || dtype.code == TypeCode::bfloat;
}
constexpr bool is_complex(Dtype dtype) { return dtype.code == TypeCode::complex; }
// True if kernels can calculate with the type. False for types that only support storage and for
// short vectors.
bool is_number(Dtype dtype);

// Type of the parts of a complex type, and the inverse.
Dtype part_of(Dtype complex);
Dtype complex_of(Dtype part);

// Converts a constant to the type as C does.
// Returns: nullopt if the type does not hold the integer, or holds the float only as an infinity.
std::optional<ir::Expression> constant_as(const ir::Expression &constant, Dtype dtype);
// Text in Python's syntax.
std::string text_of_constant(const ir::Expression &constant);

}  // namespace entrepot::kernel
