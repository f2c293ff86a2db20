#include "kernel/passes/loop_carried.hpp"

#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"

#include <map>
#include <set>
#include <span>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

// The smallest vectors hold two elements of 64 bits.
constexpr std::size_t values_in_two_vectors = 4;

class LoopCarried {
public:
    LoopCarried(const ir::Module &module, const ir::Function &function, const Statement &loop,
                bool reassociates_floats)
        : module_(module), function_(function), loop_(loop),
          reassociates_floats_(reassociates_floats) {
        const auto body = std::span(&loop, 1);
        ir::for_each_statement(body, [&](const Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                if (statement.act != Act::for_)
                    assigned_.insert(id);
            if (statement.act == Act::store)
                stored_.insert(statement.id);
        });
        ir::for_each_statement(function.body, [&](const Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                definitions_[id] = definitions_.contains(id) || statement.act != Act::assign
                                       ? nullptr
                                       : &statement.expressions[0];
        });
        ir::for_each_expression(body, [&](const Expression &each) {
            if (each.op == Op::load)
                loaded_.insert(each.id);
            if (each.op == Op::call)
                stored_.insert(each.roots.begin(), each.roots.end());
            if (each.op == Op::atomic)
                stored_.insert(each.id);
        });
        if (loop.act == Act::while_)
            read(loop.expressions[0], {});
        walk(loop.body, {}, false);
        for (const Statement &statement : loop.body)
            if (statement.act == Act::assign && is_not_addition(statement.expressions[0]))
                variables_.erase(statement.id);
    }

    std::size_t values() const { return variables_.size() + stores_; }
    bool has_many_elements() const { return has_many_elements_; }

private:
    using Variables = std::set<ir::VariableId>;

    bool counts(Dtype dtype) const {
        return is_integer(dtype) || (reassociates_floats_ && !is_boolean(dtype));
    }

    // `given`: variables that this round has assigned on every path to this point.
    void walk(const std::vector<Statement> &list, Variables given, bool is_repeated) {
        for (const Statement &statement : list) {
            for (const Expression &expression : statement.expressions)
                read(expression, given);
            if (statement.act == Act::store && loaded_.contains(statement.id) &&
                counts(function_.roots[statement.id].type.dtype) &&
                !is_not_addition(statement.expressions[1])) {
                ++stores_;
                has_many_elements_ = has_many_elements_ || is_repeated;
            }
            walk(statement.body, given, is_repeated || ir::is_loop(statement));
            walk(statement.otherwise, given, is_repeated);
            for (const ir::VariableId id : ir::assigned_by(statement))
                given.insert(id);
        }
    }

    void read(const Expression &expression, const Variables &given) {
        ir::for_each_within(expression, [&](const Expression &each) {
            const bool is_carried =
                each.op == Op::variable && assigned_.contains(each.id) && !given.contains(each.id);
            if (is_carried && counts(function_.variables[each.id].type.dtype))
                variables_.insert(each.id);
            if (each.op == Op::call)
                for (const ir::Root &root : module_.functions[each.id].roots)
                    has_many_elements_ = has_many_elements_ || (root.parameter && root.written &&
                                                                counts(root.type.dtype));
        });
    }

    // True if the expression is certainly not the sum of an old value and a loop invariant.
    bool is_not_addition(const Expression &value) const {
        switch (value.op) {
        case Op::convert:
        case Op::negate:
            return is_not_addition(value.operands[0]);
        case Op::add:
        case Op::subtract:
            return is_not_addition(value.operands[0]) || is_not_addition(value.operands[1]);
        case Op::multiply:
            return differs(value) ||
                   ((is_scale(value.operands[0]) || is_scale(value.operands[1])) && changes(value));
        default:
            return differs(value);
        }
    }

    static bool is_scale(const Expression &factor) {
        const auto *const number =
            factor.op == Op::constant ? std::get_if<std::int64_t>(&factor.value) : nullptr;
        return number && (*number > 1 || *number < -1);
    }

    // True if the factor may be a constant 0.
    static bool is_zero(const Expression &factor) {
        return factor.op == Op::constant && !is_scale(factor) &&
               factor.value != decltype(factor.value)(std::int64_t{1});
    }

    // True if the expression reads a variable or element that the loop changes.
    bool changes(const Expression &expression) const {
        bool found = false;
        ir::for_each_within(expression, [&](const Expression &each) {
            found = found || (each.op == Op::variable && assigned_.contains(each.id)) ||
                    (each.op == Op::load && stored_.contains(each.id));
        });
        return found;
    }

    // True if the value certainly differs in each round: it is read at changing offsets from an
    // array that the loop does not write.
    bool differs(const Expression &expression) const {
        switch (expression.op) {
        case Op::load:
            return !stored_.contains(expression.id) && moves(expression.operands[0]);
        case Op::variable: {
            const Expression *const definition = only_definition(expression.id);
            return definition && differs(*definition);
        }
        case Op::convert:
        case Op::negate:
            return differs(expression.operands[0]);
        case Op::multiply:
            return (differs(expression.operands[0]) && !is_zero(expression.operands[1])) ||
                   (differs(expression.operands[1]) && !is_zero(expression.operands[0]));
        default:
            return false;
        }
    }

    // True if the offset certainly changes in each round, because it depends on the loop's counter.
    bool moves(const Expression &offset) const {
        switch (offset.op) {
        case Op::variable: {
            if (loop_.act == Act::for_ && offset.id == loop_.id)
                return true;
            const Expression *const definition = only_definition(offset.id);
            return definition && moves(*definition);
        }
        case Op::convert:
            return moves(offset.operands[0]);
        case Op::add:
        case Op::subtract:
            return moves(offset.operands[0]) || moves(offset.operands[1]);
        case Op::multiply:
            return (moves(offset.operands[0]) && !is_zero(offset.operands[1])) ||
                   (moves(offset.operands[1]) && !is_zero(offset.operands[0]));
        default:
            return false;
        }
    }

    const Expression *only_definition(ir::VariableId id) const {
        const auto found = definitions_.find(id);
        return found != definitions_.end() ? found->second : nullptr;
    }

    const ir::Module &module_;
    const ir::Function &function_;
    const Statement &loop_;
    const bool reassociates_floats_;
    Variables assigned_;  // variables that the loop assigns, except loop counters
    // Only definition of each variable; nullptr if it is not assigned exactly once.
    std::map<ir::VariableId, const Expression *> definitions_;
    std::set<ir::RootId> loaded_, stored_;
    Variables variables_;
    std::size_t stores_ = 0;
    // True if an inner loop, which the compiler may unroll, changes elements.
    bool has_many_elements_ = false;
};

}  // namespace

bool carries_several_vectors(const ir::Module &module, const ir::Function &function,
                             const ir::Statement &loop, bool reassociates_floats,
                             std::size_t copies) {
    const LoopCarried loop_carried(module, function, loop, reassociates_floats);
    return loop_carried.has_many_elements() ||
           loop_carried.values() * copies >= values_in_two_vectors;
}

}  // namespace entrepot::kernel
