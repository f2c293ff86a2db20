// Operators: Python's semantics, expanded for the given types.
#include "kernel/frontend/lowering.hpp"
#include "kernel/frontend/numba_typing.hpp"

#include <algorithm>

namespace entrepot::kernel {

namespace {

using ir::Op;

const Type boolean_type = scalar_type(dtypes::boolean);

Weak weak_of(const Number &number) {
    const bool is_whole = std::holds_alternative<std::int64_t>(number) ||
                          std::holds_alternative<std::uint64_t>(number);
    return std::holds_alternative<bool>(number)     ? Weak::boolean
           : is_whole                               ? Weak::integer
           : std::holds_alternative<double>(number) ? Weak::floating
                                                    : Weak::complex;
}

struct Comparison {
    std::string_view sign;
    Op op;
};
constexpr Comparison comparisons[] = {{"<", Op::less},    {"<=", Op::less_equal},
                                      {">", Op::greater}, {">=", Op::greater_equal},
                                      {"==", Op::equal},  {"!=", Op::not_equal}};

// True if one integer type holds all values of both. Also true if one of them is not an integer.
bool have_common_integers(Dtype a, Dtype b) {
    return (a != dtypes::uint64 || !is_signed(b)) && (b != dtypes::uint64 || !is_signed(a));
}

}  // namespace

Value Lowering::value_of_unary(const Node &node) {
    if (node.text == "not")
        return negated_truth(truth_of(*node.operands[0]));
    Value value = value_after_effects(*node.operands[0]);
    if (is_vector(value))
        return by_component(node.text, {std::move(value)}, node.at,
                            [&](const std::vector<Value> &components) {
                                return unary(node.text, components[0], node.at);
                            });
    if (!value.is_scalar())
        refuse(node.operands[0]->at, "a number is expected here, but this is " + value.type_name());
    return unary(node.text, std::move(value), node.at);
}

Value Lowering::unary(const std::string &sign, Value value, Position at) {
    if (value.is_literal()) {
        const auto number = folded(sign, value.expression.value);
        if (!number)
            refuse(
                at,
                "`" + sign + value.type_name() +
                    "` has no value that fits int64, uint64 or float64; write the number itself");
        return literal(*number, at);
    }
    const Dtype dtype = value.expression.type.dtype;
    if (sign == "~") {
        if (!is_integer(dtype))
            refuse(at, "`~` is for integers, but this is " + value.type_name() +
                           (is_boolean(dtype) ? "; write `not`" : ""));
        value = widened(std::move(value));
        return made(build::of(Op::bit_not, value.expression.type, at, {value.expression}),
                    value.weak);
    }
    if (is_boolean(dtype))
        value = made(build::converted(value.expression, dtypes::int64),
                     value.weak == Weak::none ? Weak::none : Weak::integer);
    value = widened(std::move(value));
    if (sign == "-")
        return made(build::of(Op::negate, value.expression.type, at, {value.expression}),
                    value.weak);
    return value;
}

// An integer in the type in which Numba calculates; other values are unchanged.
Value Lowering::widened(Value value) const {
    const Dtype dtype = value.expression.type.dtype;
    if (rules_.typing != Typing::numba || value.weak != Weak::none || !is_integer(dtype))
        return value;
    return made(build::converted(value.expression, numba_combined(dtype, dtype)));
}

Value Lowering::value_of_binary(const Node &node) {
    const std::vector<Value> values = values_in_order(node.operands);
    return binary(node.text, values[0], values[1], node.at);
}

Value Lowering::literal(const Number &number, Position at) const {
    ir::Expression expression;
    expression.at = at;
    expression.value = number;
    const Scalar scalar = weak_scalar(weak_of(number), target_);
    expression.type = scalar_type(literal_type(number, scalar.dtype));
    return made(std::move(expression), scalar.weak);
}

// Numba's literals beyond int64 are uint64.
Dtype Lowering::literal_type(const Number &number, Dtype usual) const {
    return rules_.typing == Typing::numba && std::holds_alternative<std::uint64_t>(number)
               ? dtypes::uint64
               : usual;
}

Value Lowering::binary(const std::string &sign, Value a, Value b, Position at) {
    if (sign == "@")
        refuse(at, "`@` multiplies matrices, and kernels work on elements; write the loop over the "
                   "inner dimension");
    if (is_vector(a) || is_vector(b))
        return by_component(sign, {std::move(a), std::move(b)}, at,
                            [&](const std::vector<Value> &components) {
                                return binary(sign, components[0], components[1], at);
                            });
    for (const Value *const value : {&a, &b})
        if (!value->is_scalar())
            refuse(value->at,
                   "`" + sign + "` is for numbers, but this is " + value->type_name() +
                       (value->kind == Value::Kind::array
                            ? "; write its element, as in x[i], or a loop"
                        : value->kind == Value::Kind::structure ? "; write its fields, as in p[i].x"
                                                                : ""));
    if (a.is_literal() && b.is_literal()) {
        const auto number = folded(sign, a.expression.value, b.expression.value);
        if (number)
            return literal(*number, at);
        const bool divides = sign == "/" || sign == "//" || sign == "%";
        if (divides && folded("==", b.expression.value, std::int64_t{0}) == Number(true))
            refuse(at, "a division by the literal 0 is an error in Python; write another divisor");
        if (a.weak != Weak::complex && b.weak != Weak::complex)
            refuse(
                at,
                "`" + a.type_name() + " " + sign + " " + b.type_name() +
                    "` has no value that fits int64, uint64 or float64; write the number itself");
    }
    if (sign == "+" || sign == "-" || sign == "*")
        return arithmetic(sign, std::move(a), std::move(b), at);
    if (sign == "/")
        return division(std::move(a), std::move(b), at);
    if (sign == "//" || sign == "%")
        return floor_operation(sign, std::move(a), std::move(b), at);
    if (sign == "**")
        return power(std::move(a), std::move(b), at);
    if (sign == "<<" || sign == ">>")
        return shift(sign, std::move(a), std::move(b), at);
    return bit_operation(sign, std::move(a), std::move(b), at);
}

std::pair<Value, Value> Lowering::unified_values(const Value &a, const Value &b,
                                                 Scalar type) const {
    std::pair<Value, Value> values{as(a, type.dtype), as(b, type.dtype)};
    for (Value *const value : {&values.first, &values.second}) {
        value->weak = type.weak;
        value->varies = is_varying(*value);
    }
    return values;
}

Value Lowering::operation(Op op, Value a, Value b, Scalar type, Position at) const {
    const auto [left, right] = unified_values(a, b, type);
    return made(build::of(op, scalar_type(type.dtype), at, {left.expression, right.expression}),
                type.weak);
}

// bool counts as int in arithmetic.
Scalar Lowering::arithmetic_type(const Value &a, const Value &b) const {
    const Scalar type = combined(a.scalar(), b.scalar(), rules_);
    return is_boolean(type.dtype)
               ? Scalar{dtypes::int64, type.weak == Weak::none ? Weak::none : Weak::integer}
               : type;
}

// Numba has no `//`, `%` and `**` of float16.
Scalar Lowering::without_half(Scalar type) const {
    return rules_.typing == Typing::numba && type.dtype == dtypes::float16 ? Scalar{dtypes::float32}
                                                                           : type;
}

Value Lowering::arithmetic(const std::string &sign, Value a, Value b, Position at) {
    const Op op = sign == "+" ? Op::add : sign == "-" ? Op::subtract : Op::multiply;
    const Scalar type = arithmetic_type(a, b);
    return operation(op, std::move(a), std::move(b), type, at);
}

Value Lowering::division(Value a, Value b, Position at) {
    const Scalar type = as_float(combined(a.scalar(), b.scalar(), rules_), target_);
    return operation(Op::divide, std::move(a), std::move(b), type, at);
}

// Uses C's cheaper division if it is proved to give the same result for the converted operands.
Value Lowering::floor_operation(const std::string &sign, Value a, Value b, Position at) {
    const Scalar type = without_half(arithmetic_type(a, b));
    if (is_complex(type.dtype))
        refuse(at, "`" + sign + "` is not for complex numbers, in Python neither; take .real");
    const auto [left, right] = unified_values(a, b, type);
    const bool as_in_c =
        proved(left.expression).is_non_negative() && proved(right.expression).is_positive();
    if (sign == "//")
        return operation(as_in_c ? Op::truncate_divide : Op::floor_divide, left, right, type, at);
    return operation(as_in_c ? Op::truncate_modulo : Op::floor_modulo, left, right, type, at);
}

Value Lowering::power(Value a, Value b, Position at) {
    // In Numba a float to the power of an integer keeps its type.
    const bool keeps_type = rules_.typing == Typing::numba && a.weak == Weak::none &&
                            is_float(a.expression.type.dtype) &&
                            is_integer(b.expression.type.dtype);
    const Scalar type = without_half(keeps_type ? a.scalar() : arithmetic_type(a, b));
    const auto exponent = build::constant_of(b.expression);
    if (is_integer(type.dtype) && exponent && *exponent < 0)
        refuse(
            b.at,
            "an int to a negative power is a float in Python, and an int here; write float(x) ** " +
                std::to_string(*exponent));
    return operation(Op::power, std::move(a), std::move(b), type, at);
}

Value Lowering::bit_operation(const std::string &sign, Value a, Value b, Position at) {
    const Op op = sign == "&" ? Op::bit_and : sign == "|" ? Op::bit_or : Op::bit_xor;
    for (const Value *const value : {&a, &b})
        if (!is_integer(value->expression.type.dtype) && !is_boolean(value->expression.type.dtype))
            refuse(value->at, "`" + sign + "` is for integers and bools, but this is " +
                                  value->type_name() + "; write int(...)");
    const bool is_logical =
        is_boolean(a.expression.type.dtype) && is_boolean(b.expression.type.dtype);
    const Scalar type = is_logical ? unified(a.scalar(), b.scalar(), target_)
                                   : combined(a.scalar(), b.scalar(), rules_);
    return operation(op, std::move(a), std::move(b), type, at);
}

Value Lowering::shift(const std::string &sign, Value a, Value b, Position at) {
    for (const Value *const value : {&a, &b})
        if (!is_integer(value->expression.type.dtype) && !is_boolean(value->expression.type.dtype))
            refuse(value->at, "`" + sign + "` is for integers, but this is " + value->type_name() +
                                  "; write int(...)");
    if (const auto count = build::constant_of(b.expression); count && *count < 0)
        refuse(b.at, "a shift by " + std::to_string(*count) +
                         " is an error in Python; shift the other way");
    // In Numba the left operand alone decides.
    const bool keeps_sign = rules_.typing == Typing::numba && !(a.is_literal() && b.is_literal());
    const Dtype left = a.expression.type.dtype;
    const Scalar type = keeps_sign ? Scalar{numba_combined(left, left)} : arithmetic_type(a, b);
    return operation(sign == "<<" ? Op::shift_left : Op::shift_right, std::move(a), std::move(b),
                     type, at);
}

Value Lowering::compared(const std::string &sign, const Value &a, const Value &b, Position at) {
    const bool is_none = a.kind == Value::Kind::none || b.kind == Value::Kind::none;
    const bool negative = sign == "!=" || sign == "is not";
    if (is_none && (sign == "is" || sign == "is not" || sign == "==" || sign == "!="))
        return made(build::boolean((a.kind == b.kind) != negative, at));
    if (a.kind == Value::Kind::dtype && b.kind == Value::Kind::dtype &&
        (sign == "==" || sign == "!="))
        return made(build::boolean((a.dtype == b.dtype) != negative, at));
    if (a.kind == Value::Kind::text && b.kind == Value::Kind::text &&
        (sign == "==" || sign == "!="))
        return made(build::boolean((a.text == b.text) != negative, at));
    if (sign == "is" || sign == "is not")
        refuse(at, "`" + sign + "` is for None only in a kernel; numbers are compared by " +
                       (negative ? "!=" : "=="));
    if (sign == "in" || sign == "not in")
        refuse(at,
               "kernels do not have `" + sign + "`; write the comparisons, as in x == a or x == b");
    for (const Value *const value : {&a, &b})
        if (!value->is_scalar())
            refuse(value->at,
                   "`" + sign + "` compares numbers, but this is " + value->type_name() +
                       (value->kind == Value::Kind::array ? "; write its element, as in x[i]"
                        : value->kind == Value::Kind::structure
                            ? "; compare its fields or components, as in a.x < b.x"
                            : ""));
    if (a.is_literal() && b.is_literal())
        if (const auto truth = folded(sign, a.expression.value, b.expression.value))
            return made(build::boolean(std::get<bool>(*truth), at));
    const auto *const row = std::ranges::find(comparisons, sign, &Comparison::sign);
    const bool is_typed = rules_.typing == Typing::numba || (!a.is_literal() && !b.is_literal());
    if (is_typed && !have_common_integers(a.expression.type.dtype, b.expression.type.dtype)) {
        const bool is_first = is_signed(a.expression.type.dtype);
        return compared_to_non_negative(is_first ? row->op : build::mirrored(row->op),
                                        is_first ? a : b, is_first ? b : a, at);
    }
    const bool is_whole =
        !is_float(a.expression.type.dtype) && !is_complex(a.expression.type.dtype) &&
        !is_float(b.expression.type.dtype) && !is_complex(b.expression.type.dtype);
    const Scalar type = is_whole ? unified(a.scalar(), b.scalar(), rules_)
                                 : combined(a.scalar(), b.scalar(), rules_);
    if (is_complex(type.dtype) && sign != "==" && sign != "!=")
        refuse(at, "complex numbers have no order; compare .real or abs(...)");
    const auto [left, right] = unified_values(a, b, type);
    return made(build::of(row->op, boolean_type, at, {left.expression, right.expression}));
}

// Compares as Python does: a negative number is less than any uint64.
Value Lowering::compared_to_non_negative(Op op, const Value &with_sign, const Value &non_negative,
                                         Position at) {
    const Value value = in_temporary(made(as(with_sign, dtypes::int64).expression));
    const ir::Expression is_negative =
        build::of(Op::less, boolean_type, at, {value.expression, build::integer(0, at)});
    const ir::Expression otherwise =
        build::of(op, boolean_type, at,
                  {build::converted(value.expression, dtypes::uint64), non_negative.expression});
    if (op == Op::less || op == Op::less_equal || op == Op::not_equal)
        return made(build::of(Op::logic_or, boolean_type, at, {is_negative, otherwise}));
    const ir::Expression is_non_negative =
        build::of(Op::logic_not, boolean_type, at, {is_negative});
    return made(build::of(Op::logic_and, boolean_type, at, {is_non_negative, otherwise}));
}

}  // namespace entrepot::kernel
