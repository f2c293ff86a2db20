#include "kernel/passes/minus_one.hpp"

#include "kernel/ir/walk.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace entrepot::kernel {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

double constant_value(const Expression &expression) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    if (expression.op != Op::constant)
        return none;
    return std::visit(
        [](const auto &value) -> double {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
                return static_cast<double>(value);
            else
                return none;
        },
        expression.value);
}

// Variables depend on each other: iterates to a fixed point.
MinusOneAnalysis::MinusOneAnalysis(const ir::Module &module, const ir::Function &function)
    : function_(function), is_kernel_(&function == &module.kernel()),
      may_be_constant_(function.variables.size()), may_be_minus_one_(function.variables.size()) {
    bool changed = false;
    const auto set = [&](std::vector<bool> &facts, ir::VariableId id, bool fact) {
        changed |= fact && !facts[id];
        facts[id] = facts[id] || fact;
    };
    for (ir::VariableId id = 0; id < function.variables.size() && !is_kernel_; ++id)
        may_be_constant_[id] = may_be_minus_one_[id] = function.variables[id].parameter.has_value();
    do {
        changed = false;
        ir::for_each_statement(function.body, [&](const Statement &statement) {
            const bool assigns = statement.act == Act::assign;
            if (!assigns && statement.act != Act::unpack)
                return;
            for (const ir::VariableId id : ir::assigned_by(statement)) {
                set(may_be_constant_, id, !assigns || may_be_constant(statement.expressions[0]));
                set(may_be_minus_one_, id, !assigns || may_be_minus_one(statement.expressions[0]));
            }
        });
    } while (changed);
}

bool MinusOneAnalysis::may_be_constant(const Expression &expression) const {
    switch (expression.op) {
    case Op::constant:
        return true;
    case Op::variable:
        return may_be_constant_[expression.id];
    case Op::index:
        return expression.text == "work_dim";
    case Op::load: {
        const ir::Root &root = function_.roots[expression.id];
        return root.values != nullptr || root.type.space == Space::private_;
    }
    case Op::extent:
    case Op::stride:
    case Op::atomic:
    case Op::group:
        return false;
    case Op::negate:  // negation of a float is written in a form that compilers do not fold
        return expression.type.dtype.code == TypeCode::integer &&
               may_be_constant(expression.operands[0]);
    default:
        return std::ranges::all_of(expression.operands,
                                   [&](const Expression &each) { return may_be_constant(each); });
    }
}

bool MinusOneAnalysis::may_be_minus_one(const Expression &expression) const {
    switch (expression.op) {
    case Op::constant:
        return constant_value(expression) == -1;
    case Op::variable:
        return may_be_minus_one_[expression.id];
    case Op::convert:
        return may_be_minus_one(expression.operands[0]);
    case Op::select:
        return may_be_minus_one(expression.operands[1]) || may_be_minus_one(expression.operands[2]);
    default:
        return may_be_constant(expression);
    }
}

}  // namespace entrepot::kernel
