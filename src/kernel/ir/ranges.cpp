// Ranges of expressions follow from those of their operands, ranges of variables from all
// assignments to them.
#include "kernel/ir/ranges.hpp"

#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace entrepot::kernel {

namespace {

using ir::Expression;
using ir::Op;
using Known = std::optional<Range>;
using Bound = std::optional<std::int64_t>;

Bound sum_of(Bound a, Bound b) {
    std::int64_t result = 0;
    return a && b && !__builtin_add_overflow(*a, *b, &result) ? Bound(result) : std::nullopt;
}

Bound difference_of(Bound a, Bound b) {
    std::int64_t result = 0;
    return a && b && !__builtin_sub_overflow(*a, *b, &result) ? Bound(result) : std::nullopt;
}

Bound product_of(Bound a, Bound b) {
    std::int64_t result = 0;
    return a && b && !__builtin_mul_overflow(*a, *b, &result) ? Bound(result) : std::nullopt;
}

Known make_range(Bound least, Bound most) {
    return least && most ? Known(Range{*least, *most}) : std::nullopt;
}

Range hull(const Range &a, const Range &b) {
    return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

Known multiplied(const Range &a, const Range &b) {
    const Bound products[] = {product_of(a.least, b.least), product_of(a.least, b.most),
                              product_of(a.most, b.least), product_of(a.most, b.most)};
    if (!std::ranges::all_of(products, [](Bound product) { return product.has_value(); }))
        return std::nullopt;
    const auto [least, most] = std::ranges::minmax(products);
    return Range{*least, *most};
}

Known negated(const Range &range) {
    return make_range(difference_of(0, range.most), difference_of(0, range.least));
}

// Range after up to `times` changes.
Known after_increments(const Range &before, const Range &change, Bound times) {
    return make_range(
        sum_of(before.least, product_of(std::min<std::int64_t>(change.least, 0), times)),
        sum_of(before.most, product_of(std::max<std::int64_t>(change.most, 0), times)));
}

// Range of an operation on non-negative numbers whose result has no more bits than the larger
// operand.
Range within_bits(const Range &a, const Range &b) {
    return {0, INT64_MAX >>
                   (63 - std::bit_width(static_cast<std::uint64_t>(std::max(a.most, b.most))))};
}

Known absolute(const Range &range) {
    if (range.is_non_negative())
        return range;
    const Known mirrored = negated(range);
    return mirrored ? Known(Range{std::max<std::int64_t>(mirrored->least, 0),
                                  std::max(range.most, mirrored->most)})
                    : std::nullopt;
}

// Range of an operation whose result has no more bits than an operand; nullopt for others.
Known range_of_shrinking_operation(Op op, const Range &a, const Range &b) {
    switch (op) {
    case Op::floor_divide:
    case Op::truncate_divide:
    case Op::shift_right:
        return b.is_non_negative() ? Known(hull(a, {0, 0})) : std::nullopt;
    case Op::floor_modulo:
        return b.is_non_negative() ? Known(Range{0, std::max<std::int64_t>(b.most - 1, 0)})
                                   : std::nullopt;
    case Op::truncate_modulo:
        return a.is_non_negative() ? Known(Range{0, a.most}) : std::nullopt;
    case Op::bit_and:
        return a.is_non_negative() && b.is_non_negative()
                   ? Known(Range{0, std::min(a.most, b.most)})
               : a.is_non_negative() ? Known(Range{0, a.most})
               : b.is_non_negative() ? Known(Range{0, b.most})
                                     : std::nullopt;
    case Op::bit_or:
    case Op::bit_xor:
        return a.is_non_negative() && b.is_non_negative() ? Known(within_bits(a, b)) : std::nullopt;
    default:
        return std::nullopt;
    }
}

// Range as if the type were unbounded.
Known unwrapped_by(const Expression &expression,
                   const std::function<Known(const Expression &)> &of) {
    const Known a = of(expression.operands[0]);
    if (!a)
        return std::nullopt;
    if (expression.op == Op::negate)
        return negated(*a);
    const Known b = expression.operands.size() > 1 ? of(expression.operands[1]) : std::nullopt;
    if (!b)
        return std::nullopt;
    switch (expression.op) {
    case Op::add:
        return make_range(sum_of(a->least, b->least), sum_of(a->most, b->most));
    case Op::subtract:
        return make_range(difference_of(a->least, b->most), difference_of(a->most, b->least));
    case Op::multiply:
        return multiplied(*a, *b);
    case Op::shift_left:
        return b->least >= 0 && b->most < 63
                   ? multiplied(*a, {std::int64_t{1} << b->least, std::int64_t{1} << b->most})
                   : std::nullopt;
    default:
        return range_of_shrinking_operation(expression.op, *a, *b);
    }
}

Known constant_range(const Expression &constant) {
    if (const auto *const value = std::get_if<bool>(&constant.value))
        return Range{*value, *value};
    const Bound value = build::constant_of(constant);
    return make_range(value, value);
}

bool is_size(const std::string &index) {
    return index.ends_with("_size") || index.starts_with("num_") || index == "work_dim";
}

bool is_variable(const Expression &expression, ir::VariableId id) {
    return expression.op == Op::variable && expression.id == id;
}

// Condition `v < end`, or `v > end` when counting down, that is implied by another condition.
struct LoopBound {
    const Expression *end;
    bool includes_end;
    Dtype compared;  // the type to which the comparison converts `v`
};
std::optional<LoopBound> bound_in(const Expression &condition, ir::VariableId id, bool is_upwards) {
    if (condition.op == Op::logic_and) {
        const auto limit = bound_in(condition.operands[0], id, is_upwards);
        return limit ? limit : bound_in(condition.operands[1], id, is_upwards);
    }
    if (!build::is_comparison(condition.op))
        return std::nullopt;
    const Op less = is_upwards ? Op::less : Op::greater,
             or_equal = is_upwards ? Op::less_equal : Op::greater_equal;
    for (const std::size_t side : {0, 1}) {
        const Op op = side == 0 ? condition.op : build::mirrored(condition.op);
        const Expression &operand = condition.operands[side];
        const bool is_converted = operand.op == Op::convert && full_range(operand.type.dtype);
        if (is_variable(is_converted ? operand.operands[0] : operand, id) &&
            (op == less || op == or_equal))
            return LoopBound{&condition.operands[1 - side], op == or_equal, operand.type.dtype};
    }
    return std::nullopt;
}

}  // namespace

Known full_range(Dtype dtype) {
    if (is_boolean(dtype))
        return Range{0, 1};
    if (is_unsigned(dtype) && dtype.bits < 64)
        return Range{0, (std::int64_t{1} << dtype.bits) - 1};
    if (!is_signed(dtype))
        return std::nullopt;
    const std::int64_t most = INT64_MAX >> (64 - dtype.bits);
    return Range{-most - 1, most};
}

Known range_of_operation(const Expression &expression,
                         const std::function<Known(const Expression &)> &of) {
    const auto &operands = expression.operands;
    switch (expression.op) {
    case Op::constant:
        return constant_range(expression);
    case Op::extent:
    case Op::bound_check:
        return Range{0, INT64_MAX};
    case Op::index:
        return Range{is_size(expression.text) ? 1 : 0, max_trip_count};
    case Op::select: {
        const Known a = of(operands[1]), b = of(operands[2]);
        return a && b ? Known(hull(*a, *b)) : std::nullopt;
    }
    case Op::convert:
        return of(operands[0]);
    case Op::math: {
        const bool is_least = expression.text == "min";
        if (expression.text == "abs") {
            const Known a = of(operands[0]);
            return a ? absolute(*a) : std::nullopt;
        }
        if (!is_least && expression.text != "max")
            return std::nullopt;
        const Known a = of(operands[0]), b = of(operands[1]);
        if (!a || !b)
            return std::nullopt;
        return is_least ? Range{std::min(a->least, b->least), std::min(a->most, b->most)}
                        : Range{std::max(a->least, b->least), std::max(a->most, b->most)};
    }
    case Op::bit_not: {
        const Known a = of(operands[0]);
        return a ? Known(Range{~a->most, ~a->least}) : std::nullopt;
    }
    case Op::negate:
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::floor_divide:
    case Op::floor_modulo:
    case Op::truncate_divide:
    case Op::truncate_modulo:
    case Op::shift_left:
    case Op::shift_right:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
        return unwrapped_by(expression, of);
    default:
        return std::nullopt;
    }
}

Known counter_range(const Range &start, const Range &stop, const Range &step) {
    const Bound before_stop = difference_of(stop.most, 1), behind_stop = sum_of(stop.least, 1);
    if (step.least > 0)
        return make_range(start.least, before_stop);
    if (step.most < 0)
        return make_range(behind_stop, start.most);
    return before_stop && behind_stop ? Known(hull(start, {*behind_stop, *before_stop}))
                                      : std::nullopt;
}

const Expression *increment_of(const ir::Statement &statement, ir::VariableId id) {
    if (statement.act != ir::Act::assign)
        return nullptr;
    const Expression &value = statement.expressions[0];
    if (value.op != Op::add && value.op != Op::subtract)
        return nullptr;
    const Expression &left = value.operands[0], &right = value.operands[1];
    if (is_variable(left, id) && !reads(right, id))
        return &right;
    return value.op == Op::add && is_variable(right, id) && !reads(left, id) ? &left : nullptr;
}

RangeAnalysis::RangeAnalysis(const ir::Function &function) : function_(function) {
    std::vector<const ir::Statement *> loops;
    collect(function.body, loops);
}

void RangeAnalysis::collect(const std::vector<ir::Statement> &statements,
                            std::vector<const ir::Statement *> &loops) {
    for (const ir::Statement &statement : statements) {
        for (const ir::VariableId id : ir::assigned_by(statement))
            assignments_[id].push_back({&statement, loops});
        if (ir::is_loop(statement))
            loops.push_back(&statement);
        collect(statement.body, loops);
        if (ir::is_loop(statement))
            loops.pop_back();
        collect(statement.otherwise, loops);
    }
}

Known RangeAnalysis::unwrapped(const Expression &expression) {
    return unwrapped_by(expression, [this](const Expression &operand) { return of(operand); });
}

Known RangeAnalysis::of(const Expression &expression) {
    if (expression.type.kind != Type::Kind::scalar)
        return std::nullopt;
    const Known all = full_range(expression.type.dtype);
    if (!all || depth_ == max_depth)
        return all;
    ++depth_;
    const Known range = expression.op == Op::variable
                            ? of(expression.id)
                            : range_of_operation(expression, [this](const Expression &operand) {
                                  return of(operand);
                              });
    --depth_;
    return range && range->is_within(*all) ? range : all;
}

Known RangeAnalysis::of(ir::VariableId id) {
    const Known all = full_range(function_.variables[id].type.dtype);
    // During the search, a cyclic reference to the variable gets the full range.
    const auto [known, is_new] = known_.try_emplace(id, all);
    if (!is_new)
        return known->second;
    const Known range = all ? range_of_assignments(id) : std::nullopt;
    if (!range)
        return all;
    fitting_.insert(id);
    return known_[id] = range;
}

bool RangeAnalysis::increments_fit(ir::VariableId id) {
    of(id);
    return fitting_.contains(id);
}

Known RangeAnalysis::counter_range(const ir::Statement &loop) {
    const Known start = of(loop.expressions[0]), stop = of(loop.expressions[1]),
                step = of(loop.expressions[2]);
    return start && stop && step ? kernel::counter_range(*start, *stop, *step) : std::nullopt;
}

bool RangeAnalysis::ends_within_type(const ir::Statement &loop) {
    const Known all = full_range(function_.variables[loop.id].type.dtype),
                start = of(loop.expressions[0]), stop = of(loop.expressions[1]);
    const Bound step = build::constant_of(loop.expressions[2]);
    if (!all || !start || !stop || !step)
        return false;
    const bool is_upwards = *step > 0;
    const auto is_held = [&](Bound value) {
        return value && all->least <= *value && *value <= all->most;
    };
    const Bound last = is_upwards ? difference_of(stop->most, 1) : sum_of(stop->least, 1);
    return is_held(sum_of(last, step)) || is_held(sum_of(is_upwards ? start->most : start->least,
                                                         product_of(step, max_trip_count)));
}

// Upper bound of the number of times that the body of these nested loops runs in one call.
std::optional<std::int64_t>
RangeAnalysis::trip_count(const std::vector<const ir::Statement *> &loops) {
    Bound product = 1;
    for (const ir::Statement *const loop : loops) {
        const Known counter = loop->act == ir::Act::for_ ? counter_range(*loop) : std::nullopt;
        const Bound length = counter ? difference_of(counter->most, counter->least) : std::nullopt;
        const Bound step = build::constant_of(loop->expressions.back());
        const std::int64_t by =
            step && *step != INT64_MIN ? std::max<std::int64_t>(std::abs(*step), 1) : 1;
        product = product_of(product, length ? Bound(std::max<std::int64_t>(*length / by + 1, 0))
                                             : std::nullopt);
    }
    return product;
}

// If a `while` tests `v < x` before each change of `v`, only the last change may pass `x`. nullopt:
// no loop has such a test.
std::optional<RangeAnalysis::End> RangeAnalysis::end_of(const Assignment &change, ir::VariableId id,
                                                        const Range &by) {
    const bool is_upwards = by.least >= 0;
    if (change.loops.empty() || change.loops.back()->act != ir::Act::while_ ||
        (!is_upwards && by.most > 0))
        return std::nullopt;
    const ir::Statement *const loop = change.loops.back();
    const auto is_within = [&](const Assignment &each) {
        return std::ranges::find(each.loops, loop) != each.loops.end();
    };
    const auto limit = bound_in(loop->expressions[0], id, is_upwards);
    const Known end = limit && std::ranges::count_if(assignments_[id], is_within) == 1
                          ? of(*limit->end)
                          : std::nullopt;
    if (!end)
        return std::nullopt;
    const std::int64_t before = limit->includes_end ? 0 : 1;
    const Bound furthest = is_upwards ? sum_of(difference_of(end->most, before), by.most)
                                      : sum_of(sum_of(end->least, before), by.least);
    return furthest ? std::optional(End{*furthest, *full_range(limit->compared)}) : std::nullopt;
}

// Range of the assigned value, for any previous value of the variable.
Known RangeAnalysis::assigned_range(const ir::Statement &statement) {
    return statement.act == ir::Act::for_     ? counter_range(statement)
           : statement.act == ir::Act::assign ? of(statement.expressions[0])
                                              : std::nullopt;
}

// A variable deviates from the values assigned to it by at most the sum of all `v = v + x`.
Known RangeAnalysis::range_of_assignments(ir::VariableId id) {
    const Range all = *full_range(function_.variables[id].type.dtype);
    Known base = function_.variables[id].parameter ? Known(all) : std::nullopt;
    Range accumulated{0, 0}, compared = all;
    for (const Assignment &assignment : assignments_[id]) {
        const Expression *const change = increment_of(*assignment.statement, id);
        Known range = change ? of(*change) : assigned_range(*assignment.statement);
        if (range && change && assignment.statement->expressions[0].op == Op::subtract)
            range = negated(*range);
        if (!range)
            return std::nullopt;
        if (change) {
            const auto end = end_of(assignment, id, *range);
            if (!end) {
                const Known grown =
                    after_increments(accumulated, *range, trip_count(assignment.loops));
                if (!grown)
                    return std::nullopt;
                accumulated = *grown;
                continue;
            }
            compared = {std::max(compared.least, end->compared.least),
                        std::min(compared.most, end->compared.most)};
            range = Range{end->furthest, end->furthest};
        }
        base = base ? hull(*base, *range) : range;
    }
    const Known range = base ? make_range(sum_of(base->least, accumulated.least),
                                          sum_of(base->most, accumulated.most))
                             : std::nullopt;
    return range && range->is_within(compared) ? range : std::nullopt;
}

}  // namespace entrepot::kernel
