// Lowering: each walk over a function's syntax builds its typed form. A walk needs the types of
// variables, which follow from the assignments that the walk itself finds. The function is
// therefore walked until two walks agree, and the result of the last walk is used.
#pragma once
#include "kernel/frontend/functions.hpp"
#include "kernel/frontend/structs.hpp"
#include "kernel/frontend/syntax.hpp"
#include "kernel/frontend/typed.hpp"
#include "kernel/ir/error.hpp"
#include "kernel/ir/ir.hpp"
#include "kernel/ir/target.hpp"
#include "kernel/ir/types.hpp"

#include "kernel/frontend/bounds.hpp"
#include "kernel/frontend/fold.hpp"
#include "kernel/frontend/names.hpp"
#include "kernel/frontend/typing.hpp"
#include "kernel/ir/build.hpp"
#include "kernel/ir/ranges.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace entrepot::kernel {

// A part of an array, or all of it.
struct View {
    ir::RootId root = 0;
    Type type;              // type of the part
    ir::Expression offset;  // in elements, relative to the root's first element
    std::vector<ir::Expression> extents, strides;
};

// Value of an expression of the source.
struct Value {
    enum class Kind : std::uint8_t {
        none,
        scalar,
        array,
        tuple,
        structure,  // a struct or vector, or an array of them
        text,
        dtype,
        builtin,
        function
    };
    Kind kind = Kind::none;
    Position at;
    ir::Expression expression;  // a scalar's value, or the call that returns a tuple
    Weak weak = Weak::none;
    bool varies = false;                  // see Scalar::varies
    std::vector<ir::Expression> choices;  // the literals that an integer may be
    bool is_non_negative = false;         // argument that is proved to be at least 0
    bool is_count = false;                // argument that is assumed to be at least 0
    bool has_effect = false;              // must become a statement before later expressions
    std::shared_ptr<const View> view;
    std::vector<Value> items;  // of a tuple; of a structure, by field
    // Layout of a structure, or of a dtype of structs; and the dimensions of an array of structs,
    // which are 0 for one struct.
    StructTypePtr structure;
    std::uint32_t ndim = 0;
    std::string text;  // also a builtin's name
    Dtype dtype{};
    std::shared_ptr<const syntax::Function> callee;

    Scalar scalar() const { return {expression.type.dtype, weak, varies}; }
    bool is_scalar() const { return kind == Kind::scalar; }
    bool is_constant() const { return is_scalar() && expression.op == ir::Op::constant; }
    bool is_literal() const { return is_constant() && weak != Weak::none; }
    std::string type_name() const;
};

// Knowledge about a name of the source: a scalar, an array, or a tuple or structure of these.
struct Slot {
    enum class Form : std::uint8_t { unknown, scalar, array, tuple, structure };
    Form form = Form::unknown;
    Position first;  // where it is first assigned
    // Scalars
    Scalar scalar{{TypeCode::opaque, 0}};
    std::optional<Assumed> at_least;  // lower bound of all values assigned
    int assignments = 0;
    struct Conflict {
        Position at;
        Scalar here, elsewhere;
    };
    std::optional<Conflict> conflict;
    // Arrays: a part that is the same in all assignments needs no variable.
    ir::RootId root = 0;
    Type type;
    std::vector<std::optional<ir::Expression>> fixed;  // offset, extents, strides
    // Tuples and structures
    std::vector<Slot> items;
    StructTypePtr structure;
    std::uint32_t ndim = 0;

    bool agrees_with(const Slot &other) const;
};

// The variables of a slot in one walk.
struct Storage {
    std::optional<ir::VariableId> variable;
    std::map<std::size_t, ir::VariableId> parts;  // array parts, by the place in Slot::fixed
    std::vector<Storage> items;
};

// Facts that hold at a point of the walk.
struct Flow {
    bool reachable = true;
    std::set<std::string> assigned;
    std::map<ir::VariableId, Proved> at_least;  // lower bounds from conditions on the path

    void meet(const Flow &other);  // joins the facts of two paths
};

// A device function compiled for the arguments of a call.
struct Instantiation {
    std::shared_ptr<const syntax::Function> function;
    std::vector<Value> arguments;
    std::uint32_t id = 0;
    Value result;             // type of the result; its numbers, if it is a structure
    Value form;               // structure that the numbers of the result make; kind none: none
    bool has_effect = false;  // true: the call has a side effect
    // The result is this argument, an array, and not a value of the call.
    std::optional<std::size_t> returned_argument = std::nullopt;
};

// A kernel under compilation, with the device functions that it calls.
struct Unit {
    const Target &target;
    ir::Module module;
    std::vector<Instantiation> compiled;
    std::vector<const syntax::Function *> open;  // chain of callers, the kernel first
    std::vector<Position> calls;                 // position of each call in the chain
};

class Lowering {
public:
    Lowering(Unit &unit, std::shared_ptr<const syntax::Function> source, bool is_kernel);

    ir::Function kernel(const std::vector<ArgumentType> &arguments);
    // `arguments` are the values that a call passes; `result` receives the type of the returned
    // value.
    ir::Function device_function(Instantiation &wanted);

private:
    using Node = syntax::Node;
    using Kind = syntax::Kind;
    using Block = std::vector<ir::Statement>;

    [[noreturn]] void refuse(Position at, const std::string &message) const;
    [[noreturn]] void refuse(Position at, const std::string &message, Position other,
                             const std::string &about) const;

    // lowering.cpp: walks and parameters
    ir::Function walked_to_fixed_point(const std::function<void()> &bind_parameters,
                                       std::uint32_t parameter_count);
    void walk_once(const std::function<void()> &bind_parameters);
    bool reached_fixed_point();
    [[noreturn]] void refuse_circular_types() const;
    void refuse_conflicts(const std::string &name, const Slot &slot) const;
    void bind_array_argument(const std::string &name, Position at, std::uint32_t place,
                             const ArgumentType &argument);
    ir::RootId new_array_parameter(const std::string &name, Position at, std::uint32_t place,
                                   const ArgumentType &argument);
    ir::VariableId bind_scalar_argument(const std::string &name, Position at, std::uint32_t place,
                                        Scalar scalar, std::optional<Assumed> least = std::nullopt);
    ir::RootId new_root(ir::Root root);
    ir::VariableId new_variable(const std::string &name, const Type &type, Position at);
    std::string unique_name(const std::string &name);
    View whole_of(ir::RootId root, Position at) const;

    // statements.cpp
    void lower_block(std::span<const syntax::NodePtr> statements);
    void lower_statement(const Node &node);
    void lower_if(const Node &node);
    void lower_return(const Node &node);
    [[noreturn]] void refuse_unsupported(const Node &node) const;
    void lower_evaluate(const Node &node);
    void lower_assert(const Node &node);
    void lower_jump(const Node &node);
    Block lowered_into_block(Flow &flow, const std::function<void()> &walk);

    // loops.cpp
    void lower_while(const Node &node);
    void lower_for(const Node &node);
    struct Range {
        Value start, stop, step;
    };
    Range range_of(const Node &iterable);
    bool runs_at_least_once(const Range &range) const;
    void refuse_loop_else(const Node &node) const;
    void forget_bounds_of(const Node &loop);

    // assign.cpp
    void lower_assign(const Node &node);
    void lower_augment(const Node &node);
    void lower_annotate(const Node &node);
    Value evaluate_annotation(const Node &node);
    void assign_to(const Node &target, Value value);
    void assign_name(const std::string &name, Position at, Value value);
    void assign_slot(const std::string &name, Position at, Slot &found, const Slot *known,
                     Storage &storage, const Value &value);
    void assign_scalar(const std::string &name, Position at, Slot &found, const Slot *known,
                       Storage &storage, const Value &value);
    void join_scalar(Slot &found, const Value &value, Position at);
    Value as_assigned(const Value &value, Dtype dtype) const;
    void assign_array(const std::string &name, Position at, Slot &found, const Slot *known,
                      Storage &storage, const Value &value);
    void assign_tuple(const std::string &name, Position at, Slot &found, const Slot *known,
                      Storage &storage, const Value &value);
    Value with_saved_offsets(Value place);
    Value place_to_assign(const Node &target);
    void assign_items(const Node &target, Value value);
    void save_items(const Node &target, std::set<ir::VariableId> &changed, bool &stores,
                    Value &value);
    void assign_saved_items(const Node &target, const Value &value);
    void save_where(const std::function<bool(const ir::Expression &)> &must_save,
                    const std::string &name, Value &value);
    void save_from(const std::set<ir::VariableId> &changed, bool stores, Value &value);
    void assign_in_parallel(std::vector<std::pair<ir::VariableId, ir::Expression>> &assigned,
                            Position at);
    void store(const View &element, const Value &value, Position at);

    // tiles.cpp
    Value accumulator_attribute(const Value &accumulator, const Node &node);
    Value tile_zeros(const Node &node, std::span<const Node *const> arguments);
    // Checks a call of a tile operation. Literal offsets become passed values, because the text of
    // some dialects takes them as arguments.
    void prepare_tile_call(const syntax::Function &callee, std::vector<Value> &arguments,
                           Position at) const;
    void check_tile_matmul(const std::vector<Value> &arguments, Position at) const;
    void check_tile_load(const std::vector<Value> &arguments) const;
    void check_tile_store(const std::vector<Value> &arguments) const;
    void take_tile_offsets(Value &offsets) const;
    const View &local_tile(const Value &value, const std::string &what) const;

    // structs.cpp
    Value struct_value(const StructTypePtr &type, std::uint32_t ndim, Position at,
                       const std::function<Value(const StructType::Field &)> &number) const;
    static bool is_by_value(const Value &value);
    static bool is_by_value(const Slot &slot);
    static bool is_vector(const Value &value);
    Value read(Value value, Position at);
    Value read_part(Value value, const Node &node);
    Value copied(const Value &value, Position at);
    Value tuple_of_elements(const View &view, Position at);
    std::vector<View> elements_of(const View &view, Position at) const;
    void bind_struct_argument(const syntax::StructParameter &parameter,
                              const std::vector<ArgumentType> &arguments);
    Value bind_numbers(std::span<const std::int64_t> extents, Position at, std::uint32_t &place,
                       const std::vector<ArgumentType> &arguments);
    View view_of_field(ir::RootId root, const StructType::Field &field,
                       const StructArgument &argument, const View *first, Position at);
    Value array_of_structs(const ir::Root &like, const StructTypePtr &type);
    Value place_of(const Node &node);
    Value attribute_of_struct(const Value &object, const Node &node);
    Value field_of(const Value &object, const std::string &name, Position at) const;
    Value subscripted_struct(const Value &object, const Node &node);
    Value elements_of_struct(const Value &object, const Node &index, Position at);
    const Node *with_saved_bounds(const Node &slice, std::vector<syntax::NodePtr> &made_slices);
    syntax::NodePtr bound_name(Value value, Position at);
    void store_to(const Value &place, Value value, Position at);
    void pair_up(const Value &place, const Value &value, Position at,
                 std::vector<std::pair<View, Value>> &stores);
    // A number of a variable that is a structure.
    struct Component {
        std::string variable;
        std::size_t place;
        Value value;
        std::string name;
    };
    std::optional<Component> component_of(const Node &target);
    void assign_component(const Component &component, const Value &value, Position at);
    Value repeatable(Value value);
    Value vector_of(std::vector<Value> components, Position at) const;
    Value by_component(const std::string &name, std::vector<Value> values, Position at,
                       const std::function<Value(const std::vector<Value> &)> &operation);
    Value call_vector(const Node &node, Dtype dtype);
    Value dot_product(const Value &a, const Value &b, Position at);
    Value call_by_component(const FunctionRow &row, const Node &node,
                            std::span<const Node *const> arguments);

    // expressions.cpp
    Value evaluate(const Node &node);             // side effects may be pending
    Value value_after_effects(const Node &node);  // emits pending side effects as statements
    Value scalar_value(const Node &node);         // refuses anything but a number
    std::vector<Value> values_in_order(std::span<const syntax::NodePtr> nodes);
    Value value_after_effects(Value value);
    Value in_variable(Value value, const std::string &name);  // evaluates and stores the value
    Value value_of_constant(const syntax::Constant &constant, Position at, const std::string &name);
    Value value_of_name(const Node &node);
    Value value_of_slot(const Slot &slot, const Storage &storage, Position at) const;
    Value attribute_of(const Value &object, const Node &node);
    Value array_attribute(const Value &array, const Node &node);
    Value scalar_attribute(const Value &scalar, const Node &node);
    Value recorded_choice(Value value, Position at);
    Value value_of_conditional(const Node &node);
    Value value_of_boolean(const Node &node);
    Value value_of_compare(const Node &node);
    Value value_of_chain(const Node &node, std::size_t from, Value left);
    Value both(Value a, const std::function<Value()> &b, Position at);
    Value either(Value a, const std::function<Value()> &b, Position at);
    // `name`: the name in the source, if any.
    Value array_of_captured(const std::shared_ptr<const ConstantArray> &values, Position at,
                            const std::string &name);
    Value lazily(Value condition, const std::function<Value()> &then,
                 const std::function<Value()> &otherwise, Position at);
    Value chosen(const Value &condition, const Value &yes, const Value &no,
                 std::span<Block, 2> blocks, Position at);
    Value truth_of(const Node &node);
    Value truth_of(const Value &value) const;
    Value negated_truth(const Value &truth) const;
    // Converts a value. Once all types are known, a literal must fit the type.
    Value as(const Value &value, Dtype dtype) const;
    Value made(ir::Expression expression, Weak weak = Weak::none) const;
    bool is_varying(const Value &value) const;
    Value integer(std::int64_t value, Position at) const { return made(build::integer(value, at)); }

    // arithmetic.cpp
    Value value_of_unary(const Node &node);
    Value unary(const std::string &sign, Value value, Position at);
    Value literal(const Number &number, Position at) const;
    Dtype literal_type(const Number &number, Dtype usual) const;
    Value widened(Value value) const;
    Scalar arithmetic_type(const Value &a, const Value &b) const;
    Scalar without_half(Scalar type) const;
    Value value_of_binary(const Node &node);
    Value binary(const std::string &sign, Value a, Value b, Position at);
    Value arithmetic(const std::string &sign, Value a, Value b, Position at);
    Value division(Value a, Value b, Position at);
    Value floor_operation(const std::string &sign, Value a, Value b, Position at);
    Value power(Value a, Value b, Position at);
    Value bit_operation(const std::string &sign, Value a, Value b, Position at);
    Value shift(const std::string &sign, Value a, Value b, Position at);
    Value compared(const std::string &sign, const Value &a, const Value &b, Position at);
    Value compared_to_non_negative(ir::Op op, const Value &with_sign, const Value &non_negative,
                                   Position at);
    Value operation(ir::Op op, Value a, Value b, Scalar type, Position at) const;
    std::pair<Value, Value> unified_values(const Value &a, const Value &b, Scalar type) const;

    // subscripts.cpp
    Value subscript_of(const Value &object, const Node &node);
    Value item_of_tuple(const Value &tuple, const Node &node);
    View subscripted(const Value &array, const Node &index, Position at);
    View subscripted(const Value &array, std::span<const syntax::NodePtr> indices, Position at);
    struct Subscript {
        const Node *node;  // a slice or an ellipsis; nullptr: an index
        Value index;
    };
    static const Node &whole_slice();
    void complete(std::vector<Subscript> &subscripts, std::size_t ndim, const std::string &array,
                  Position at) const;
    std::vector<Subscript> subscripts_of(std::span<const syntax::NodePtr> indices);
    View part_of_array(const View &whole, const std::vector<Subscript> &subscripts, Position at);
    ir::Expression index_in(const View &array, std::size_t dimension, const Value &index);
    ir::Expression clamped(const Node &bound, const ir::Expression &extent, std::int64_t least,
                           const ir::Expression &most);
    void slice_dimension(const View &array, std::size_t dimension, const Node &slice, View &part);
    Value loaded(const View &element, Position at);

    // bounds.cpp
    // Returns: nullopt for types without a range, as full_range().
    std::optional<kernel::Range> proved_range(const ir::Expression &expression) const;
    Proved proved(const ir::Expression &expression) const;
    std::optional<Assumed> assumed(const ir::Expression &expression) const;
    bool counts_from_front(const ir::Expression &index) const;
    void bound_extent(ir::VariableId extent);
    void bound_counter(ir::VariableId counter, const Range &range);
    void learn(const ir::Expression &condition, bool holds);  // facts for the rest of the path
    void learn_bound(const ir::Expression &variable, ir::Op op, const ir::Expression &other);

    // calls.cpp
    Value value_of_call(const Node &node);
    Value call_builtin(const Node &node, const FunctionRow &row);
    Value call_numeric(const FunctionRow &row, const Node &node,
                       std::span<const Node *const> arguments);
    std::vector<const Node *> arguments_of(const Node &node, const FunctionRow &row) const;
    std::vector<Value> scalars_of(std::span<const Node *const> arguments);
    std::int64_t literal_of(const Node &node, const std::string &what);
    std::int64_t step_of(const Node &node);  // step of a slice
    std::string text_of(const Node &node, const std::string &what);
    std::string text_of(const Value &value, Position at, const std::string &what) const;
    Dtype dtype_of(const Node &node);
    Dtype python_dtype(const std::string &name) const;
    Value call_dtype(const Node &node, Dtype dtype);
    Value call_method(const Node &node, const Node &callee);
    Value cast(Dtype dtype, const Value &value, Position at);
    Value bits_as(Dtype dtype, const Value &value, Position at);
    Value call_index(const FunctionRow &row, const Node &node,
                     std::span<const Node *const> arguments);

    // math.cpp
    Value call_math(const FunctionRow &row, const Node &node,
                    std::span<const Node *const> arguments);
    Value call_conversion(const FunctionRow &row, const Node &node,
                          std::span<const Node *const> arguments);
    Value call_expanded(const FunctionRow &row, const Node &node,
                        std::span<const Node *const> arguments);
    Scalar common_type(const std::vector<Value> &values) const;
    Value factor_for(const Value &x, double number, Position at) const;
    Value close(const FunctionRow &row, std::span<const Node *const> arguments, Position at);
    Value logarithm_of(const Value &x, Position at) const;
    Value length_of(const Value &value) const;
    Value rounded(Value x, const Node *digits, Position at);
    Value rounded_integer(const Value &x, std::int64_t places, Position at);
    Value extremum(const FunctionRow &row, std::vector<Value> values, Position at);

    // numbers.cpp
    Value in_temporary(Value value);
    Value as_real(const Value &value, const FunctionRow &row) const;
    Value call_integral(const FunctionRow &row, const Node &node,
                        std::vector<const Node *> arguments);
    Value split_float(const Value &x, Position at);
    Value decomposed(const Value &x, Position at);
    Value scaled(const FunctionRow &row, const Value &x, const Value &exponent, Position at) const;
    Value unit_in_last_place(const Value &x, Position at);
    static Value pair_of(Value first, Value second, Position at);
    Value tuple_value(const FunctionRow &row, const Node &node);
    Value call_of_tuples(const FunctionRow &row, const Node &node,
                         std::span<const Node *const> arguments);
    std::vector<Value> differences(const FunctionRow &row, const std::vector<Value> &items,
                                   const std::vector<Value> &others, Position at) const;
    Value distance(const FunctionRow &row, const std::vector<Value> &coordinates,
                   Position at) const;
    Value accurate_sum(const FunctionRow &row, const std::vector<Value> &items, Position at);

    // complex.cpp
    Value call_complex(const FunctionRow &row, Value x, Position at);
    Value made_complex(const Node &node, std::span<const Node *const> arguments);
    Value complexified(const Value &value) const;
    Value call_analytic(const FunctionRow &row, const Value &argument, Position at);
    Value complex_logarithm(const std::vector<Value> &values, Position at);
    Value polar(const Value &argument, Position at);
    Value rectangular(const std::vector<Value> &values, Position at);

    // spaces.cpp
    Value call_array(const FunctionRow &row, const Node &node,
                     std::span<const Node *const> arguments);
    Value constant_array(const Node &node, std::span<const Node *const> arguments);
    Value array_value(ir::RootId root, Position at) const;
    std::vector<std::int64_t> shape_of(const Node &node, bool is_local = false);
    static StructTypePtr struct_type_of(const Node &node);
    void fill_with_zeros(const View &array, Position at);
    bool known_truth(const Node &node, const std::string &what);

    // groups.cpp
    Value call_barrier(const FunctionRow &row, const Node &node,
                       std::span<const Node *const> arguments);
    Value call_atomic(const FunctionRow &row, const Node &node,
                      std::span<const Node *const> arguments);
    Value ballot(const Value &condition, Position at);
    Value call_group(const FunctionRow &row, const Node &node,
                     std::span<const Node *const> arguments);
    Value call_atomic_fence(const Node &node, std::span<const Node *const> arguments);
    Value compare_exchange(const Node &node, std::span<const Node *const> arguments);
    std::string enumerator_of(const Node &node, const std::string &what,
                              std::span<const std::string_view> by_number);
    void check_space(const Node *node, Space space);
    ir::Order order_of(const Node *node, ir::Order otherwise);
    ir::Scope scope_of(const Node *node, ir::Scope otherwise);
    Value call_print(const FunctionRow &row, const Node &node);
    void add_printed(const Node &node, ir::Statement &print);

    // device_functions.cpp
    Value call_function(const Node &node, const std::shared_ptr<const syntax::Function> &callee);
    std::vector<Value> arguments_for(const Node &node, const syntax::Function &callee);
    Instantiation compiled_for(const std::shared_ptr<const syntax::Function> &callee,
                               const std::vector<Value> &arguments, Position at);
    ir::Function compiled_function(Instantiation &wanted, Position at);
    void refuse_recursion(const syntax::Function &callee, Position at) const;
    void bind_call_argument(const std::string &name, Position at, const Value &passed);
    void bind_call_array(const std::string &name, Position at, const View &passed);
    ir::VariableId new_parameter(const std::string &name, Position at);
    void return_value(const Value &given, Position at);
    void return_argument(const Value &array, Position at);
    std::optional<std::size_t> argument_of(const Value &array) const;
    void set_result_type(Value &result, Position at);
    Value flattened_result(const Value &value, Position at);
    static bool add_numbers(const Value &value, std::vector<Value> &numbers);
    static Value rebuilt(const Value &form, const Value &numbers, std::size_t &next);

    // Statements
    struct Mark {
        Block *block;
        std::size_t statements, effects;
    };
    Mark mark() const { return {block_, block_->size(), effects_}; }
    // Evaluates `earlier` at `mark` if it reads memory and a side effect has followed.
    void save_before(Value &earlier, const Mark &mark);
    ir::Statement &emit(ir::Act act, Position at, std::vector<ir::Expression> expressions = {},
                        std::uint32_t id = 0);

    // A variable that is assigned two types has the first of them in the next walk. Variables that
    // pass two types among each other may thus swap them in every walk. From this walk on, such a
    // variable has the common type of both, which only widens.
    static constexpr int walks_before_joining_types = 20;

    Unit &unit_;
    const Target &target_;
    const std::shared_ptr<const syntax::Function> source_;
    Rules rules_;  // of this function; those of vectors are NumPy's
    const bool is_kernel_;
    const LoopNames loop_names_;  // loop variables used in their loop only
    mutable bool has_vectors_;    // functions of numbers may have to be called by component

    std::map<std::string, Slot> known_;  // result of the previous walk
    std::map<std::string, Slot> found_;  // result of this walk
    std::map<std::string, Storage> storage_;
    // Values of names that no assignment changes: loop counters and arguments.
    std::map<std::string, Value> bound_;
    // Extents and strides of roots that are fields of structs.
    std::map<ir::RootId, View> wholes_;
    std::vector<std::optional<kernel::Range>> proved_;  // by variable: range of its only value
    std::vector<std::optional<Assumed>> assumed_;       // by variable: bound of all its values
    std::set<std::string> taken_;                       // names in the typed form
    ir::Function function_;
    Flow flow_;
    Block *block_ = nullptr;
    std::size_t effects_ = 0;
    bool changes_memory_ = false;
    std::uint32_t places_ = 0;  // number of parameters so far
    int walk_ = 0;
    mutable bool has_varying_ = false;  // true: this walk has seen a varying integer
    // Error for the first literal of this walk that does not fit its type.
    mutable std::optional<CompileError> overflowing_literal_;
    // True once assignments have given all variables a type.
    bool tells_varying_ = false;
    struct Loop {
        std::vector<Flow> breaks, continues;
    };
    std::vector<Loop *> loops_;
    std::optional<Position> empty_return_;
    Value returned_form_;                           // see Instantiation::form
    std::optional<std::size_t> returned_argument_;  // see Instantiation::returned_argument
    std::string array_name_;  // name for an array created by the current assignment
};

}  // namespace entrepot::kernel
