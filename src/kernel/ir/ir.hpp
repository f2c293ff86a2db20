// The typed structured form of a kernel: the output of the checks and the input of the dialects.
// Every expression has a type, and every conversion is explicit. Every array is a root with an
// offset. Control flow is that of the source.
//
// An array parameter of a device function becomes several parameters. These are a root and its
// offset (int64). If its type does not give them, extents and strides follow. `extent` and `stride`
// refer to parameters of the kernel itself only.
//
// Invariants (verify() throws std::logic_error if one is violated, which is a bug of the compiler):
//  - Operands of arithmetic, comparison, select and assignment have the same type. Only `convert`
//    changes a type.
//  - The front end expands Python's operators. `//` and `%` have floor operations of their own,
//    and `/` divides floats. A chain of comparisons is a conjunction whose middle terms are
//    variables. `and`, `or` and conditionals are lazy.
//  - `load` and `store` name a root and an int64 offset in elements. The offset, extents and
//    strides of a sub-array are variables.
//  - Atomics, group functions, assertions and calls of functions that write memory have side
//    effects. They
//    occur only directly in `assign`, `unpack` or `evaluate`, never nested in an expression.
//  - A barrier occurs only in uniform control flow: all work-items of a group reach it or none. A
//    barrier of all groups is reached by all work-items of the launch or by none.
//  - Every variable is assigned before it is read on every path.
#pragma once
#include "kernel/ir/source.hpp"
#include "kernel/ir/types.hpp"

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace entrepot::kernel::ir {

using VariableId = std::uint32_t;  // in Function::variables
using RootId = std::uint32_t;      // in Function::roots

enum class Op : std::uint8_t {
    constant,  // value
    variable,  // id
    extent,    // id: a root that is a parameter; number: the dimension. int64
    stride,    // id: likewise, in elements. int64
    index,  // text: "global_id", "local_id", "group_id", "num_groups", "global_size", "local_size",
            // "sub_group_id", "sub_group_local_id", "sub_group_size", "num_sub_groups",
            // "max_sub_group_size", the same for all sub-groups; number: the
            // dimension (0 is the slowest, as in ep_range), or "work_dim". int64
    negate,
    add,
    subtract,
    multiply,
    divide,  // of floats and complex
    floor_divide,
    floor_modulo,  // Python's; of integers with a divisor of 0: 0
    truncate_divide,
    truncate_modulo,  // C's; the divisor is known not to be 0
    power,            // both of one type; integers with a negative exponent: 0, but for ±1
    shift_left,
    shift_right,
    bit_and,
    bit_or,
    bit_xor,
    bit_not,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,  // bool
    logic_and,
    logic_or,
    logic_not,  // of bool; the first two are lazy
    select,     // operands: condition (bool), then, otherwise; lazy
    convert,    // operands: one; to `type`, as C converts; to bool: != 0
    bit_cast,   // operands: one; the same bits as `type`, of the same size
    math,       // text: a row of functions.hpp ("sqrt", "atan2", "fma", "min", "isnan", "real",
                // "make_complex"); operands: its arguments
    load,       // id: root; operands: offset
    call,    // id: in Module::functions; operands: values of its scalar parameters; roots: for its
             // array parameters; both in the order of their places
    atomic,  // text: "add", "sub", "min", "max", "and", "or", "xor", "exchange",
             // "compare_exchange", "load", "store"; id: root; operands: offset, value (, desired of
             // compare_exchange: operands are offset, expected, desired). order, scope. The value:
             // the old one
    group,   // text: "reduce", "inclusive_scan", "exclusive_scan", "broadcast", "shuffle",
             // "shuffle_xor", "shuffle_up", "shuffle_down", "any", "all", "ballot"; scope:
             // work_group or sub_group; names which: operation ("add", "min", "max", "mul", "and",
             // "or", "xor"); operands: value (, index). Uniform control flow. A ballot is a mask,
             // and for CUDA and HIP only
    bound_check,  // operands: index, extent; debug builds: the index, or 0 after a report if it is
                  // not in [0, extent)
    assertion,    // operands: condition (bool); text: the message; debug builds: a report if the
                  // condition is false. Bool
};

enum class Scope : std::uint8_t { work_item, sub_group, work_group, device, system };
enum class Order : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };

struct Expression {
    Op op = Op::constant;
    Type type;
    Position at;
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::complex<double>,
                 std::string>
        value;
    std::string text;
    std::string operation;  // of group
    std::uint32_t id = 0;
    std::uint32_t number = 0;
    Scope scope = Scope::device;
    Order order = Order::relaxed;
    std::vector<Expression> operands;
    std::vector<RootId> roots;  // of call
    // For the offset of an element of an array that is indexed as a whole: the index of each axis.
    // Passes after `lower` do not update the variables in it.
    std::shared_ptr<const std::vector<Expression>> indices;
    // For integer arithmetic: true if the result fits the type, or is the offset of an access
    // outside any array. Dialects then need not define overflow.
    bool no_overflow = false;
};

// A call site at which a device function was inlined.
struct Inlined {
    std::shared_ptr<const Source> source;
    Position called_at;                     // in the caller
    std::shared_ptr<const Inlined> caller;  // the caller's own call site, if inlined
};

enum class Act : std::uint8_t {
    assign,  // id: variable; expressions: value
    unpack,  // ids: variables, one for each item; expressions: a call that returns a tuple
    store,   // id: root; expressions: offset, value
    if_,     // expressions: condition; body, otherwise
    while_,  // expressions: condition; body
    for_,    // id: variable, int64 or another integer type; expressions: start, stop, step, all
             // evaluated once, step known not to be 0; body. Inside, the variable is the loop's: an
             // assignment to it in the body goes to another one
    break_,
    continue_,
    return_,   // expressions: none, the value of a device function, or the items of the tuple that
               // it returns
    evaluate,  // expressions: a call, an atomic or an assertion whose value is dropped
    barrier,   // scope: sub_group, work_group, or device for all groups; fences: of ir::Fence
    fence,     // scope, order, fences
    print,     // text: the format, "{}" for each of the expressions; no newline at its end is added
};
enum Fence : std::uint8_t { local_fence = 1, global_fence = 2 };

struct Statement {
    Act act = Act::evaluate;
    Position at;
    std::uint32_t id = 0;
    std::vector<VariableId> ids;
    std::vector<Expression> expressions;
    std::vector<Statement> body, otherwise;
    Scope scope = Scope::work_group;
    Order order = Order::seq_cst;
    std::uint8_t fences = local_fence | global_fence;
    std::string text;
    std::shared_ptr<const Inlined> inlined;
};

// A scalar of a function. Names are the source's, made unique by a number where two meet.
struct Variable {
    std::string name;
    Type type;    // a scalar
    Position at;  // where it is first assigned
    // the place among the function's parameters; local memory sized at launch is one
    std::optional<std::uint32_t> parameter;
};

// An array that exists by itself: a parameter, or one that the function makes.
struct Root {
    std::string name;
    std::string shown;  // name in messages: that of a field is written as in the source, "p.x"
    Type type;          // an array
    Position at;
    std::optional<std::uint32_t> parameter;  // the place among the function's parameters; local
                                             // memory sized at launch is one
    std::shared_ptr<const ConstantArray> values;  // of Space::constant
    // by loads, stores and atomics; of parameters, those of callees too
    bool read = false, written = false;
    // No other root of the function aliases it; set when the arguments are known.
    bool restrict_ = false;
    std::shared_ptr<const Inlined> inlined;
};

// Result of type inference for a name in the source, or for an expression that chooses between two
// numbers.
struct InferredType {
    Dtype dtype{};                    // of a number; unset for arrays
    bool is_weak = false;             // made of literals only: `dtype` is its storage type
    std::vector<InferredType> items;  // a tuple's
};

// Operation on a tile that the work-items of a group run together. Its function's body is for
// dialects without matrix units; the others have text of their own.
struct TileOperation {
    std::string name;          // "matmul", "load", "load_async", "commit", "wait", "store"
    std::string precision;     // of matmul: "float32" or "tf32"
    std::int64_t pending = 0;  // of wait: groups of loads that may stay in flight
};

struct Function {
    std::string name;
    std::optional<TileOperation> tile;
    Type returns;  // nothing, a scalar or a tuple of scalars
    std::uint32_t parameter_count = 0;
    std::vector<Variable> variables;
    std::vector<Root> roots;
    std::vector<Statement> body;
    std::shared_ptr<const Source> source;
    std::map<std::string, InferredType> names;  // "": what it returns
    // Results of if-else, `and` and `or`, without literals.
    std::vector<std::pair<Position, InferredType>> choices;
};

// A kernel and the device functions that it calls, each before its callers; the kernel is the last.
struct Module {
    std::vector<Function> functions;
    // True if it uses local ids, group ids, barriers, local memory or group functions.
    bool uses_groups = false;
    bool has_barriers = false;
    bool has_grid_barriers = false;  // its groups wait for each other
    bool prints = false;
    bool debug = false;
    // Fewest dimensions of a launch that cover all ids and sizes queried by constants.
    std::uint32_t dimensions = 1;
    // Work-items that a thread executes, along the first dimension. If there are several, the
    // indices of the kernel are those of threads.
    std::uint32_t items_per_thread = 1;
    Function &kernel() { return functions.back(); }
    const Function &kernel() const { return functions.back(); }
};

// A source location for messages.
struct Place {
    const Function *function;
    const Inlined *inlined;  // nullptr: in the function's own source
    Position at;

    const Source &source() const;
};

void verify(const Module &module);
// Text of the typed form for tests and debugging, one statement a line.
std::string text_of(const Module &module);

}  // namespace entrepot::kernel::ir
