// Reach: elements that every work-item of a launch accesses, as functions of its ids. The launch
// compares them with the arrays.
#include "kernel/ir/build.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/check.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

// An affine function of ids: constant + by_id[0] * id 0 + … in int64.
struct Affine {
    std::int64_t constant = 0;
    std::array<std::int64_t, 3> by_id{};
};
using Known = std::optional<Affine>;  // nullopt: another form, or beyond int64

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

using KnownValues = std::map<ir::VariableId, Expression>;
using Arrays = std::map<ir::RootId, CertainAccess::Array>;

// Accesses of the kernel, or of a device function at one of its calls.
class ReachCollector {
public:
    // `values`: scalar parameters whose values a launch knows.
    ReachCollector(const ir::Module &module, const ir::Function &function, Arrays parameters,
                   KnownValues values, std::vector<Reach> &reach,
                   std::vector<CertainAccess> &accesses)
        : module_(module), function_(function), arrays_(std::move(parameters)),
          values_(std::move(values)), reach_(reach), accesses_(accesses) {
        for (ir::RootId id = 0; id < function.roots.size(); ++id)
            if (const ir::Root &root = function.roots[id]; !root.parameter)
                arrays_[id] = {root.shown, root.type.space, {}, root.type.shape};
        ir::for_each_statement(function.body, [&](const Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                ++assignments_[id];
        });
        std::erase_if(values_, [&](const auto &each) { return assignments_.contains(each.first); });
    }

    void run() { collect(function_.body); }

private:
    static constexpr std::size_t max_nodes = 200;    // limit on an offset or value
    static constexpr std::size_t max_accesses = 32;  // limit on accesses that a launch calculates

    // Collects from consecutive statements up to the first that some work-items may not pass.
    void collect(const std::vector<Statement> &statements) {
        for (const Statement &statement : statements) {
            collect(statement);
            if (may_leave(statement))
                return;
        }
    }

    void collect(const Statement &statement) {
        source_ = statement.inlined ? statement.inlined->source : function_.source;
        for (const Expression &expression : statement.expressions)
            collect(expression);
        if (statement.act == Act::store)
            add(statement.id, statement.expressions[0], statement.at);
        if (statement.act == Act::assign && assignments_[statement.id] == 1)
            if (auto value = known(statement.expressions[0]))
                values_.insert_or_assign(statement.id, std::move(*value));
        if (statement.act == Act::for_ && runs_at_least_once(statement))
            collect(statement.body);
    }

    // Collects the subexpressions that are always evaluated.
    void collect(const Expression &expression) {
        const bool is_lazy = expression.op == Op::logic_and || expression.op == Op::logic_or ||
                             expression.op == Op::select;
        for (const Expression &operand : expression.operands) {
            collect(operand);
            if (is_lazy)
                return;
        }
        if (expression.op == Op::load || expression.op == Op::atomic)
            add(expression.id, expression.operands[0], expression.at);
        if (expression.op == Op::call)
            follow(expression);
    }

    void follow(const Expression &call) {
        const ir::Function &callee = module_.functions[call.id];
        KnownValues values;
        std::size_t next = 0;
        for (const ir::VariableId id : ir::parameters_in_order(callee.variables))
            if (auto value = known(call.operands.at(next++)))
                values.emplace(id, std::move(*value));
        Arrays parameters;
        next = 0;
        for (const ir::RootId id : ir::parameters_in_order(callee.roots))
            parameters[id] = arrays_.at(call.roots.at(next++));
        ReachCollector(module_, callee, std::move(parameters), std::move(values), reach_, accesses_)
            .run();
    }

    static bool may_leave(const Statement &statement) {
        bool leaves = statement.act == Act::return_ || statement.act == Act::break_ ||
                      statement.act == Act::continue_;
        ir::for_each_statement(statement.body,
                               [&](const Statement &each) { leaves |= each.act == Act::return_; });
        ir::for_each_statement(statement.otherwise,
                               [&](const Statement &each) { leaves |= each.act == Act::return_; });
        return leaves || (statement.act == Act::if_ &&
                          (jumps_out(statement.body) || jumps_out(statement.otherwise)));
    }

    // True if a break or continue in the statements belongs to an enclosing loop.
    static bool jumps_out(const std::vector<Statement> &statements) {
        return std::ranges::any_of(statements, [](const Statement &each) {
            return each.act == Act::break_ || each.act == Act::continue_ ||
                   (!ir::is_loop(each) && (jumps_out(each.body) || jumps_out(each.otherwise)));
        });
    }

    static bool runs_at_least_once(const Statement &loop) {
        const auto start = build::constant_of(loop.expressions[0]),
                   stop = build::constant_of(loop.expressions[1]),
                   step = build::constant_of(loop.expressions[2]);
        return start && stop && step && (*step > 0 ? *start < *stop : *start > *stop);
    }

    void add(ir::RootId id, const Expression &offset, Position at) {
        if (!offset.indices)
            return add({arrays_.at(id), {}, false, offset, source_, at});
        for (std::uint32_t axis = 0; axis < offset.indices->size(); ++axis)
            add_index(id, axis, (*offset.indices)[axis]);
    }

    void add_index(ir::RootId id, std::uint32_t axis, const Expression &index) {
        const CertainAccess::Array &array = arrays_.at(id);
        const Expression extent = extent_of(id, axis, index.at);
        const Expression &counted = counted_from_front(index, extent);
        const bool wraps = &counted != &index;
        // The front end has turned a constant negative index into `extent - constant`.
        const bool is_from_end = index.op == Op::subtract && extent.op == Op::extent &&
                                 build::same(index.operands[0], extent);
        const Known value = is_from_end ? scaled(affine(index.operands[1]), -1) : affine(counted);
        if (value && array.argument)
            add(*value, {*array.argument, axis, wraps || is_from_end, index.at});
        else
            add({array, axis, wraps, counted, source_, index.at});
    }

    // Constant indices of arrays whose shape is known have been checked.
    void add(CertainAccess access) {
        auto index = accesses_.size() < max_accesses ? known(access.index) : std::nullopt;
        if (!index || !mentions_range(*index))
            return;
        access.index = std::move(*index);
        const auto is_same = [&](const CertainAccess &each) {
            return each.array.argument == access.array.argument &&
                   each.array.name == access.array.name && each.axis == access.axis &&
                   build::same(each.index, access.index);
        };
        if (std::ranges::none_of(accesses_, is_same))
            accesses_.push_back(std::move(access));
    }

    void add(const Affine &index, const Reach::Axis &axis) {
        const auto is_same = [&](const Reach &each) {
            return each.constant == index.constant && each.by_id == index.by_id;
        };
        auto found = std::ranges::find_if(reach_, is_same);
        if (found == reach_.end())
            found = reach_.insert(reach_.end(), Reach{index.constant, index.by_id, {}});
        if (std::ranges::find(found->axes, axis) == found->axes.end())
            found->axes.push_back(axis);
    }

    // Rewrites the expression in terms known to a launch. Returns: nullopt if it has any other
    // term.
    std::optional<Expression> known(const Expression &expression) const {
        if (expression.op == Op::variable) {
            const auto value = values_.find(expression.id);
            return value == values_.end() ? std::nullopt : std::optional(value->second);
        }
        if (!ir::can_be_evaluated_at_launch(expression))
            return std::nullopt;
        Expression made = expression;
        if (made.op == Op::extent || made.op == Op::stride) {
            const auto array = arrays_.find(made.id);
            if (array == arrays_.end() || !array->second.argument)
                return std::nullopt;
            made.id = *array->second.argument;
        }
        std::size_t nodes = 0;
        for (Expression &operand : made.operands) {
            auto value = known(operand);
            if (!value)
                return std::nullopt;
            operand = std::move(*value);
        }
        ir::for_each_within(made, [&](const Expression &) { ++nodes; });
        return nodes <= max_nodes ? std::optional(std::move(made)) : std::nullopt;
    }

    // True if the expression contains an id or size.
    static bool mentions_range(const Expression &expression) {
        bool found = false;
        ir::for_each_within(expression,
                            [&](const Expression &each) { found |= each.op == Op::index; });
        return found;
    }

    // Returns `x` for `x + extent if x < 0 else x`.
    static const Expression &counted_from_front(const Expression &index, const Expression &extent) {
        const bool is_choice =
            index.op == Op::select && index.operands[0].op == Op::less &&
            build::constant_of(index.operands[0].operands[1]) == 0 &&
            build::same(index.operands[0].operands[0], index.operands[2]) &&
            build::same(index.operands[1], build::sum(index.operands[2], extent));
        return is_choice ? index.operands[2] : index;
    }

    Expression extent_of(ir::RootId id, std::uint32_t axis, Position at) const {
        const Type &type = function_.roots[id].type;
        if (!type.shape.empty())
            return build::integer(type.shape[axis], at);
        Expression extent = build::of(Op::extent, scalar_type(dtypes::int64), at, {});
        extent.id = id;
        extent.number = axis;
        return extent;
    }

    Known affine(const Expression &expression) const {
        const auto &operands = expression.operands;
        if (expression.type != scalar_type(dtypes::int64))
            return std::nullopt;
        switch (expression.op) {
        case Op::constant:
            return Affine{*build::constant_of(expression), {}};
        case Op::variable: {
            const auto value = values_.find(expression.id);
            return value == values_.end() ? std::nullopt : affine(value->second);
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

    const ir::Module &module_;
    const ir::Function &function_;
    Arrays arrays_;
    KnownValues values_;  // values of parameters, and of single-assignment variables once assigned
    std::map<ir::VariableId, int> assignments_;
    std::shared_ptr<const Source> source_;  // source of the current statement
    std::vector<Reach> &reach_;
    std::vector<CertainAccess> &accesses_;
};

}  // namespace

void find_certain_accesses(const ir::Module &module, std::vector<Reach> &reach,
                           std::vector<CertainAccess> &accesses) {
    const ir::Function &kernel = module.kernel();
    Arrays parameters;
    for (ir::RootId id = 0; id < kernel.roots.size(); ++id)
        if (const ir::Root &root = kernel.roots[id]; root.parameter)
            parameters[id] = {root.shown, root.type.space, root.parameter, {}};
    ReachCollector(module, kernel, std::move(parameters), {}, reach, accesses).run();
}

}  // namespace entrepot::kernel
