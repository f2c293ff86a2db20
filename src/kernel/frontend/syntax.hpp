// Syntax tree of a Python function, modeled on Python's ast. The code that builds the tree
// resolves global and captured names. They appear here as constants, dtypes, functions of
// functions.hpp, or device functions.
#pragma once
#include "kernel/frontend/structs.hpp"
#include "kernel/ir/source.hpp"
#include <entrepot/core/dtype.hpp>

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace entrepot::kernel {

namespace syntax {

struct Function;

// A value known at compile time: captured from Python, or a literal.
struct Constant;
using ConstantTuple = std::vector<Constant>;
// A Python int that int64 does not hold is stored as uint64. The tree's builder refuses larger
// ones.
struct Constant {
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::complex<double>,
                 std::string, Dtype, ConstantTuple, std::shared_ptr<const ConstantArray>,
                 StructTypePtr>
        value;           // monostate: None; StructTypePtr: a dtype of structs
    bool typed = false;  // a NumPy scalar: its type is `dtype`, not weak
    Dtype dtype{};       // if typed
};

// Kind of a tree node. The comment lists the fields of Node that it uses; `…` means any number.
enum class Kind : std::uint8_t {
    // Expressions
    constant,   // value
    name,       // text: a parameter or variable of this function
    builtin,    // text: canonical name in functions.hpp: "get_global_id", "math.sqrt", "min",
                // "atomic.add"
    function,   // callee: a device function
    attribute,  // operands: object; text: "shape", "size", "dtype", "real" …
    subscript,  // operands: object, index (an expression, a slice, an ellipsis, or a tuple of them)
    slice,      // operands: start, stop, step; each may be null
    ellipsis,   //
    tuple,      // operands: items …
    unary,      // text: "-", "+", "~", "not"; operands: one
    binary,  // text: "+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@"; operands:
             // two
    compare,      // names: the operators "<" … "is not", one fewer than operands: Python's chain
    boolean,      // text: "and", "or"; operands: two or more
    conditional,  // operands: condition, then, otherwise
    call,         // operands: callee, positional arguments …; names: one for each operand after the
                  // callee, "" where positional; text: "linear" of an id or size that stands for
                  // all dimensions, however many a launch has
    // Statements
    assign,     // operands: value, targets … (a = b = value); a target is a name, a subscript or a
                // tuple of targets
    augment,    // text: the binary operator; operands: target, value
    annotate,   // operands: target, annotation, value or null
    evaluate,   // operands: an expression whose value is dropped
    if_,        // operands: condition; body, otherwise
    while_,     // operands: condition; body, otherwise (Python's else of loops)
    for_,       // operands: target, iterable; body, otherwise
    break_,     //
    continue_,  //
    return_,    // operands: a value or null
    pass,       //
    assert_,    // operands: condition, a text or null
    // Any other Python construct: text is its name in Python's ast. Refused by the compiler.
    unsupported,
};

struct Node {
    Kind kind = Kind::pass;
    Position at;
    std::string text;
    std::vector<std::string> names;
    std::vector<std::shared_ptr<const Node>> operands;
    std::vector<std::shared_ptr<const Node>> body, otherwise;
    Constant value;
    std::shared_ptr<const Function> callee;
};
using NodePtr = std::shared_ptr<const Node>;

struct Parameter {
    std::string name;
    Position at;
    NodePtr default_value = nullptr;  // of a device function; null: none
};

// A parameter that is a struct, or an array of structs. Its numbers are parameters of their own.
struct StructParameter {
    std::string name;
    Position at;
    std::uint32_t first = 0;  // place of its first number in Function::parameters
    StructArgument argument;
};

struct Function : Source {
    std::string tile;  // the tile operation that this function is; empty for other functions
    std::vector<Parameter> parameters;
    std::vector<StructParameter> structs;  // of a kernel; ordered by `first`
    std::vector<NodePtr> body;
};

}  // namespace syntax
}  // namespace entrepot::kernel
