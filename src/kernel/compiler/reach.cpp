// Reach: indices that every work-item of a launch uses, as functions of its ids. The launch
// compares them with the extents.
#include "kernel/compiler/build.hpp"
#include "kernel/compiler/check.hpp"
#include "kernel/compiler/walk.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

// constant + by_id[0] * id 0 + … in int64. nullopt: not of this form, or beyond int64.
struct Affine {
    std::int64_t constant = 0;
    std::array<std::int64_t, 3> by_id{};
};
using Known = std::optional<Affine>;

Known summed(const Known &a, const Known &b) {
    if (!a || !b)
        return std::nullopt;
    Affine sum;
    bool overflows = __builtin_add_overflow(a->constant, b->constant, &sum.constant);
    for (std::size_t i = 0; i < sum.by_id.size(); ++i)
        overflows |= __builtin_add_overflow(a->by_id[i], b->by_id[i], &sum.by_id[i]);
    return overflows ? std::nullopt : Known(sum);
}

Known scaled(const Known &a, std::int64_t factor) {
    if (!a)
        return std::nullopt;
    Affine product;
    bool overflows = __builtin_mul_overflow(a->constant, factor, &product.constant);
    for (std::size_t i = 0; i < product.by_id.size(); ++i)
        overflows |= __builtin_mul_overflow(a->by_id[i], factor, &product.by_id[i]);
    return overflows ? std::nullopt : Known(product);
}

class Reaching {
public:
    explicit Reaching(const ir::Function &kernel) : kernel_(kernel) {
        ir::for_each_statement(kernel.body, [&](const Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                ++assignments_[id];
        });
    }

    std::vector<Reach> run() {
        collect(kernel_.body);
        return std::move(found_);
    }

private:
    // Collects from consecutive statements up to the first that some work-items may not pass.
    void collect(const std::vector<Statement> &statements) {
        for (const Statement &statement : statements) {
            collect(statement);
            if (may_leave(statement))
                return;
        }
    }

    void collect(const Statement &statement) {
        for (const Expression &expression : statement.expressions)
            collect(expression);
        if (statement.act == Act::store)
            add(statement.id, statement.expressions[0]);
        if (statement.act == Act::assign && assignments_[statement.id] == 1)
            if (const Known value = affine(statement.expressions[0]))
                known_[statement.id] = *value;
        if (statement.act == Act::for_ && goes_round(statement))
            collect(statement.body);
    }

    // Collects the subexpressions that are always evaluated.
    void collect(const Expression &expression) {
        const bool is_lazy = expression.op == Op::logic_and || expression.op == Op::logic_or || expression.op == Op::select;
        for (const Expression &operand : expression.operands) {
            collect(operand);
            if (is_lazy)
                return;
        }
        if (expression.op == Op::load || expression.op == Op::atomic)
            add(expression.id, expression.operands[0]);
    }

    static bool may_leave(const Statement &statement) {
        bool leaves = statement.act == Act::return_ || statement.act == Act::break_ || statement.act == Act::continue_;
        ir::for_each_statement(statement.body, [&](const Statement &each) { leaves |= each.act == Act::return_; });
        ir::for_each_statement(statement.otherwise, [&](const Statement &each) { leaves |= each.act == Act::return_; });
        return leaves || (statement.act == Act::if_ && (jumps(statement.body) || jumps(statement.otherwise)));
    }

    // True if a break or continue in the statements belongs to an enclosing loop.
    static bool jumps(const std::vector<Statement> &statements) {
        return std::ranges::any_of(statements, [](const Statement &each) {
            return each.act == Act::break_ || each.act == Act::continue_ ||
                   (!ir::is_loop(each) && (jumps(each.body) || jumps(each.otherwise)));
        });
    }

    static bool goes_round(const Statement &loop) {
        const auto start = build::constant_of(loop.expressions[0]), stop = build::constant_of(loop.expressions[1]),
                   step = build::constant_of(loop.expressions[2]);
        return start && stop && step && (*step > 0 ? *start < *stop : *start > *stop);
    }

    void add(ir::RootId id, const Expression &offset) {
        const ir::Root &root = kernel_.roots[id];
        if (!offset.indices || !root.parameter)
            return;
        for (std::uint32_t axis = 0; axis < offset.indices->size(); ++axis) {
            const Expression &index = (*offset.indices)[axis];
            const Expression &counted = counted_from_front(index);
            const bool wraps = &counted != &index;
            // The front end has turned a constant negative index into `extent - constant`.
            const bool is_from_end = index.op == Op::subtract && index.operands[0].op == Op::extent &&
                                     index.operands[0].id == id && index.operands[0].number == axis;
            const Known value = is_from_end ? scaled(affine(index.operands[1]), -1) : affine(counted);
            if (!value)
                continue;
            add(*value, {*root.parameter, axis, wraps || is_from_end, index.at});
        }
    }

    void add(const Affine &index, const Reach::Axis &axis) {
        const auto is_same = [&](const Reach &each) { return each.constant == index.constant && each.by_id == index.by_id; };
        auto known = std::ranges::find_if(found_, is_same);
        if (known == found_.end())
            known = found_.insert(found_.end(), Reach{index.constant, index.by_id, {}});
        if (std::ranges::find(known->axes, axis) == known->axes.end())
            known->axes.push_back(axis);
    }

    // Returns `x` for `x + extent if x < 0 else x`.
    static const Expression &counted_from_front(const Expression &index) {
        const bool is_choice = index.op == Op::select && index.operands[0].op == Op::less &&
                               build::constant_of(index.operands[0].operands[1]) == 0 && index.operands[1].op == Op::add &&
                               index.operands[1].operands[1].op == Op::extent &&
                               build::same(index.operands[0].operands[0], index.operands[2]) &&
                               build::same(index.operands[1].operands[0], index.operands[2]);
        return is_choice ? index.operands[2] : index;
    }

    Known affine(const Expression &expression) const {
        const auto &operands = expression.operands;
        if (expression.type != scalar_type(dtypes::int64))
            return std::nullopt;
        switch (expression.op) {
        case Op::constant:
            return Affine{*build::constant_of(expression), {}};
        case Op::variable: {
            const auto known = known_.find(expression.id);
            return known == known_.end() ? std::nullopt : Known(known->second);
        }
        case Op::index: {
            if (expression.text != "global_id" || expression.number > 2)
                return std::nullopt;
            Affine id;
            id.by_id[expression.number] = 1;
            return id;
        }
        case Op::add:
            return summed(affine(operands[0]), affine(operands[1]));
        case Op::subtract:
            return summed(affine(operands[0]), scaled(affine(operands[1]), -1));
        case Op::negate:
            return scaled(affine(operands[0]), -1);
        case Op::multiply: {
            const Known a = affine(operands[0]), b = affine(operands[1]);
            const std::array<std::int64_t, 3> none{};
            return !a || !b           ? std::nullopt
                   : b->by_id == none ? scaled(a, b->constant)
                   : a->by_id == none ? scaled(b, a->constant)
                                      : std::nullopt;
        }
        default:
            return std::nullopt;
        }
    }

    const ir::Function &kernel_;
    std::map<ir::VariableId, int> assignments_;
    std::map<ir::VariableId, Affine> known_;  // by variable: its only value, once assigned
    std::vector<Reach> found_;
};

}  // namespace

std::vector<Reach> reach_of(const ir::Module &module) { return Reaching(module.kernel()).run(); }

}  // namespace entrepot::kernel
