// Table of the C dialects: one row per dialect with its keywords and names. Code is needed only for
// differences in form.
#pragma once
#include "kernel/ir/ir.hpp"
#include "kernel/ir/target.hpp"
#include <entrepot/core/dtype.hpp>

#include "kernel/passes/optimize.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace entrepot::kernel {

// Text of a scalar type for variables and for memory. If a dialect cannot calculate with a 16-bit
// float, variables hold it in a float. It is rounded after each operation, and memory holds its
// bits.
struct TypeWords {
    Dtype dtype;
    std::string_view value, storage;
    std::string_view suffix;  // suffix of a literal of exactly this type
    bool is_promoted() const noexcept { return dtype.bits == 16 && value == "float"; }
};

// `@` is the dimension in the dialect's order, `$` the number of dimensions of the launch.
struct IndexWords {
    std::string_view index;  // text of ir::Op::index
    std::string_view text;
};

struct DialectRow {
    Dialect dialect;
    std::string_view name;
    std::string_view kernel, function;             // start of a definition
    std::string_view constant_array, local_array;  // start of a definition of an array
    std::array<std::string_view, 4> spaces;        // start of a pointer type, by Space
    std::string_view restrict_;
    // Names of dimensions 0, 1, 2, counted from the fastest; empty: counted from the slowest.
    std::array<std::string_view, 3> dimensions;
    // Constant expressions, for initializers.
    std::string_view infinity32, infinity64, nan32, nan64;
    std::array<std::string_view, 3> barriers;  // work-group barrier by fence: local, global, both
    std::string_view sub_group_barrier;
    std::span<const TypeWords> types;
    std::span<const IndexWords> indices;
    std::string_view math_prefix;  // prefix of mathematical functions
    bool overloads;                // true: mathematical functions of float32 have no suffix f
    IntegerTraits integers;
};

const DialectRow &dialect_row(Dialect dialect);
const TypeWords &type_words(const DialectRow &dialect, Dtype dtype);

// Expression that names a mathematical function of `dtype`; empty if it is one of the helpers.
std::string math_words(const DialectRow &dialect, std::string_view name, Dtype dtype);

// True if the name has another meaning in one of the dialects.
bool is_reserved(std::string_view name);

// A helper function that programs contain if they call it. Placeholders in `text`:
//  - FUNCTION: start of a definition; NAME: name of the dtype; {sqrt}: the dialect's name of sqrt
//  - T: value type; S: storage type; P: type of a complex number's parts
//  - U: unsigned type of the same size; NEGATE(x): -x of a float
//  - SPACE: memory space of the pointer; W: its words in a name
struct HelperRow {
    std::string_view name;
    std::string_view text;
    std::string_view needs;  // another helper of the same type, which comes first
};
const HelperRow *find_helper(std::string_view name, Dialect dialect, Dtype dtype);
// Searches the functions of complex numbers that all dialects share.
const HelperRow *find_complex_helper(std::string_view name);

}  // namespace entrepot::kernel
