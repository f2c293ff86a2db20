// Lower bounds: what an integer is at least. An index that is at least 0 needs no test for Python's counting from the end.
#include "kernel/compiler/lower.hpp"
#include "kernel/compiler/ranges.hpp"

#include <algorithm>
#include <bit>

namespace entrepot::kernel {

namespace {

using ir::Expression;
using ir::Op;
using Bound = std::optional<std::int64_t>;

Bound constant_bound(const Expression &constant) {
    if (const auto *const value = std::get_if<std::int64_t>(&constant.value))
        return *value;
    if (const auto *const value = std::get_if<bool>(&constant.value))
        return *value;
    return std::holds_alternative<std::uint64_t>(constant.value) ? Bound(0) : std::nullopt;
}

bool is_size(const std::string &index) { return index.ends_with("_size") || index.starts_with("num_") || index == "work_dim"; }

Bound at_most_one_of(Bound a, Bound b) { return a && b ? Bound(std::max(*a, *b)) : a ? a : b; }
Bound lesser(Bound a, Bound b) { return a && b ? Bound(std::min(*a, *b)) : std::nullopt; }

Bound added(Bound a, Bound b) {
    std::int64_t result = 0;
    return a && b && !__builtin_add_overflow(*a, *b, &result) ? Bound(result) : std::nullopt;
}

Bound multiplied(Bound a, Bound b) {
    std::int64_t result = 0;
    return a && b && *a >= 0 && *b >= 0 && !__builtin_mul_overflow(*a, *b, &result) ? Bound(result) : std::nullopt;
}

Bound zero_if(bool holds) { return holds ? Bound(0) : std::nullopt; }
bool at_least_zero(Bound bound) { return bound.value_or(-1) >= 0; }

// Of a calculation, by its operands' bounds.
Bound calculated(const Expression &expression, Bound a, Bound b) {
    switch (expression.op) {
    case Op::add:
        return added(a, b);
    case Op::subtract: {
        const Bound right = build::constant_of(expression.operands[1]);
        return right && *right != INT64_MIN ? added(a, -*right) : std::nullopt;
    }
    case Op::multiply:
        return multiplied(a, b);
    case Op::floor_divide:
    case Op::truncate_divide:
    case Op::power:
    case Op::bit_or:
    case Op::bit_xor:
        return zero_if(at_least_zero(a) && at_least_zero(b));
    case Op::floor_modulo:
        return zero_if(at_least_zero(b));
    case Op::truncate_modulo:
    case Op::shift_right:
        return zero_if(at_least_zero(a));
    case Op::shift_left:
        return at_least_zero(a) ? a : std::nullopt;
    case Op::bit_and:
        return zero_if(at_least_zero(a) || at_least_zero(b));
    default:
        return std::nullopt;
    }
}

Op opposite_of(Op comparison) {
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

}  // namespace

Bound Lowering::at_least(const Expression &expression) const {
    if (expression.type.kind != Type::Kind::scalar)
        return std::nullopt;
    const Dtype dtype = expression.type.dtype;
    if (is_boolean(dtype))
        return 0;
    if (!is_integer(dtype))
        return std::nullopt;
    if (is_unsigned(dtype) && expression.op != Op::constant && expression.op != Op::variable)
        return 0;  // what is calculated may wrap
    const auto of = [&](std::size_t operand) { return at_least(expression.operands.at(operand)); };
    switch (expression.op) {
    case Op::constant:
        return constant_bound(expression);
    case Op::variable: {
        const auto passed = flow_.at_least.find(expression.id);
        const Bound here = passed == flow_.at_least.end() ? std::nullopt : Bound(passed->second);
        return at_most_one_of(at_most_one_of(lower_bounds_[expression.id], here), zero_if(is_unsigned(dtype)));
    }
    case Op::extent:
    case Op::bound_check:
        return 0;
    case Op::index:
        return is_size(expression.text) ? 1 : 0;
    case Op::select:
        return lesser(of(1), of(2));
    case Op::convert: {
        const Dtype from = expression.operands[0].type.dtype;
        const bool may_turn_negative = is_unsigned(from) && !is_unsigned(dtype) && from.bits == dtype.bits;
        const bool keeps = is_integer(from) && from.bits <= dtype.bits && !may_turn_negative;
        return keeps || is_boolean(from) ? of(0) : std::nullopt;
    }
    case Op::math:
        return expression.text == "min"   ? lesser(of(0), of(1))
               : expression.text == "max" ? at_most_one_of(of(0), of(1))
                                          : zero_if(expression.text == "abs");
    default:
        return expression.operands.size() == 2 ? calculated(expression, of(0), of(1)) : std::nullopt;
    }
}

namespace {

// Of a calculation that does not wrap, by its operands' bits.
std::optional<int> calculated_bits(const Expression &expression, std::optional<int> a, std::optional<int> b) {
    if (expression.op == Op::bit_and && (a || b))
        return std::min(a.value_or(64), b.value_or(64));
    if (expression.op == Op::floor_modulo && b)
        return b;
    if (!a || !b)
        return std::nullopt;
    switch (expression.op) {
    case Op::add:
        return std::max(*a, *b) + 1;
    case Op::multiply:
        return *a + *b;
    case Op::floor_divide:
    case Op::truncate_divide:
    case Op::truncate_modulo:
    case Op::shift_right:
        return a;
    case Op::bit_or:
    case Op::bit_xor:
        return std::max(*a, *b);
    default:
        return std::nullopt;
    }
}

}  // namespace

// How many bits hold the value, which is not negative for sure: no step on the way to it may wrap. nullopt: not known. An index
// may be taken for more than is proved, since one that has wrapped is outside anyway; a number may not.
std::optional<int> Lowering::natural_bits(const Expression &expression) const {
    const Dtype dtype = expression.type.dtype;
    if (is_boolean(dtype))
        return 1;
    if (is_unsigned(dtype))
        return dtype.bits;
    if (!is_integer(dtype))
        return std::nullopt;
    const auto of = [&](std::size_t operand) { return natural_bits(expression.operands.at(operand)); };
    std::optional<int> bits;
    switch (expression.op) {
    case Op::constant:
        if (const auto value = build::constant_of(expression); value && *value >= 0)
            bits = std::bit_width(static_cast<std::uint64_t>(*value));
        break;
    case Op::variable: {
        const auto passed = flow_.at_least.find(expression.id);
        const bool is_passed = passed != flow_.at_least.end() && passed->second >= 0;
        bits = natural_bits_[expression.id] ? natural_bits_[expression.id]
               : is_passed                  ? std::optional(dtype.bits - 1)
                                            : std::nullopt;
        break;
    }
    case Op::extent:
    case Op::index:
    case Op::bound_check:
        return bits_of_sizes;
    case Op::convert:
        bits = of(0);
        break;
    default:
        bits = expression.operands.size() == 2 ? calculated_bits(expression, of(0), of(1)) : std::nullopt;
    }
    return bits && *bits < dtype.bits ? bits : std::nullopt;
}

bool Lowering::is_positive(const Expression &expression) const {
    if (const auto value = build::constant_of(expression))
        return *value >= 1;
    const bool is_sure = expression.op == Op::index || (expression.op == Op::variable && natural_bits_[expression.id]);
    return is_sure && at_least(expression).value_or(0) >= 1;
}

void Lowering::learn(const Expression &condition, bool holds) {
    if (condition.op == Op::logic_not)
        return learn(condition.operands[0], !holds);
    if (condition.op == (holds ? Op::logic_and : Op::logic_or)) {
        for (const Expression &operand : condition.operands)
            learn(operand, holds);
        return;
    }
    if (!build::is_comparison(condition.op))
        return;
    const Op op = holds ? condition.op : opposite_of(condition.op);
    learn_bound(build::without_widening(condition.operands[0]), op, condition.operands[1]);
    learn_bound(build::without_widening(condition.operands[1]), build::mirrored(op), condition.operands[0]);
}

// `variable op other` holds.
void Lowering::learn_bound(const Expression &variable, Op op, const Expression &other) {
    if (variable.op != Op::variable || !is_integer(variable.type.dtype))
        return;
    Bound bound = at_least(other);
    if (!bound)
        return;
    if (op == Op::not_equal) {  // of the least value that it can have
        const Bound excluded = build::constant_of(other);
        if (!excluded || excluded != at_least(variable))
            return;
    } else if (op != Op::greater && op != Op::greater_equal && op != Op::equal) {
        return;
    }
    if (op == Op::greater || op == Op::not_equal)
        bound = added(bound, 1);
    if (bound && at_least(variable).value_or(INT64_MIN) < *bound)
        flow_.at_least[variable.id] = *bound;
}

}  // namespace entrepot::kernel
