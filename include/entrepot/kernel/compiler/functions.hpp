// Functions: everything that a kernel may call and that Python, NumPy or Entrepot has, one row each. Who resolves names, who
// checks calls and who documents the language read the same table.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace entrepot::kernel {

// How the arguments' types make the result's.
enum class Rule : std::uint8_t {
    index,       // one literal dimension, 0 … 2, or none; int64
    floating,    // numbers that are not complex, made floats of one type: the result's
    whole,       // likewise; the result is int64, as Python's math.floor gives
    predicate,   // likewise; the result is bool
    numeric,     // numbers that are not complex, made one type: the result's
    conversion,  // to one of Python's own types
    complex,     // a number; what the row names of it
    expanded,    // written out by the front in terms of other operations
    array,       // makes an array
    barrier,     // a statement
    atomic,      // an element of an array is changed at once
    group,       // all work-items of a work-group or sub-group together
    print,       // a statement
    range,       // only where a loop goes through it
};

struct FunctionRow {
    std::string_view name;  // canonical: how the syntax tree names it
    Rule rule;
    std::string_view parameters;  // their names, "a, b=, *c": `=` behind those that may be left out, `*` before the rest
    std::string_view text;        // of ir::Expression, where the rule makes one
};

// All rows, sorted by name.
std::span<const FunctionRow> functions() noexcept;
// nullptr: there is none.
const FunctionRow *find_function(std::string_view name) noexcept;

}  // namespace entrepot::kernel
