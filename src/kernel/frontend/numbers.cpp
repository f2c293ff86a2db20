// Functions of Python's math on integers, on the parts of floats, and on tuples. Those on tuples
// are expanded for their items.
#include "kernel/frontend/lowering.hpp"

#include <algorithm>
#include <cmath>

namespace entrepot::kernel {

namespace {

std::string quoted(const FunctionRow &row) { return sentence_of("`", row.name, "`"); }

}  // namespace

// Stores a value in a variable unless it is cheap to evaluate at each use.
Value Lowering::in_temporary(Value value) {
    return value.is_constant() || build::is_simple(value.expression)
               ? value
               : in_variable(std::move(value), "value");
}

Value Lowering::as_real(const Value &value, const FunctionRow &row) const {
    if (is_complex(value.expression.type.dtype))
        refuse(value.at, quoted(row) + " is of real numbers, but this is " + value.type_name() +
                             "; take .real, .imag or abs(...)");
    const Scalar type = as_float(value.scalar(), target_);
    return made(as(value, type.dtype).expression, type.weak);
}

// ---------------------------------------------------------------- integers

Value Lowering::call_integral(const FunctionRow &row, const Node &node,
                              std::vector<const Node *> arguments) {
    std::erase(arguments, nullptr);
    const std::vector<Value> values = scalars_of(arguments);
    for (const Value &value : values)
        if (!is_integer(value.expression.type.dtype) && !is_boolean(value.expression.type.dtype))
            refuse(value.at, quoted(row) + " is of integers, but this is " + value.type_name() +
                                 "; write int(...)");
    if (values.empty())
        return literal(std::int64_t{row.text == "lcm" ? 1 : 0}, node.at);
    Scalar type = common_type(values);
    if (row.rule == Rule::counting)
        type.dtype = dtypes::int64;
    const auto called = [&](std::string_view name, std::initializer_list<ir::Expression> operands) {
        ir::Expression call = build::math("", scalar_type(type.dtype), node.at, operands);
        call.text = name;
        return made(std::move(call), type.weak);
    };
    Value result = made(as(values[0], type.dtype).expression, type.weak);
    if (values.size() == 1 && row.text == "isqrt")
        return called(row.text, {result.expression});
    if (row.text == "bitwise_count")
        return made(
            build::math("bitwise_count", scalar_type(dtypes::uint8), node.at, {result.expression}));
    if (values.size() == 1)
        return row.rule == Rule::counting
                   ? called("factorial", {result.expression})
                   : call_complex(*find_function("abs"), std::move(result), node.at);
    for (std::size_t i = 1; i < values.size(); ++i)
        result = called(row.text, {result.expression, as(values[i], type.dtype).expression});
    return result;
}

// ---------------------------------------------------------------- a float's parts

// Fractional and integer part, both floats with the sign of x, as math.modf returns them.
Value Lowering::split_float(const Value &x, Position at) {
    const Scalar scalar = x.scalar();
    const Type type = scalar_type(scalar.dtype);
    const Value whole = made(build::math("trunc", type, at, {x.expression}), scalar.weak);
    const Value is_infinite =
        made(build::math("isinf", scalar_type(dtypes::boolean), at, {x.expression}));
    const Value rest = lazily(
        is_infinite,
        [&] { return made(as(literal(0.0, at), scalar.dtype).expression, scalar.weak); },
        [&] { return operation(ir::Op::subtract, x, whole, scalar, at); }, at);
    return pair_of(
        made(build::math("copysign", type, at, {rest.expression, x.expression}), scalar.weak),
        whole, at);
}

// The mantissa, in [0.5, 1), and the exponent.
Value Lowering::decomposed(const Value &x, Position at) {
    const Type int32 = scalar_type(dtypes::int32);
    const Value exponent = in_temporary(made(build::math("exponent", int32, at, {x.expression})));
    const ir::Expression back = build::of(ir::Op::negate, int32, at, {exponent.expression});
    return pair_of(made(build::math("ldexp", x.expression.type, at, {x.expression, back}), x.weak),
                   made(build::converted(exponent.expression, dtypes::int64)), at);
}

// C's exponent is an int: values beyond the range of floats are clamped, which gives the same
// result.
Value Lowering::scaled(const FunctionRow &row, const Value &x, const Value &exponent,
                       Position at) const {
    if (!is_integer(exponent.expression.type.dtype) && !is_boolean(exponent.expression.type.dtype))
        refuse(exponent.at, "the exponent of " + quoted(row) + " is an integer, but this is " +
                                exponent.type_name());
    constexpr std::int64_t furthest = 5000;
    const ir::Expression within = build::smaller(
        build::greater(as(exponent, dtypes::int64).expression, build::integer(-furthest, at)),
        build::integer(furthest, at));
    return made(build::math("ldexp", x.expression.type, at,
                            {x.expression, build::converted(within, dtypes::int32)}),
                x.weak);
}

// Distance to the next float away from 0. If that is infinite, the distance to the next float
// towards 0.
Value Lowering::unit_in_last_place(const Value &x, Position at) {
    const Scalar type = x.scalar();
    const auto next = [&](const Value &from, double towards) {
        return made(build::math("nextafter", from.expression.type, at,
                                {from.expression, as(literal(towards, at), type.dtype).expression}),
                    type.weak);
    };
    const auto is_infinite = [&](const Value &value) {
        return made(build::math("isinf", scalar_type(dtypes::boolean), at, {value.expression}));
    };
    const Value size = in_temporary(call_complex(*find_function("abs"), x, at));
    const Value above = in_temporary(next(size, HUGE_VAL));
    const auto to_below = [&] {
        return lazily(
            is_infinite(size), [&] { return size; },
            [&] { return operation(ir::Op::subtract, size, next(size, 0), type, at); }, at);
    };
    return lazily(
        is_infinite(above), to_below,
        [&] { return operation(ir::Op::subtract, above, size, type, at); }, at);
}

Value Lowering::pair_of(Value first, Value second, Position at) {
    Value pair;
    pair.kind = Value::Kind::tuple;
    pair.at = at;
    pair.items = {std::move(first), std::move(second)};
    return pair;
}

// ---------------------------------------------------------------- tuples

Value Lowering::tuple_value(const FunctionRow &row, const Node &node) {
    Value tuple = value_after_effects(node);
    const bool holds_numbers =
        tuple.kind == Value::Kind::tuple && std::ranges::all_of(tuple.items, &Value::is_scalar);
    if (!holds_numbers)
        refuse(node.at, quoted(row) + " takes a tuple of numbers, but this is " +
                            tuple.type_name() + "; write a loop for the elements of an array");
    return tuple;
}

Value Lowering::call_of_tuples(const FunctionRow &row, const Node &node,
                               std::span<const Node *const> arguments) {
    Value items = tuple_value(row, *arguments[0]);
    if (row.name == "math.fsum")
        return accurate_sum(row, items.items, node.at);
    const Mark before = mark();
    if (row.name == "math.prod") {
        Value product =
            arguments[1] ? scalar_value(*arguments[1]) : literal(std::int64_t{1}, node.at);
        for (Value &item : items.items) {
            save_before(item, before);
            product = binary("*", product, item, node.at);
        }
        return product;
    }
    const Value others = tuple_value(row, *arguments[1]);
    if (items.items.size() != others.items.size())
        refuse(node.at, sentence_of(quoted(row), " takes two tuples of one length, but these have ",
                                    items.items.size(), " and ", others.items.size(), " items"));
    for (Value &item : items.items)
        save_before(item, before);
    if (row.name == "math.dist")
        return distance(row, differences(row, items.items, others.items, node.at), node.at);
    Value sum = literal(std::int64_t{0}, node.at);
    for (std::size_t i = 0; i < items.items.size(); ++i)
        sum = binary("+", sum, binary("*", items.items[i], others.items[i], node.at), node.at);
    return sum;
}

// Differences as floats, because those of unsigned integers would wrap.
std::vector<Value> Lowering::differences(const FunctionRow &row, const std::vector<Value> &items,
                                         const std::vector<Value> &others, Position at) const {
    std::vector<Value> result;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Value a = as_real(items[i], row), b = as_real(others[i], row);
        result.push_back(operation(ir::Op::subtract, a, b, common_type({a, b}), at));
    }
    return result;
}

// Distance from the origin in any number of dimensions.
Value Lowering::distance(const FunctionRow &row, const std::vector<Value> &coordinates,
                         Position at) const {
    if (coordinates.empty())
        return literal(0.0, at);
    std::vector<Value> real;
    for (const Value &coordinate : coordinates)
        real.push_back(as_real(coordinate, row));
    const Scalar type = common_type(real);
    Value result = made(as(real[0], type.dtype).expression, type.weak);
    if (real.size() == 1)
        return made(build::math("abs", scalar_type(type.dtype), at, {result.expression}),
                    type.weak);
    for (std::size_t i = 1; i < real.size(); ++i)
        result = made(build::math("hypot", scalar_type(type.dtype), at,
                                  {result.expression, as(real[i], type.dtype).expression}),
                      type.weak);
    return result;
}

// Neumaier summation: rounding errors are summed separately. If that sum is NaN, the main sum is
// already infinite.
Value Lowering::accurate_sum(const FunctionRow &row, const std::vector<Value> &items, Position at) {
    std::vector<Value> real;
    for (const Value &item : items)
        real.push_back(as_real(item, row));
    if (real.empty())
        return literal(0.0, at);
    const Scalar type = common_type(real);
    const auto minus = [&](const Value &a, const Value &b) {
        return operation(ir::Op::subtract, a, b, type, at);
    };
    const auto plus = [&](const Value &a, const Value &b) {
        return operation(ir::Op::add, a, b, type, at);
    };
    const auto size = [&](const Value &value) {
        return call_complex(*find_function("abs"), value, at);
    };
    const auto typed = [&](const Value &value) {
        return in_temporary(made(as(value, type.dtype).expression, type.weak));
    };
    Value sum = typed(real[0]), lost = typed(literal(0.0, at));
    for (std::size_t i = 1; i < real.size(); ++i) {
        const Value item = typed(real[i]);
        const Value next = in_temporary(plus(sum, item));
        const Value rest = lazily(
            compared(">=", size(sum), size(item), at), [&] { return plus(minus(sum, next), item); },
            [&] { return plus(minus(item, next), sum); }, at);
        lost = in_temporary(plus(lost, rest));
        sum = next;
    }
    return lazily(
        compared("==", lost, lost, at), [&] { return plus(sum, lost); }, [&] { return sum; }, at);
}

}  // namespace entrepot::kernel
