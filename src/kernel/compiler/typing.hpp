// Typing: which type two numbers have together. Python's own numbers are weak: they have no width until they meet a typed one.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>
#include <entrepot/kernel/compiler/target.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace entrepot::kernel {

using entrepot::name_of;

// In the order of Python's tower: of two weak numbers the later counts.
enum class Weak : std::uint8_t { none, boolean, integer, floating, complex };

// The type of a number; a weak one's `dtype` is what it is stored as where nothing typed ever meets it.
struct Scalar {
    Dtype dtype{};
    Weak weak = Weak::none;
    // An integer of literals that is none, such as a counter: nobody knows whether a narrower type would hold it, so that it
    // meets typed integers as int64, and a variable that is assigned one has no narrower type.
    bool varies = false;

    bool operator==(const Scalar &) const = default;
};

constexpr bool is_boolean(Dtype dtype) { return dtype.code == TypeCode::boolean; }
constexpr bool is_signed(Dtype dtype) { return dtype.code == TypeCode::integer; }
constexpr bool is_unsigned(Dtype dtype) { return dtype.code == TypeCode::unsigned_integer; }
constexpr bool is_integer(Dtype dtype) { return is_signed(dtype) || is_unsigned(dtype); }
constexpr bool is_float(Dtype dtype) { return dtype.code == TypeCode::floating || dtype.code == TypeCode::bfloat; }
constexpr bool is_complex(Dtype dtype) { return dtype.code == TypeCode::complex; }
// Whether kernels calculate with it at all: not with the types that exist to be stored, nor with short vectors.
bool is_number(Dtype dtype);

Scalar weak_scalar(Weak weak, const Target &target);
// As messages name it: `float32`, and for a weak one `float (a literal)`.
std::string name_of(Scalar scalar);

// What two numbers are calculated as. Of two bools: bool.
Scalar unified(Scalar a, Scalar b, const Target &target);
// What an integer becomes where a float is needed: float64, or float32 if that is as wide and the device has no float64.
Scalar as_float(Scalar scalar, const Target &target);
// A complex type's parts, and the complex type of such parts.
Dtype part_of(Dtype complex);
Dtype complex_of(Dtype part);

// The one type of a variable that is assigned both. nullopt: there is none.
std::optional<Scalar> joined(Scalar a, Scalar b);

// The same number as a constant of that type, converted as C does. nullopt: an integer that the type cannot hold, or a float
// that it can hold only as an infinity.
std::optional<ir::Expression> constant_as(const ir::Expression &constant, Dtype dtype);
// As Python writes it.
std::string text_of_constant(const ir::Expression &constant);

}  // namespace entrepot::kernel
