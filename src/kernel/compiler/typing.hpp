// Rules for the common type of two numbers. Python's own numbers are weak: they have no width until
// they are combined with a typed number.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>
#include <entrepot/kernel/compiler/target.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace entrepot::kernel {

using entrepot::name_of;

// Ordered as in Python's numeric tower: of two weak numbers the later kind is the result.
enum class Weak : std::uint8_t { none, boolean, integer, floating, complex };

// Type of a number. For a weak number, `dtype` is the storage type if it is never combined with a
// typed number.
struct Scalar {
    Dtype dtype{};
    Weak weak = Weak::none;
    // True for a weak integer that is not a literal, such as a counter: it is unknown whether a
    // narrower type holds it. It therefore meets typed integers as int64, and a variable that is
    // assigned one is not narrower.
    bool varies = false;

    bool operator==(const Scalar &) const = default;
};

constexpr bool is_boolean(Dtype dtype) { return dtype.code == TypeCode::boolean; }
constexpr bool is_signed(Dtype dtype) { return dtype.code == TypeCode::integer; }
constexpr bool is_unsigned(Dtype dtype) { return dtype.code == TypeCode::unsigned_integer; }
constexpr bool is_integer(Dtype dtype) { return is_signed(dtype) || is_unsigned(dtype); }
constexpr bool is_float(Dtype dtype) {
    return dtype.code == TypeCode::floating || dtype.code == TypeCode::bfloat;
}
constexpr bool is_complex(Dtype dtype) { return dtype.code == TypeCode::complex; }
// True if kernels can calculate with the type. False for types that only support storage and for
// short vectors.
bool is_number(Dtype dtype);

Scalar weak_scalar(Weak weak, const Target &target);
// Name for messages: `float32`; for a weak number `float (a literal)`.
std::string name_of(Scalar scalar);

// Type in which two numbers are combined. Two bools give bool.
Scalar unified(Scalar a, Scalar b, const Target &target);
// Floating type for an integer operand: float64, or float32 if it is as wide and the device has no
// float64.
Scalar as_float(Scalar scalar, const Target &target);
// Type of the parts of a complex type, and the inverse.
Dtype part_of(Dtype complex);
Dtype complex_of(Dtype part);

// Type of a variable that is assigned both; nullopt if no type holds both.
std::optional<Scalar> joined(Scalar a, Scalar b);

// Converts a constant to that type as C does.
// Returns: nullopt if the type does not hold the integer, or holds the float only as an infinity.
std::optional<ir::Expression> constant_as(const ir::Expression &constant, Dtype dtype);
// Text in Python's syntax.
std::string text_of_constant(const ir::Expression &constant);

}  // namespace entrepot::kernel
