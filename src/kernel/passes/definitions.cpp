// Values of variables: expansion of definitions into the expressions that use them.
#include "kernel/passes/definitions.hpp"

#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"

#include <algorithm>
#include <utility>

namespace entrepot::kernel {

using ir::Expression;
using ir::Op;

namespace {

// Limits the expansion: each `a = b + b` doubles it.
constexpr int max_operations = 60;

}  // namespace

bool has_no_effect(const Expression &expression) {
    bool pure = true;
    ir::for_each_within(expression, [&](const Expression &each) {
        pure &= each.op != Op::atomic && each.op != Op::group && !ir::is_check(each) &&
                each.op != Op::call;
    });
    return pure;
}

bool is_global_id(const Expression &expression, std::uint32_t dimension) {
    return expression.op == Op::index && expression.text == "global_id" &&
           expression.number == dimension;
}

bool reads_global_id(const Expression &expression, std::uint32_t dimension) {
    bool found = false;
    ir::for_each_within(expression,
                        [&](const Expression &each) { found |= is_global_id(each, dimension); });
    return found;
}

bool reads_item_id(const Expression &expression, std::uint32_t dimension) {
    bool found = false;
    ir::for_each_within(expression, [&](const Expression &each) {
        found |= is_global_id(each, dimension) ||
                 (each.op == Op::index &&
                  (each.text == "local_id" || each.text.find("sub_group") != each.text.npos));
    });
    return found;
}

Definitions::Definitions(const ir::Function &kernel)
    : kernel_(kernel), assignments_(kernel.variables.size()) {
    for (ir::VariableId id = 0; id < kernel.variables.size(); ++id)
        assignments_[id] += kernel.variables[id].parameter.has_value();
    ir::for_each_statement(kernel.body, [&](const ir::Statement &statement) {
        for (const ir::VariableId id : ir::assigned_by(statement))
            ++assignments_[id];
    });
    ir::for_each_statement(kernel.body, [&](const ir::Statement &statement) {
        if (statement.act == ir::Act::assign && assignments_[statement.id] == 1)
            definitions_.emplace(statement.id, &statement.expressions[0]);
    });
}

std::optional<Expression> Definitions::resolved(Expression expression) const {
    int left = max_operations;
    return expand(expression, left) ? std::optional(std::move(expression)) : std::nullopt;
}

bool Definitions::expand(Expression &expression, int &left) const {
    if (--left < 0)
        return false;
    if (expression.op == Op::variable) {
        const auto definition = definitions_.find(expression.id);
        if (definition == definitions_.end())
            return kernel_.variables[expression.id].parameter && assignments_[expression.id] == 1;
        expression = *definition->second;
        return expand(expression, left);
    }
    const bool is_minimum =
        is_integer(expression.type.dtype) && (expression.text == "min" || expression.text == "max");
    return ir::can_be_evaluated_at_launch(expression) &&
           (expression.op != Op::math || is_minimum) &&
           std::ranges::all_of(expression.operands,
                               [&](Expression &operand) { return expand(operand, left); });
}

}  // namespace entrepot::kernel
