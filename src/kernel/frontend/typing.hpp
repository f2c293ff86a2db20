// Rules for the common type of two numbers. Python's own numbers are weak: they have no width until
// they are combined with a typed number.
#pragma once
#include "kernel/ir/source.hpp"
#include "kernel/ir/target.hpp"
#include <entrepot/core/dtype.hpp>

#include "kernel/ir/numbers.hpp"

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
    // True for a weak integer other than a literal, such as a counter. Its value may need int64. It
    // is therefore int64 in operations with typed integers, and in variables.
    bool varies = false;

    bool operator==(const Scalar &) const = default;
};

Scalar weak_scalar(Weak weak, const Target &target);
// Name for messages: `float32`; for a weak number `float (a literal)`.
std::string name_of(Scalar scalar);

// The common type of two typed numbers by NumPy's rules. Two bools give bool.
Dtype promoted(Dtype a, Dtype b);

// The rules of a function, for a device.
struct Rules {
    const Target &target;
    Typing typing = Typing::numpy;
};

// Type in which an operator or function combines two numbers, apart from shifts and powers. Two
// bools give bool with NumPy's rules, and int64 with Numba's.
Scalar combined(Scalar a, Scalar b, const Rules &rules);
// Type of a number that is one of two. Two bools give bool.
Scalar unified(Scalar a, Scalar b, const Rules &rules);
Scalar unified(Scalar a, Scalar b, const Target &target);  // by NumPy's rules
// Floating type for an integer operand: float64, or float32 if it is as wide and the device has no
// float64.
Scalar as_float(Scalar scalar, const Target &target);

// Type of a variable that is assigned both; nullopt if the rules give it no such type.
std::optional<Scalar> joined(Scalar a, Scalar b, const Rules &rules);
std::optional<Scalar> joined(Scalar a, Scalar b);  // by NumPy's rules

}  // namespace entrepot::kernel
