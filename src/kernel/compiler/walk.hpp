// Walks over the typed form: what passes and emitters ask of statements and expressions.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>

#include <algorithm>
#include <vector>

namespace entrepot::kernel::ir {

// `visit` for an expression and all within it, operands after what they belong to.
template <class Tree, class Visit> void for_each_within(Tree &expression, Visit &&visit) {
    visit(expression);
    for (auto &operand : expression.operands)
        for_each_within(operand, visit);
}

inline bool reads(const Expression &expression, VariableId id) {
    bool found = false;
    for_each_within(expression, [&](const Expression &each) { found |= each.op == Op::variable && each.id == id; });
    return found;
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

// How many operands of a group function each work-item has its own of: which one it asks for may differ between sub-groups too.
inline std::size_t own_operands(const Expression &call) {
    const bool asks = call.text.starts_with("shuffle") || (call.text == "broadcast" && call.scope == Scope::sub_group &&
                                                           call.operands.size() > 1 && call.operands[1].op != Op::constant);
    return asks ? 2 : 1;
}

// Whether an element of the array may change while the function runs: by its own name, or by that of another argument where the
// two may be views of one memory, of whatever types.
inline bool may_change(const Function &function, RootId id) {
    const auto is_view = [](const Root &root) { return root.parameter && root.type.space == Space::global && !root.restrict_; };
    const Root &root = function.roots[id];
    return root.written || (is_view(root) && std::ranges::any_of(function.roots, [&](const Root &other) {
                                return other.written && is_view(other);
                            }));
}

}  // namespace entrepot::kernel::ir
