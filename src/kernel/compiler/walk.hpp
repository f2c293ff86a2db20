// Walks over the typed form: what passes and emitters ask of statements and expressions.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>

#include <vector>

namespace entrepot::kernel::ir {

// `visit` for an expression and all within it, operands after what they belong to.
template <class Tree, class Visit> void for_each_within(Tree &expression, Visit &&visit) {
    visit(expression);
    for (auto &operand : expression.operands)
        for_each_within(operand, visit);
}

// `visit` for every statement of a list, those within others included.
template <class Trees, class Visit> void for_each_statement(Trees &statements, Visit &&visit) {
    for (auto &statement : statements) {
        visit(statement);
        for_each_statement(statement.body, visit);
        for_each_statement(statement.otherwise, visit);
    }
}

// `visit` for every expression of a list of statements, those within others included.
template <class Trees, class Visit> void for_each_expression(Trees &statements, Visit &&visit) {
    for_each_statement(statements, [&](auto &statement) {
        for (auto &expression : statement.expressions)
            for_each_within(expression, visit);
    });
}

// The variables that a statement itself gives a value to.
inline std::vector<VariableId> assigned_by(const Statement &statement) {
    if (statement.act == Act::assign || statement.act == Act::for_)
        return {statement.id};
    return statement.act == Act::unpack ? statement.ids : std::vector<VariableId>{};
}

inline bool is_loop(const Statement &statement) { return statement.act == Act::while_ || statement.act == Act::for_; }

inline bool is_group_function(const Statement &statement) {
    return !statement.expressions.empty() && statement.expressions[0].op == Op::group;
}

}  // namespace entrepot::kernel::ir
