// Traversal and queries of the typed form.
#pragma once
#include "kernel/ir/ir.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace entrepot::kernel::ir {

// Calls `visit` for an expression, then for its operands.
template <class Tree, class Visit> void for_each_within(Tree &expression, Visit &&visit) {
    visit(expression);
    for (auto &operand : expression.operands)
        for_each_within(operand, visit);
}

inline bool reads(const Expression &expression, VariableId id) {
    bool found = false;
    for_each_within(expression, [&](const Expression &each) {
        found |= each.op == Op::variable && each.id == id;
    });
    return found;
}

// Calls `visit` for every statement of a list, including nested ones.
template <class Trees, class Visit> void for_each_statement(Trees &&statements, Visit &&visit) {
    for (auto &statement : statements) {
        visit(statement);
        for_each_statement(statement.body, visit);
        for_each_statement(statement.otherwise, visit);
    }
}

// Calls `visit` for every expression of a list of statements, including nested ones.
template <class Trees, class Visit> void for_each_expression(Trees &statements, Visit &&visit) {
    for_each_statement(statements, [&](auto &statement) {
        for (auto &expression : statement.expressions)
            for_each_within(expression, visit);
    });
}

// Returns: the parameters among a function's variables or roots, in the order of their places. A
//   call has its operands and its roots in this order.
template <class Items> std::vector<std::uint32_t> parameters_in_order(const Items &items) {
    std::map<std::uint32_t, std::uint32_t> by_place;
    for (std::uint32_t id = 0; id < items.size(); ++id)
        if (items[id].parameter)
            by_place[*items[id].parameter] = id;
    std::vector<std::uint32_t> ids;
    for (const auto &[place, id] : by_place)
        ids.push_back(id);
    return ids;
}

// True if the function makes arrays in private memory, apart from constant ones.
inline bool has_private_arrays(const Function &function) {
    return std::ranges::any_of(function.roots, [](const Root &root) {
        return root.type.space == Space::private_ && !root.parameter && !root.values;
    });
}

// Variables that the statement itself assigns.
inline std::vector<VariableId> assigned_by(const Statement &statement) {
    if (statement.act == Act::assign || statement.act == Act::for_)
        return {statement.id};
    return statement.act == Act::unpack ? statement.ids : std::vector<VariableId>{};
}

// Consecutive statements: all of a block, or some of them.
using Row = std::vector<const Statement *>;

inline Row row_of(const std::vector<Statement> &statements) {
    Row row;
    row.reserve(statements.size());
    for (const Statement &statement : statements)
        row.push_back(&statement);
    return row;
}

inline std::set<VariableId> read_by(const Expression &expression) {
    std::set<VariableId> found;
    for_each_within(expression, [&](const Expression &each) {
        if (each.op == Op::variable)
            found.insert(each.id);
    });
    return found;
}

// Variables that the statement itself, without nested statements, reads or assigns.
inline std::set<VariableId> used_by(const Statement &statement) {
    const std::vector<VariableId> assigned = assigned_by(statement);
    std::set<VariableId> found(assigned.begin(), assigned.end());
    for (const Expression &expression : statement.expressions)
        found.merge(read_by(expression));
    return found;
}

// Variables that the statement or a nested statement reads or assigns.
inline std::set<VariableId> used_within(const Statement &statement) {
    std::set<VariableId> found;
    for_each_statement(std::span(&statement, 1),
                       [&](const Statement &each) { found.merge(used_by(each)); });
    return found;
}

inline bool is_loop(const Statement &statement) {
    return statement.act == Act::while_ || statement.act == Act::for_;
}

// True for a barrier of all groups of the launch.
inline bool is_grid_barrier(const Statement &statement) {
    return statement.act == Act::barrier && statement.scope == Scope::device;
}

inline bool is_group_function(const Statement &statement) {
    return !statement.expressions.empty() && statement.expressions[0].op == Op::group;
}

// True for a call of a function that is a tile operation.
inline bool is_tile_operation(const Module &module, const Statement &statement) {
    return statement.act == Act::evaluate && statement.expressions[0].op == Op::call &&
           module.functions[statement.expressions[0].id].tile.has_value();
}

// True if a group of the kernel has accumulators or runs tile operations.
inline bool has_tiles(const Module &module) {
    return std::ranges::any_of(module.functions,
                               [](const Function &each) { return each.tile.has_value(); }) ||
           std::ranges::any_of(module.kernel().roots,
                               [](const Root &root) { return !root.type.tile.empty(); });
}

// True if one of the statements, or a nested one, is a barrier or a group function.
inline bool has_barrier(std::span<const Statement> statements) {
    bool found = false;
    for_each_statement(statements, [&](const Statement &each) {
        found |= each.act == Act::barrier || is_group_function(each);
    });
    return found;
}

inline bool has_barrier(const Statement &statement) {
    return has_barrier(std::span(&statement, 1));
}

// True for checks of debug builds.
inline bool is_check(const Expression &expression) {
    return expression.op == Op::bound_check || expression.op == Op::assertion;
}

// True if a launch can calculate the expression for a work-item once it knows the operands.
inline bool can_be_evaluated_at_launch(const Expression &expression) {
    switch (expression.op) {
    case Op::load:
    case Op::call:
    case Op::atomic:
    case Op::group:
    case Op::bound_check:
    case Op::assertion:
        return false;
    case Op::index:
        return expression.text.find("sub_group") == expression.text.npos;
    default:
        return true;
    }
}

// Number of leading operands of a group function that each work-item supplies itself. These include
// the index of a shuffle or sub-group broadcast, since it may differ between sub-groups.
inline std::size_t per_item_operands(const Expression &call) {
    const bool asks = call.text.starts_with("shuffle") ||
                      (call.text == "broadcast" && call.scope == Scope::sub_group &&
                       call.operands.size() > 1 && call.operands[1].op != Op::constant);
    return asks ? 2 : 1;
}

// True if an element of the array may change while the function runs. Another argument may write
// it, if the two may be views of the same memory, whatever their types.
inline bool may_change(const Function &function, RootId id) {
    const auto is_view = [](const Root &root) {
        return root.parameter && root.type.space == Space::global && !root.restrict_;
    };
    const Root &root = function.roots[id];
    return root.written ||
           (is_view(root) && std::ranges::any_of(function.roots, [&](const Root &other) {
                return other.written && is_view(other);
            }));
}

}  // namespace entrepot::kernel::ir
