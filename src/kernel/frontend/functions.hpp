// Table of all functions that a kernel may call: those of Python, NumPy and Entrepot. Name
// resolution, the checks of calls and the documentation all read this table.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace entrepot::kernel {

// How the result type follows from the argument types. "Converted" arguments have the result's
// type.
enum class Rule : std::uint8_t {
    index,       // one literal dimension, 0 … 2, or none; int64
    floating,    // numbers that are not complex, converted to a common float type
    whole,       // likewise; the result is int64, as Python's math.floor gives
    predicate,   // likewise; the result is bool
    numeric,     // numbers that are not complex, converted to a common type
    integral,    // integers, converted to a common type
    counting,    // integers, converted to int64; 0 if int64 does not hold the result
    conversion,  // to one of Python's own types
    complex,     // a number; the row names the operation on it
    analytic,    // a number, converted to complex; the result may be a bool or real
    expanded,    // written out by the front in terms of other operations
    array,       // makes an array
    barrier,     // a statement
    atomic,      // changes an array element atomically
    group,       // all work-items of a work-group or sub-group execute it together
    print,       // a statement
    range,       // only as the iterable of a loop
};

struct FunctionRow {
    std::string_view name;  // canonical, as in the syntax tree
    Rule rule;
    // Their names, "a, b=, *c": `=` marks optional ones, `*` collects the rest.
    std::string_view parameters;
    std::string_view text;  // for ir::Expression::text, if the rule makes an expression
};

// All rows, sorted by name.
std::span<const FunctionRow> functions() noexcept;
// Returns: nullptr if the table has no such function.
const FunctionRow *find_function(std::string_view name) noexcept;

}  // namespace entrepot::kernel
