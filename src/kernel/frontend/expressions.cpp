// Expressions: constants, names, attributes, and lazy evaluation.
#include "kernel/frontend/lowering.hpp"

#include "core/closest.hpp"

#include <algorithm>

namespace entrepot::kernel {

Value Lowering::made(ir::Expression expression, Weak weak) const {
    Value value;
    value.kind = Value::Kind::scalar;
    value.at = expression.at;
    value.expression = std::move(expression);
    value.weak = weak;
    value.varies = is_varying(value);
    return value;
}

// While it is unknown which variables are typed, nothing varies: `total = 0` before `total += a[i]`
// takes the type of `a`.
bool Lowering::is_varying(const Value &value) const {
    const bool could_be = value.weak == Weak::integer && !value.is_constant();
    has_varying_ |= could_be;
    return could_be && tells_varying_;
}

Value Lowering::evaluate(const Node &node) {
    switch (node.kind) {
    case Kind::constant:
        return value_of_constant(node.value, node.at, node.text);
    case Kind::name:
        return value_of_name(node);
    case Kind::builtin: {
        Value value;
        value.kind = Value::Kind::builtin;
        value.at = node.at;
        value.text = node.text;
        return value;
    }
    case Kind::function: {
        Value value;
        value.kind = Value::Kind::function;
        value.at = node.at;
        value.callee = node.callee;
        return value;
    }
    case Kind::attribute:
    case Kind::subscript:
        return read(place_of(node), node.at);
    case Kind::tuple: {
        Value value;
        value.kind = Value::Kind::tuple;
        value.at = node.at;
        value.items = values_in_order(node.operands);
        return value;
    }
    case Kind::unary:
        return value_of_unary(node);
    case Kind::binary:
        return value_of_binary(node);
    case Kind::compare:
        return value_of_compare(node);
    case Kind::boolean:
        return value_of_boolean(node);
    case Kind::conditional:
        return value_of_conditional(node);
    case Kind::call:
        return value_of_call(node);
    case Kind::slice:
    case Kind::ellipsis:
        refuse(node.at, "a slice stands only between the brackets of an array, as in a[2:8]");
    default:
        refuse_unsupported(node);
    }
}

Value Lowering::value_after_effects(const Node &node) {
    return value_after_effects(evaluate(node));
}

Value Lowering::value_after_effects(Value value) {
    if (!value.has_effect)
        return value;
    if (value.is_scalar())
        return in_variable(std::move(value),
                           value.expression.op == ir::Op::atomic ? "old" : "result");
    std::vector<ir::VariableId> ids;
    for (Value &item : value.items) {
        ids.push_back(new_variable("result", item.expression.type, value.at));
        item = made(build::variable(ids.back(), item.expression.type, value.at), item.weak);
    }
    if (value.kind == Value::Kind::tuple)
        emit(ir::Act::unpack, value.at, {std::move(value.expression)}).ids = std::move(ids);
    else
        emit(ir::Act::evaluate, value.at, {std::move(value.expression)});
    value.has_effect = false;
    return value;
}

Value Lowering::scalar_value(const Node &node) {
    Value value = value_after_effects(node);
    if (!value.is_scalar())
        refuse(node.at, "a number is expected here, but this is " + value.type_name());
    return value;
}

std::vector<Value> Lowering::values_in_order(std::span<const syntax::NodePtr> nodes) {
    std::vector<Value> values;
    for (const auto &node : nodes) {
        const Mark before = mark();
        Value value = value_after_effects(*node);
        for (Value &earlier : values)
            save_before(earlier, before);
        values.push_back(std::move(value));
    }
    return values;
}

Value Lowering::in_variable(Value value, const std::string &name) {
    const ir::VariableId id = new_variable(name, value.expression.type, value.at);
    proved_[id] = proved_range(value.expression);
    assumed_[id] = assumed(value.expression);
    emit(ir::Act::assign, value.at, {value.expression}, id);
    Value named = made(build::variable(id, value.expression.type, value.at), value.weak);
    named.choices = std::move(value.choices);
    return named;
}

Value Lowering::as(const Value &value, Dtype dtype) const {
    if (!value.is_literal())
        return made(build::converted(value.expression, dtype));
    if (auto constant = constant_as(value.expression, dtype))
        return made(std::move(*constant));
    if (!overflowing_literal_)
        overflowing_literal_ =
            CompileError(*source_, value.at,
                         value.type_name() + " does not fit in " + name_of(dtype) +
                             ", the type that it meets; convert the other side to a type "
                             "that holds it, as in int64(...)");
    return made(build::converted(value.expression, dtype));
}

// ---------------------------------------------------------------- constants and names

Value Lowering::value_of_constant(const syntax::Constant &constant, Position at,
                                  const std::string &name) {
    const auto literal = [&](auto number, Weak weak) {
        ir::Expression expression;
        expression.at = at;
        expression.value = number;
        Scalar scalar = constant.typed ? Scalar{constant.dtype} : weak_scalar(weak, target_);
        if (!constant.typed)
            scalar.dtype = literal_type(number, scalar.dtype);
        expression.type = scalar_type(scalar.dtype);
        if (constant.typed)
            expression = constant_as(expression, scalar.dtype).value_or(expression);
        return made(std::move(expression), scalar.weak);
    };
    Value value;
    value.at = at;
    return std::visit(
        [&](const auto &held) -> Value {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, bool>) {
                return literal(held, Weak::boolean);
            } else if constexpr (std::is_same_v<Held, std::int64_t> ||
                                 std::is_same_v<Held, std::uint64_t>) {
                return literal(held, Weak::integer);
            } else if constexpr (std::is_same_v<Held, double>) {
                return literal(held, Weak::floating);
            } else if constexpr (std::is_same_v<Held, std::complex<double>>) {
                return literal(held, Weak::complex);
            } else if constexpr (std::is_same_v<Held, std::string>) {
                value.kind = Value::Kind::text;
                value.text = held;
            } else if constexpr (std::is_same_v<Held, Dtype>) {
                value.kind = Value::Kind::dtype;
                value.dtype = held;
            } else if constexpr (std::is_same_v<Held, StructTypePtr>) {
                value.kind = Value::Kind::dtype;
                value.structure = held;
            } else if constexpr (std::is_same_v<Held, syntax::ConstantTuple>) {
                value.kind = Value::Kind::tuple;
                for (const syntax::Constant &item : held)
                    value.items.push_back(value_of_constant(item, at, name));
            } else if constexpr (std::is_same_v<Held, std::shared_ptr<const ConstantArray>>) {
                return array_of_captured(held, at, name);
            }
            return value;
        },
        constant.value);
}

// Adds the captured array to the function once.
Value Lowering::array_of_captured(const std::shared_ptr<const ConstantArray> &values, Position at,
                                  const std::string &name) {
    if (!is_number(values->dtype))
        refuse(at, "the captured array has elements of " + name_of(values->dtype) +
                       ", with which kernels do not calculate; convert it before");
    const auto found = std::ranges::find(function_.roots, values, &ir::Root::values);
    auto root = static_cast<ir::RootId>(found - function_.roots.begin());
    if (found == function_.roots.end()) {
        ir::Root made_root;
        made_root.name = !array_name_.empty() ? array_name_ : name.empty() ? "constants" : name;
        made_root.type.kind = Type::Kind::array;
        made_root.type.dtype = values->dtype;
        made_root.type.space = Space::constant;
        made_root.type.ndim = static_cast<std::uint32_t>(values->shape.size());
        made_root.type.contiguous = made_root.type.read_only = true;
        made_root.type.shape = values->shape;
        made_root.at = at;
        made_root.values = values;
        root = new_root(std::move(made_root));
    }
    Value value;
    value.kind = Value::Kind::array;
    value.at = at;
    value.view = std::make_shared<const View>(whole_of(root, at));
    return value;
}

Value Lowering::value_of_name(const Node &node) {
    if (const auto bound = bound_.find(node.text); bound != bound_.end()) {
        Value value = bound->second;
        value.at = value.expression.at = node.at;
        return value;
    }
    const auto found = found_.find(node.text);
    if (!flow_.assigned.contains(node.text)) {
        if (found != found_.end())
            refuse(node.at,
                   "`" + node.text +
                       "` may be read before it is assigned: a way leads here on which it has no "
                       "value; "
                       "assign it before the if or the loop",
                   found->second.first, "it is assigned here");
        refuse(node.at, "`" + node.text + "` is read before it is assigned; assign it first");
    }
    const auto known = known_.find(node.text);
    return value_of_slot(known != known_.end() && known->second.form == found->second.form
                             ? known->second
                             : found->second,
                         storage_.at(node.text), node.at);
}

Value Lowering::value_of_slot(const Slot &slot, const Storage &storage, Position at) const {
    if (slot.form == Slot::Form::scalar)
        return made(
            build::variable(*storage.variable, function_.variables[*storage.variable].type, at),
            slot.scalar.weak);
    Value value;
    value.at = at;
    if (slot.form == Slot::Form::tuple || slot.form == Slot::Form::structure) {
        value.kind = slot.form == Slot::Form::tuple ? Value::Kind::tuple : Value::Kind::structure;
        value.structure = slot.structure;
        value.ndim = slot.ndim;
        for (std::size_t i = 0; i < storage.items.size(); ++i)
            value.items.push_back(value_of_slot(slot.items.at(i), storage.items[i], at));
        return value;
    }
    View view{slot.root, slot.type, {}, {}, {}};
    for (std::size_t i = 0; i < slot.fixed.size(); ++i) {
        const auto part = storage.parts.find(i);
        ir::Expression expression =
            slot.fixed[i] || part == storage.parts.end()
                ? slot.fixed[i].value_or(build::integer(0, at))
                : build::variable(part->second, scalar_type(dtypes::int64), at);
        (i == 0                ? view.offset
         : i <= slot.type.ndim ? view.extents.emplace_back()
                               : view.strides.emplace_back()) = expression;
    }
    value.kind = Value::Kind::array;
    value.view = std::make_shared<const View>(std::move(view));
    return value;
}

// ---------------------------------------------------------------- attributes

Value Lowering::attribute_of(const Value &object, const Node &node) {
    if (object.kind == Value::Kind::array)
        return array_attribute(object, node);
    if (object.is_scalar())
        return scalar_attribute(object, node);
    if (object.kind == Value::Kind::dtype && node.text == "type")
        return object;
    refuse(node.at, object.type_name() + " has no `." + node.text + "` in a kernel");
}

Value Lowering::array_attribute(const Value &array, const Node &node) {
    const View &view = *array.view;
    Value value;
    value.at = node.at;
    if (!view.type.tile.empty() && (source_->tile.empty() || node.text != "block"))
        return accumulator_attribute(array, node);
    if (node.text == "shape" || !view.type.tile.empty()) {
        value.kind = Value::Kind::tuple;
        for (const ir::Expression &extent : view.extents)
            value.items.push_back(made(extent));
        return value;
    }
    if (node.text == "size") {
        ir::Expression size = build::integer(1, node.at);
        for (const ir::Expression &extent : view.extents)
            size = build::product(std::move(size), extent);
        return made(std::move(size));
    }
    if (node.text == "ndim")
        return integer(view.type.ndim, node.at);
    if (node.text == "dtype") {
        value.kind = Value::Kind::dtype;
        value.dtype = view.type.dtype;
        return value;
    }
    if (node.text == "T") {
        View turned = view;
        std::ranges::reverse(turned.extents);
        std::ranges::reverse(turned.strides);
        std::ranges::reverse(turned.type.shape);
        turned.type.contiguous = view.type.contiguous && view.type.ndim < 2;
        value.kind = Value::Kind::array;
        value.view = std::make_shared<const View>(std::move(turned));
        return value;
    }
    static const std::vector<std::string> known{"shape", "size", "ndim", "dtype", "T"};
    const std::string near = did_you_mean(node.text, known);
    refuse(node.at, "arrays have shape, size, ndim, dtype and T in a kernel, but no `." +
                        node.text + "`" + (near.empty() ? "; write a loop over elements" : near));
}

Value Lowering::scalar_attribute(const Value &scalar, const Node &node) {
    if (node.text == "x")  // a vector of one component is a number
        return scalar;
    if (node.text == "real" || node.text == "imag")
        return call_complex(*find_function("numpy." + node.text), scalar, node.at);
    if (node.text == "dtype") {
        Value value;
        value.kind = Value::Kind::dtype;
        value.at = node.at;
        value.dtype = scalar.expression.type.dtype;
        return value;
    }
    refuse(node.at,
           "numbers have real, imag and conjugate() in a kernel, but no `." + node.text + "`");
}

// ---------------------------------------------------------------- lazy evaluation

Value Lowering::truth_of(const Node &node) {
    if (node.kind != Kind::boolean)
        return truth_of(value_after_effects(node));
    Value truth = truth_of(*node.operands[0]);
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
        const auto next = [&] { return truth_of(*node.operands[i]); };
        truth = node.text == "and" ? both(std::move(truth), next, node.at)
                                   : either(std::move(truth), next, node.at);
    }
    return truth;
}

Value Lowering::truth_of(const Value &value) const {
    if (!value.is_scalar())
        refuse(value.at,
               value.type_name() + " has no truth in a kernel; compare a number, as in len(x) > 0");
    if (const auto constant =
            value.is_constant() ? constant_as(value.expression, dtypes::boolean) : std::nullopt)
        return made(*constant);
    return made(build::converted(value.expression, dtypes::boolean));
}

Value Lowering::negated_truth(const Value &truth) const {
    if (truth.is_constant())
        return made(build::boolean(!std::get<bool>(truth.expression.value), truth.at));
    return made(
        build::of(ir::Op::logic_not, scalar_type(dtypes::boolean), truth.at, {truth.expression}));
}

Value Lowering::both(Value a, const std::function<Value()> &b, Position at) {
    return lazily(std::move(a), b, [&] { return made(build::boolean(false, at)); }, at);
}

Value Lowering::either(Value a, const std::function<Value()> &b, Position at) {
    return lazily(std::move(a), [&] { return made(build::boolean(true, at)); }, b, at);
}

namespace {

// The literals that a number may be; empty if it may be anything else.
std::vector<ir::Expression> choices_of(const Value &value) {
    return value.is_literal() ? std::vector{value.expression} : value.choices;
}

std::vector<ir::Expression> choices_of(const Value &a, const Value &b) {
    std::vector<ir::Expression> all = choices_of(a);
    const std::vector<ir::Expression> others = choices_of(b);
    if (all.empty() || others.empty())
        return {};
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

}  // namespace

// Evaluates one of two numbers; the statements of the other do not run.
Value Lowering::lazily(Value condition, const std::function<Value()> &then,
                       const std::function<Value()> &otherwise, Position at) {
    if (condition.is_constant())
        return std::get<bool>(condition.expression.value) ? then() : otherwise();
    Value values[2];
    Flow flows[2] = {flow_, flow_};
    Block blocks[2];
    for (const bool holds : {true, false})
        blocks[holds] = lowered_into_block(flows[holds], [&] {
            learn(condition.expression, holds);
            values[holds] = value_after_effects((holds ? then : otherwise)());
        });
    for (const Value &value : values)
        if (!value.is_scalar())
            refuse(value.at, "if-else, `and` and `or` choose between numbers, but this is " +
                                 value.type_name() + "; write an if statement");
    const Scalar type = unified(values[1].scalar(), values[0].scalar(), rules_);
    const auto [yes, no] = unified_values(values[1], values[0], type);
    Value one = chosen(condition, yes, no, blocks, at);
    if (type.weak == Weak::integer)
        one.choices = choices_of(values[1], values[0]);
    return one;
}

// Returns: an expression if neither branch needs statements, else a variable that an `if` assigns.
//          `blocks` has the statements of `no` and of `yes`.
Value Lowering::chosen(const Value &condition, const Value &yes, const Value &no,
                       std::span<Block, 2> blocks, Position at) {
    const Type &type = yes.expression.type;
    Block &other = blocks[0], &body = blocks[1];
    if (body.empty() && other.empty()) {
        const bool is_bool = is_boolean(type.dtype);
        if (is_bool && no.is_constant() && !std::get<bool>(no.expression.value))
            return made(
                build::of(ir::Op::logic_and, type, at, {condition.expression, yes.expression}),
                yes.weak);
        if (is_bool && yes.is_constant() && std::get<bool>(yes.expression.value))
            return made(
                build::of(ir::Op::logic_or, type, at, {condition.expression, no.expression}),
                yes.weak);
        return made(build::of(ir::Op::select, type, at,
                              {condition.expression, yes.expression, no.expression}),
                    yes.weak);
    }
    const ir::VariableId id = new_variable("chosen", type, at);
    const auto assign = [&](Block &block, const Value &value) {
        ir::Statement &statement = block.emplace_back();
        statement.act = ir::Act::assign;
        statement.at = value.at;
        statement.id = id;
        statement.expressions = {value.expression};
    };
    assign(body, yes);
    assign(other, no);
    ir::Statement &statement = emit(ir::Act::if_, at, {condition.expression});
    statement.body = std::move(body);
    statement.otherwise = std::move(other);
    return made(build::variable(id, type, at), yes.weak);
}

Value Lowering::recorded_choice(Value value, Position at) {
    if (value.is_scalar() && !value.is_literal())
        function_.choices.emplace_back(
            at, ir::InferredType{value.expression.type.dtype, value.weak != Weak::none, {}});
    return value;
}

Value Lowering::value_of_conditional(const Node &node) {
    return recorded_choice(lazily(
                               truth_of(*node.operands[0]),
                               [&] { return value_after_effects(*node.operands[1]); },
                               [&] { return value_after_effects(*node.operands[2]); }, node.at),
                           node.at);
}

// Result as in Python: the operand that decides, not a bool.
Value Lowering::value_of_boolean(const Node &node) {
    Value value = value_after_effects(*node.operands[0]);
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
        const auto next = [&] { return value_after_effects(*node.operands[i]); };
        if (value.is_scalar() && !value.is_constant() && !is_boolean(value.expression.type.dtype) &&
            !build::is_simple(value.expression))
            value = in_variable(std::move(value), "value");
        const Value truth = truth_of(value);
        if (is_boolean(truth.expression.type.dtype) &&
            build::same(truth.expression, value.expression))
            value = node.text == "and" ? both(truth, next, node.at) : either(truth, next, node.at);
        else
            value = node.text == "and" ? lazily(
                                             truth, next, [&] { return value; }, node.at)
                                       : lazily(truth, [&] { return value; }, next, node.at);
    }
    return recorded_choice(std::move(value), node.at);
}

Value Lowering::value_of_compare(const Node &node) {
    return value_of_chain(node, 0, value_after_effects(*node.operands[0]));
}

// `a < b < c`: evaluates b once, and c only if a < b.
Value Lowering::value_of_chain(const Node &node, std::size_t from, Value left) {
    const bool is_last = from + 1 == node.names.size();
    const Mark before = mark();
    Value right = value_after_effects(*node.operands[from + 1]);
    save_before(left, before);
    if (!is_last && right.is_scalar() && !build::is_simple(right.expression))
        right = in_variable(std::move(right), "middle");
    Value first = compared(node.names[from], left, right, node.at);
    if (is_last)
        return first;
    return both(std::move(first), [&] { return value_of_chain(node, from + 1, right); }, node.at);
}

}  // namespace entrepot::kernel
