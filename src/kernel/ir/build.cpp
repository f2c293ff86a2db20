#include "kernel/ir/build.hpp"

#include "kernel/ir/numbers.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace entrepot::kernel::build {

using ir::Expression;
using ir::Op;

namespace {

const Type int64 = scalar_type(dtypes::int64);

bool every(const Expression &expression, const std::function<bool(const Expression &)> &holds) {
    return holds(expression) && std::ranges::all_of(expression.operands, [&](const auto &each) {
               return every(each, holds);
           });
}

std::size_t size_of(const Expression &expression) {
    std::size_t size = 1;
    for (const Expression &operand : expression.operands)
        size += size_of(operand);
    return size;
}

template <class Fold>
Expression folded(Op op, const Expression &a, const Expression &b, Fold fold) {
    const auto left = constant_of(a), right = constant_of(b);
    std::int64_t result = 0;
    if (left && right && fold(*left, *right, result))
        return integer(result, a.at);
    return of(op, int64, a.at, {a, b});
}

}  // namespace

Expression integer(std::int64_t value, Position at) {
    Expression made;
    made.type = int64;
    made.at = at;
    made.value = value;
    return made;
}

Expression boolean(bool value, Position at) {
    Expression made;
    made.type = scalar_type(dtypes::boolean);
    made.at = at;
    made.value = value;
    return made;
}

ir::Statement assignment(ir::VariableId id, Expression value) {
    ir::Statement made;
    made.act = ir::Act::assign;
    made.at = value.at;
    made.id = id;
    made.expressions.push_back(std::move(value));
    return made;
}

Expression variable(ir::VariableId id, const Type &type, Position at) {
    Expression made = of(Op::variable, type, at, {});
    made.id = id;
    return made;
}

Expression of(Op op, Type type, Position at, std::initializer_list<Expression> operands) {
    Expression made;
    made.op = op;
    made.type = std::move(type);
    made.at = at;
    made.operands = operands;
    return made;
}

Expression math(const char *text, Type type, Position at,
                std::initializer_list<Expression> operands) {
    Expression made = of(Op::math, std::move(type), at, operands);
    made.text = text;
    return made;
}

Expression converted(Expression value, Dtype dtype) {
    if (value.type.dtype == dtype)
        return value;
    const Position at = value.at;
    return of(Op::convert, scalar_type(dtype), at, {std::move(value)});
}

Expression sum(Expression a, Expression b) {
    if (constant_of(a) == 0)
        return b;
    if (constant_of(b) == 0)
        return a;
    if (const auto right = constant_of(b); right && *right < 0 && *right != INT64_MIN)
        return difference(std::move(a), integer(-*right, b.at));
    return folded(Op::add, a, b, [](auto x, auto y, auto &result) {
        return !__builtin_add_overflow(x, y, &result);
    });
}

Expression difference(Expression a, Expression b) {
    if (constant_of(b) == 0)
        return a;
    if (same(a, b) && is_simple(a))
        return integer(0, a.at);
    return folded(Op::subtract, a, b, [](auto x, auto y, auto &result) {
        return !__builtin_sub_overflow(x, y, &result);
    });
}

Expression product(Expression a, Expression b) {
    if (constant_of(a) == 1 || constant_of(b) == 0)
        return b;
    if (constant_of(b) == 1 || constant_of(a) == 0)
        return a;
    return folded(Op::multiply, a, b, [](auto x, auto y, auto &result) {
        return !__builtin_mul_overflow(x, y, &result);
    });
}

Expression smaller(Expression a, Expression b) {
    if (const auto left = constant_of(a), right = constant_of(b); left && right)
        return integer(std::min(*left, *right), a.at);
    return same(a, b) ? a : math("min", int64, a.at, {a, b});
}

Expression greater(Expression a, Expression b) {
    if (const auto left = constant_of(a), right = constant_of(b); left && right)
        return integer(std::max(*left, *right), a.at);
    return same(a, b) ? a : math("max", int64, a.at, {a, b});
}

Expression quotient(Expression a, std::int64_t divisor) {
    if (divisor == 1)
        return a;
    if (const auto value = constant_of(a))
        return integer(*value / divisor - (*value % divisor < 0 ? 1 : 0), a.at);
    return of(Op::floor_divide, int64, a.at, {a, integer(divisor, a.at)});
}

std::optional<std::int64_t> constant_of(const Expression &expression) {
    const auto *const value = std::get_if<std::int64_t>(&expression.value);
    return expression.op == Op::constant && value ? std::optional(*value) : std::nullopt;
}

bool same(const Expression &a, const Expression &b) {
    return a.op == b.op && a.type == b.type && a.value == b.value && a.text == b.text &&
           a.operation == b.operation && a.id == b.id && a.number == b.number &&
           a.scope == b.scope && a.order == b.order && a.roots == b.roots &&
           std::ranges::equal(a.operands, b.operands, same);
}

bool reads_memory(const Expression &expression) {
    return !every(expression, [](const Expression &each) {
        return each.op != Op::load && each.op != Op::call;
    });
}

bool is_simple(const Expression &expression) {
    return size_of(expression) <= 9 && every(expression, [](const Expression &each) {
               switch (each.op) {
               case Op::constant:
               case Op::variable:
               case Op::extent:
               case Op::stride:
               case Op::index:
               case Op::add:
               case Op::subtract:
               case Op::multiply:
                   return true;
               default:
                   return false;
               }
           });
}

bool is_invariant(const Expression &expression) {
    return every(expression, [](const Expression &each) {
        return each.op == Op::constant || each.op == Op::extent || each.op == Op::stride ||
               each.op == Op::multiply || each.op == Op::add || each.op == Op::subtract;
    });
}

const Expression &without_widening(const Expression &expression) {
    if (expression.op != Op::convert || !is_integer(expression.type.dtype))
        return expression;
    const Expression &inner = expression.operands[0];
    const Dtype from = inner.type.dtype, to = expression.type.dtype;
    const bool widens =
        is_integer(from) && from.bits < to.bits && (is_unsigned(from) || is_signed(to));
    return widens ? without_widening(inner) : expression;
}

bool is_comparison(Op op) { return op >= Op::less && op <= Op::not_equal; }

Op mirrored(Op comparison) {
    switch (comparison) {
    case Op::less:
        return Op::greater;
    case Op::less_equal:
        return Op::greater_equal;
    case Op::greater:
        return Op::less;
    case Op::greater_equal:
        return Op::less_equal;
    default:
        return comparison;
    }
}

Op opposite(Op comparison) {
    switch (comparison) {
    case Op::less:
        return Op::greater_equal;
    case Op::less_equal:
        return Op::greater;
    case Op::greater:
        return Op::less_equal;
    case Op::greater_equal:
        return Op::less;
    case Op::equal:
        return Op::not_equal;
    default:
        return Op::equal;
    }
}

}  // namespace entrepot::kernel::build
