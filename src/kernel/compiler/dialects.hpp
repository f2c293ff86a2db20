// Dialects: how each C dialect spells what kernels are made of. One row a dialect; what differs between two dialects is a word
// here, and code only where they differ in form.
#pragma once
#include <entrepot/core/dtype.hpp>
#include <entrepot/kernel/compiler/ir.hpp>
#include <entrepot/kernel/compiler/target.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace entrepot::kernel {

// A scalar type: as variables have it and as it lies in memory. A float of 16 bits that the dialect cannot calculate with is
// carried in a float, rounded after each operation, and stored as its bits.
struct TypeWords {
    Dtype dtype;
    std::string_view value, storage;
    std::string_view suffix;  // of a literal that must be of just this type
    bool carried() const noexcept { return dtype.bits == 16 && value == "float"; }
};

// `@` is the dimension as the dialect counts it, `$` the launch's number of dimensions.
struct IndexWords {
    std::string_view index;  // of ir::Op::index
    std::string_view text;
};

struct DialectRow {
    Dialect dialect;
    std::string_view name;
    std::string_view kernel, function;             // what a kernel's and another function's definition begin with
    std::string_view constant_array, local_array;  // what such an array's definition begins with
    std::array<std::string_view, 4> spaces;        // what a pointer's type begins with, by Space
    std::string_view restrict_;
    std::array<std::string_view, 3> dimensions;  // dimension 0, 1, 2 counted from the fastest; empty: counted from the slowest
    std::string_view infinity32, infinity64, nan32, nan64;  // constant expressions: arrays of constants begin with them
    std::array<std::string_view, 3> barriers;               // work-group: for local, global, both
    std::string_view sub_group_barrier;
    std::span<const TypeWords> types;
    std::span<const IndexWords> indices;
    std::string_view math_prefix;  // of a mathematical function
    bool overloads;                // of mathematical functions: no suffix f for float32
    bool wraps;                    // signed integers, by an option; HIP has one too, but not where its compiler is NVRTC
    bool narrows;                  // gains by counters of 32 bits
    bool converts_unsigned;        // ids to float64 quicker: Intel's compiler for the CPU converts signed ones one by one
};

const DialectRow &dialect_row(Dialect dialect);
const TypeWords &type_words(const DialectRow &dialect, Dtype dtype);

// A mathematical function of `dtype` as the dialect calls it; empty where it is one of the helpers.
std::string math_words(const DialectRow &dialect, std::string_view name, Dtype dtype);

// Whether a name of the source would be taken for something else in one of the dialects.
bool is_reserved(std::string_view name);

// A function of ours that a program needs. In `text`:
//     FUNCTION  what a definition begins with      T  the value's type     S  its storage's     U  unsigned of its size
//     NAME      the dtype's name                   P  the part's type of a complex number       {sqrt} the dialect's word
//     NEGATE(x) -x of a float
//     SPACE     the pointer's space                W  the words of the pointer's space in a name
struct HelperRow {
    std::string_view name;
    std::string_view text;
    std::string_view needs;  // another helper of the same type, which stands before it
};
const HelperRow *find_helper(std::string_view name, Dialect dialect, Dtype dtype);
// Of the functions of complex numbers that are the same in every dialect.
const HelperRow *find_complex_helper(std::string_view name);

}  // namespace entrepot::kernel
