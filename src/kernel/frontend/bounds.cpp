// Bounds of integers: proved by intervals, and assumed for counts.
#include "kernel/frontend/lowering.hpp"

#include <algorithm>
#include <vector>

namespace entrepot::kernel {

namespace {

using ir::Expression;
using ir::Op;
using Count = std::optional<Assumed>;

// True if the result is correct modulo 2**64 even if operands have wrapped. A result between 0 and
// the extent is then the intended index.
bool is_ring_operation(Op op) {
    return op == Op::add || op == Op::subtract || op == Op::multiply || op == Op::shift_left;
}

Count counted_by(Op op, const Assumed &a, const Assumed &b, std::optional<std::int64_t> right,
                 std::int64_t proved) {
    std::int64_t least = INT64_MIN;
    int order = a.order == b.order ? a.order + 1 : std::max(a.order, b.order);
    if (op == Op::add) {
        if (__builtin_add_overflow(a.least, b.least, &least))
            return std::nullopt;
    } else if (op == Op::subtract) {
        order = a.order;
        if (!right || __builtin_sub_overflow(a.least, *right, &least))
            return std::nullopt;
    } else {
        const bool shifts = op == Op::shift_left;
        order = a.order + b.order;
        if (a.least < 0 || b.least < 0 || (shifts && (!right || *right > 62)) ||
            __builtin_mul_overflow(a.least, shifts ? std::int64_t{1} << *right : b.least, &least))
            return std::nullopt;
    }
    return Assumed{std::max(least, proved), order};
}

// True if the value does not follow from the operands.
bool is_from_outside(Op op) {
    return op == Op::load || op == Op::call || op == Op::atomic || op == Op::group;
}

}  // namespace

std::optional<Range> Lowering::proved_range(const Expression &expression) const {
    const auto all = expression.type.kind == Type::Kind::scalar ? full_range(expression.type.dtype)
                                                                : std::nullopt;
    if (!all)
        return std::nullopt;
    const bool is_variable = expression.op == Op::variable;
    auto range = is_variable ? proved_[expression.id]
                             : range_of_operation(expression, [this](const Expression &operand) {
                                   return proved_range(operand);
                               });
    if (!range || !range->is_within(*all))
        range = all;
    if (const auto passed = flow_.at_least.find(expression.id);
        is_variable && passed != flow_.at_least.end())
        range->least = std::max(range->least, std::min(passed->second.least, range->most));
    return range;
}

Proved Lowering::proved(const Expression &expression) const {
    if (const auto range = proved_range(expression))
        return {range->least};
    if (expression.type != scalar_type(dtypes::uint64))
        return {};
    Proved bound{0};
    if (expression.op == Op::constant) {
        // The constant may exceed int64.
        const auto *const number = std::get_if<std::uint64_t>(&expression.value);
        bound = {build::constant_of(expression).value_or(number && *number != 0)};
    } else if (expression.op == Op::convert) {
        bound = proved(expression.operands[0]);
    } else if (const auto passed = flow_.at_least.find(expression.id);
               expression.op == Op::variable && passed != flow_.at_least.end()) {
        bound = passed->second;
    }
    return {std::max<std::int64_t>(bound.least, 0)};
}

std::optional<Assumed> Lowering::assumed(const Expression &expression) const {
    const auto range = proved_range(expression);
    if (!range)
        return std::nullopt;
    if (expression.op == Op::variable) {
        Count bound = assumed_[expression.id];
        if (bound)
            bound->least = std::max(bound->least, range->least);
        return bound;
    }
    if (expression.op == Op::constant || expression.op == Op::extent ||
        expression.op == Op::index || range->is_within({0, 1}))
        return Assumed{range->least};
    if (is_from_outside(expression.op))
        return std::nullopt;
    std::vector<Count> counts;
    for (const Expression &operand : expression.operands)
        counts.push_back(assumed(operand));
    if (expression.op == Op::select)
        return weaker(counts[1], counts[2]);
    if (counts.empty() ||
        !std::ranges::all_of(counts, [](const Count &count) { return count.has_value(); }))
        return std::nullopt;
    Assumed bound{range->least, std::ranges::max(counts, {}, [](const Count &count) {
                                    return count->order;
                                })->order};
    if (counts.size() != 2 || expression.type != scalar_type(dtypes::int64))
        return bound;
    if (expression.op == Op::math && expression.text == "min")
        bound.least = std::max(bound.least, std::min(counts[0]->least, counts[1]->least));
    else if (expression.op == Op::math && expression.text == "max")
        bound.least = std::max({bound.least, counts[0]->least, counts[1]->least});
    else if (is_ring_operation(expression.op))
        return counted_by(expression.op, *counts[0], *counts[1],
                          build::constant_of(expression.operands[1]), bound.least);
    return bound;
}

// True if an index of int64 certainly does not count from the end. The sum of a natural number and
// a small number or count can wrap. The wrapped value is further from 0 than any array is long. So
// is abs() of the least number.
bool Lowering::counts_from_front(const Expression &index) const {
    if (proved(index).is_non_negative() || is_non_negative(assumed(index)))
        return true;
    if (index.type != scalar_type(dtypes::int64))
        return false;
    if (index.op != Op::add)
        return index.op == Op::math && index.text == "abs";
    const auto is_small = [&](const Expression &operand) {
        return proved_range(operand)->is_within({0, max_trip_count}) ||
               is_non_negative(assumed(operand));
    };
    const Expression &a = index.operands[0], &b = index.operands[1];
    return (counts_from_front(a) && is_small(b)) || (counts_from_front(b) && is_small(a));
}

void Lowering::bound_extent(ir::VariableId extent) {
    proved_[extent] = kernel::Range{0, INT64_MAX};
    assumed_[extent] = Assumed{0};
}

// Sets the bounds of a loop counter. It moves from the start towards the stop without wrapping, and
// is a count if start and step are counts.
void Lowering::bound_counter(ir::VariableId counter, const Range &range) {
    const ir::Expression &start = range.start.expression, &stop = range.stop.expression,
                         &step = range.step.expression;
    const kernel::Range from = *proved_range(start), by = *proved_range(step);
    auto &proved = proved_[counter];
    proved = counter_range(from, *proved_range(stop), by);
    std::int64_t furthest = 0;
    if (proved && by.least > 0 && !__builtin_mul_overflow(by.most, max_trip_count, &furthest) &&
        !__builtin_add_overflow(furthest, from.most, &furthest))
        proved->most = std::min(proved->most, furthest);
    const Count first = assumed(start), end = assumed(stop), each = assumed(step);
    if (by.least > 0 && first && each)
        assumed_[counter] = Assumed{first->least, std::max(first->order, each->order)};
    else if (first && end && each && end->least < INT64_MAX)
        assumed_[counter] = Assumed{std::min(first->least, end->least + 1),
                                    std::max({first->order, end->order, each->order})};
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
    const Op op = holds ? condition.op : build::opposite(condition.op);
    learn_bound(build::without_widening(condition.operands[0]), op, condition.operands[1]);
    learn_bound(build::without_widening(condition.operands[1]), build::mirrored(op),
                condition.operands[0]);
}

// Uses the fact that `variable op other` holds.
void Lowering::learn_bound(const Expression &variable, Op op, const Expression &other) {
    if (variable.op != Op::variable || !is_integer(variable.type.dtype))
        return;
    Proved bound = proved(other);
    if (op == Op::not_equal) {  // narrows the range only at its lower bound
        const auto excluded = build::constant_of(other);
        if (!excluded || *excluded != proved(variable).least)
            return;
    } else if (op != Op::greater && op != Op::greater_equal && op != Op::equal) {
        return;
    }
    if ((op == Op::greater || op == Op::not_equal) &&
        __builtin_add_overflow(bound.least, 1, &bound.least))
        return;
    if (proved(variable).least < bound.least)
        flow_.at_least[variable.id] = bound;
}

}  // namespace entrepot::kernel
