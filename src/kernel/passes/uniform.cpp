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

Parted either(const Parted &a, const Parted &b) { return a ? a : b; }

}  // namespace

Parted Uniformity::Exits::any() const { return either(by_return, either(by_break, by_continue)); }

void Uniformity::Exits::add(const Exits &other) {
    by_return = either(by_return, other.by_return);
    by_break = either(by_break, other.by_break);
    by_continue = either(by_continue, other.by_continue);
}

// Divergence of variables and of control flow depend on each other: iterates to a fixed point.
Uniformity::Uniformity(const ir::Module &module, const ir::Function &function, Among among,
                       Variables differs)
    : module_(module), function_(function), among_(among), differs_(std::move(differs)) {
    differs_.resize(function.variables.size());
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

Uniformity::Exits Uniformity::walk(const std::vector<Statement> &statements, const Parted &parted) {
    Exits exits;
    for (const Statement &statement : statements)
        exits.add(walk(statement, either(parted, exits.any())));
    return exits;
}

Uniformity::Exits Uniformity::walk(const Statement &statement, const Parted &parted) {
    if (visit_)
        (*visit_)(statement, parted);
    switch (statement.act) {
    case Act::assign:
        mark(statement.id, parted || differs(statement.expressions[0]));
        return {};
    case Act::unpack:
        for (const ir::VariableId id : statement.ids)
            mark(id, parted || differs(statement.expressions[0]));
        return {};
    case Act::if_: {
        const Parted inside = within(statement, parted);
        Exits exits = walk(statement.body, inside);
        exits.add(walk(statement.otherwise, inside));
        return exits;
    }
    case Act::while_:
    case Act::for_:
        return walk_loop(statement, parted);
    case Act::break_:
        return {{}, parted, {}};
    case Act::continue_:
        return {{}, {}, parted};
    case Act::return_:
        return {parted, {}, {}};
    default:
        return {};
    }
}

// A work-item that has left a loop does not take part in its next round.
Uniformity::Exits Uniformity::walk_loop(const Statement &loop, const Parted &parted) {
    Parted inside = within(loop, parted);
    const Visit *const visit = std::exchange(visit_, nullptr);
    Exits exits = walk(loop.body, inside);
    const bool parts_later = !inside && (exits.by_break || exits.by_return);
    if (parts_later)
        inside = either(exits.by_break, exits.by_return);
    visit_ = visit;
    if (parts_later || visit_)
        exits = walk(loop.body, inside);
    if (loop.act == Act::for_)
        mark(loop.id, inside.has_value());
    return {exits.by_return, {}, {}};
}

Parted Uniformity::within(const Statement &statement, const Parted &parted) const {
    if (parted)
        return parted;
    for (const Expression &expression : statement.expressions)
        if (differs(expression))
            return ir::Place{&function_, statement.inlined.get(), expression.at};
    return {};
}

void Uniformity::mark(ir::VariableId id, bool differs) {
    if (differs && !differs_[id])
        changed_ = differs_[id] = true;
}

bool Uniformity::is_same(const std::string &index) const {
    const bool is_of_item =
        index == "global_id" || index == "local_id" || index.starts_with("sub_group_");
    return !is_of_item && (among_ == Among::group || index != "group_id");
}

bool Uniformity::differs(const Expression &expression) const {
    if (std::ranges::any_of(expression.operands,
                            [&](const Expression &operand) { return differs(operand); }))
        return !is_for_all(expression);
    switch (expression.op) {
    case Op::variable:
        return differs_[expression.id];
    case Op::index:
        return !is_same(expression.text);
    case Op::load:
        return ir::may_change(function_, expression.id);
    case Op::atomic:
        return true;
    case Op::call:
        return !expression.roots.empty() || tells_items_apart(module_.functions[expression.id]);
    case Op::group:
        return !is_for_all(expression);
    default:
        return false;
    }
}

// True if the result is the same for the whole group, whatever the operands are.
bool Uniformity::is_for_all(const Expression &expression) const {
    return among_ == Among::group && expression.op == Op::group &&
           expression.scope == ir::Scope::work_group && !expression.text.ends_with("_scan");
}

bool Uniformity::tells_items_apart(const ir::Function &function) const {
    bool found = false;
    ir::for_each_expression(function.body, [&](const Expression &expression) {
        found = found || (expression.op == Op::index && !is_same(expression.text)) ||
                expression.op == Op::atomic ||
                (expression.op == Op::call && tells_items_apart(module_.functions[expression.id]));
    });
    return found;
}

bool stores_apart(const ir::Module &module) {
    bool found = false;
    const auto is_private = [](const ir::Function &function, const Statement &statement) {
        return statement.act == Act::store &&
               function.roots[statement.id].type.space == Space::private_;
    };
    // Calls of device functions are not analysed.
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
    uniformity.for_each_statement([&](const Statement &statement, const Parted &parted) {
        found |= is_private(kernel, statement) &&
                 (parted || uniformity.differs(statement.expressions[0]));
    });
    return found;
}

}  // namespace entrepot::kernel
