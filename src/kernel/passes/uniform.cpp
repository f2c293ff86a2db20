#include "kernel/passes/uniform.hpp"

#include "kernel/ir/walk.hpp"

#include <algorithm>
#include <utility>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

Divergence either(const Divergence &a, const Divergence &b) { return a ? a : b; }

}  // namespace

Divergence Uniformity::Exits::any() const {
    return either(by_return, either(by_break, by_continue));
}

void Uniformity::Exits::add(const Exits &other) {
    by_return = either(by_return, other.by_return);
    by_break = either(by_break, other.by_break);
    by_continue = either(by_continue, other.by_continue);
}

// Divergence of variables and of control flow depend on each other: iterates to a fixed point.
Uniformity::Uniformity(const ir::Module &module, const ir::Function &function, Among among,
                       Variables is_divergent)
    : module_(module), function_(function), among_(among), divergent_(std::move(is_divergent)) {
    divergent_.resize(function.variables.size());
    do {
        changed_ = false;
        walk(function_.body, {});
    } while (changed_);
}

void Uniformity::for_each_statement(const Visit &visit) {
    visit_ = &visit;
    walk(function_.body, {});
    visit_ = nullptr;
}

Uniformity::Exits Uniformity::walk(const std::vector<Statement> &statements,
                                   const Divergence &divergence) {
    Exits exits;
    for (const Statement &statement : statements)
        exits.add(walk(statement, either(divergence, exits.any())));
    return exits;
}

Uniformity::Exits Uniformity::walk(const Statement &statement, const Divergence &divergence) {
    if (visit_)
        (*visit_)(statement, divergence);
    switch (statement.act) {
    case Act::assign:
        mark(statement.id, divergence || is_divergent(statement.expressions[0]));
        return {};
    case Act::unpack:
        for (const ir::VariableId id : statement.ids)
            mark(id, divergence || is_divergent(statement.expressions[0]));
        return {};
    case Act::if_: {
        const Divergence inside = within(statement, divergence);
        Exits exits = walk(statement.body, inside);
        exits.add(walk(statement.otherwise, inside));
        return exits;
    }
    case Act::while_:
    case Act::for_:
        return walk_loop(statement, divergence);
    case Act::break_:
        return {{}, divergence, {}};
    case Act::continue_:
        return {{}, {}, divergence};
    case Act::return_: {
        Divergence returned = divergence;
        if (returned)
            returned->has_returned = true;
        return {returned, {}, {}};
    }
    default:
        return {};
    }
}

// A work-item that has left a loop does not run its next round.
Uniformity::Exits Uniformity::walk_loop(const Statement &loop, const Divergence &divergence) {
    Divergence inside = within(loop, divergence);
    const Visit *const visit = std::exchange(visit_, nullptr);
    Exits exits = walk(loop.body, inside);
    const bool diverges_later = !inside && (exits.by_break || exits.by_return);
    if (diverges_later)
        inside = either(exits.by_break, exits.by_return);
    visit_ = visit;
    if (diverges_later || visit_)
        exits = walk(loop.body, inside);
    if (loop.act == Act::for_)
        mark(loop.id, inside.has_value());
    return {exits.by_return, {}, {}};
}

Divergence Uniformity::within(const Statement &statement, const Divergence &divergence) const {
    if (divergence)
        return divergence;
    for (const Expression &expression : statement.expressions)
        if (is_divergent(expression))
            return Divergent{{&function_, statement.inlined.get(), expression.at}};
    return {};
}

void Uniformity::mark(ir::VariableId id, bool is_divergent) {
    if (is_divergent && !divergent_[id])
        changed_ = divergent_[id] = true;
}

bool Uniformity::is_uniform_index(const std::string &index) const {
    const bool is_of_item =
        index == "global_id" || index == "local_id" || index.starts_with("sub_group_");
    return !is_of_item && (among_ == Among::group || index != "group_id");
}

bool Uniformity::is_divergent(const Expression &expression) const {
    if (std::ranges::any_of(expression.operands,
                            [&](const Expression &operand) { return is_divergent(operand); }))
        return !is_uniform_result(expression);
    switch (expression.op) {
    case Op::variable:
        return divergent_[expression.id];
    case Op::index:
        return !is_uniform_index(expression.text);
    case Op::load:
        return ir::may_change(function_, expression.id);
    case Op::atomic:
        return true;
    case Op::call:
        return !expression.roots.empty() || depends_on_work_item(module_.functions[expression.id]);
    case Op::group:
        return !is_uniform_result(expression);
    default:
        return false;
    }
}

// True if the result is the same for the whole group, for any operands.
bool Uniformity::is_uniform_result(const Expression &expression) const {
    return among_ == Among::group && expression.op == Op::group &&
           expression.scope == ir::Scope::work_group && !expression.text.ends_with("_scan");
}

bool Uniformity::depends_on_work_item(const ir::Function &function) const {
    bool found = false;
    ir::for_each_expression(function.body, [&](const Expression &expression) {
        found =
            found || (expression.op == Op::index && !is_uniform_index(expression.text)) ||
            expression.op == Op::atomic ||
            (expression.op == Op::call && depends_on_work_item(module_.functions[expression.id]));
    });
    return found;
}

bool has_divergent_private_store(const ir::Module &module) {
    bool found = false;
    const auto is_private = [](const ir::Function &function, const Statement &statement) {
        return statement.act == Act::store &&
               function.roots[statement.id].type.space == Space::private_;
    };
    // Calls of device functions are not analyzed.
    for (const ir::Function &function : module.functions)
        if (&function != &module.kernel())
            ir::for_each_statement(function.body, [&](const Statement &statement) {
                found |= is_private(function, statement);
            });
    const ir::Function &kernel = module.kernel();
    if (found || std::ranges::none_of(kernel.roots, [](const ir::Root &root) {
            return root.type.space == Space::private_;
        }))
        return found;
    Uniformity uniformity(module, kernel, Among::group);
    uniformity.for_each_statement([&](const Statement &statement, const Divergence &divergence) {
        found |= is_private(kernel, statement) &&
                 (divergence || uniformity.is_divergent(statement.expressions[0]));
    });
    return found;
}

}  // namespace entrepot::kernel
