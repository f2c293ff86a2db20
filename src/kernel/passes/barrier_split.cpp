// BarrierSplit: finds the statements of the group and the storage of each variable.
#include "kernel/passes/barrier_split.hpp"
#include "kernel/ir/walk.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace entrepot::kernel {

namespace {

using Variables = BarrierSplit::Variables;

bool is_pure(const ir::Expression &expression) {
    bool pure = true;
    ir::for_each_within(expression, [&](const ir::Expression &each) {
        pure &= each.op != ir::Op::load && each.op != ir::Op::call && each.op != ir::Op::atomic &&
                each.op != ir::Op::group && !ir::is_check(each);
    });
    return pure;
}

// Data flow of definite assignment: variables that are assigned on every path to a point; nullopt:
// unreachable.
using Assigned = std::optional<Variables>;

Assigned meet(const Assigned &a, const Assigned &b) {
    if (!a || !b)
        return a ? a : b;
    Variables both;
    std::ranges::set_intersection(*a, *b, std::inserter(both, both.end()));
    return both;
}

class UpwardExposedUses {
public:
    explicit UpwardExposedUses(BarrierSplit::Region &region) : region_(region) {}

    Assigned transfer(const std::vector<ir::Statement> &list, Assigned assigned) {
        for (const ir::Statement &statement : list)
            assigned = transfer(statement, std::move(assigned));
        return assigned;
    }

    Assigned transfer(const ir::Statement &statement, Assigned assigned) {
        for (const ir::Expression &expression : statement.expressions)
            for (const ir::VariableId id : ir::read_by(expression))
                if (assigned && !assigned->contains(id))
                    region_.upward_exposed.insert(id);
        for (const ir::VariableId id : ir::assigned_by(statement))
            region_.written.insert(id);
        switch (statement.act) {
        case ir::Act::if_:
            return meet(transfer(statement.body, assigned),
                        transfer(statement.otherwise, assigned));
        case ir::Act::while_:
            transfer(statement.body, assigned);
            return assigned;
        case ir::Act::for_: {
            Assigned within = assigned;
            if (within)
                within->insert(statement.id);
            transfer(statement.body, std::move(within));
            return assigned;
        }
        case ir::Act::break_:
        case ir::Act::continue_:
        case ir::Act::return_:
            return std::nullopt;
        default:
            if (assigned)
                for (const ir::VariableId id : ir::assigned_by(statement))
                    assigned->insert(id);
            return assigned;
        }
    }

private:
    BarrierSplit::Region &region_;
};

}  // namespace

BarrierSplit::BarrierSplit(const ir::Function &kernel) : kernel_(kernel) {
    find_group_statements();
    find_divergence();
    find_definitions();
    classify_variables();
    find_context_arrays();
    find_early_returns();
}

// ---------------------------------------------------------------- statements of the group

bool BarrierSplit::mark_group_statements(const ir::Statement &statement,
                                         const ir::Statement *loop) {
    bool of_group = statement.act == ir::Act::barrier || ir::is_group_function(statement);
    if (statement.act == ir::Act::break_ || statement.act == ir::Act::continue_)
        of_group = loop != nullptr && group_statements_.contains(loop);
    if (statement.act == ir::Act::return_)
        of_group = group_statements_.contains(&statement);
    if (ir::is_loop(statement) && ir::has_barrier(statement))
        group_statements_.insert(&statement);  // inserted before its exits are examined
    for (const auto *list : {&statement.body, &statement.otherwise})
        for (const ir::Statement &inner : *list)
            of_group |= mark_group_statements(inner, ir::is_loop(statement) ? &statement : loop);
    if (of_group)
        group_statements_.insert(&statement);
    return group_statements_.contains(&statement);
}

void BarrierSplit::find_group_statements() {
    // A return before a barrier must be taken by all work-items.
    std::vector<const ir::Statement *> open_returns;
    const auto walk = [&](const auto &self, const std::vector<ir::Statement> &list,
                          bool in_synchronized_loop) -> void {
        for (const ir::Statement &statement : list) {
            if (statement.act == ir::Act::return_)
                in_synchronized_loop ? void(group_statements_.insert(&statement))
                                     : open_returns.push_back(&statement);
            if (statement.act == ir::Act::barrier || ir::is_group_function(statement)) {
                group_statements_.insert(open_returns.begin(), open_returns.end());
                open_returns.clear();
            }
            const bool within =
                in_synchronized_loop || (ir::is_loop(statement) && ir::has_barrier(statement));
            self(self, statement.body, within);
            self(self, statement.otherwise, within);
        }
    };
    walk(walk, kernel_.body, false);
    // An exit may make a loop part of the group's control flow.
    for (bool changed = true; changed;) {
        const std::size_t before = group_statements_.size();
        for (const ir::Statement &statement : kernel_.body)
            mark_group_statements(statement, nullptr);
        changed = group_statements_.size() != before;
    }
}

// ---------------------------------------------------------------- values that differ

bool BarrierSplit::is_divergent(const ir::Expression &expression) const {
    switch (expression.op) {
    case ir::Op::variable:
        return divergent_[expression.id];
    case ir::Op::index:
        if (expression.text.ends_with("_id") && expression.text != "group_id")
            return true;
        return expression.text == "sub_group_size";
    case ir::Op::load:
        if (ir::may_change(kernel_, expression.id))
            return true;
        break;
    case ir::Op::call:
    case ir::Op::atomic:
    case ir::Op::bound_check:
    case ir::Op::assertion:
        return true;
    case ir::Op::group: {
        const bool same_for_all = expression.text == "reduce" || expression.text == "broadcast" ||
                                  expression.text == "any" || expression.text == "all";
        return expression.scope != ir::Scope::work_group || !same_for_all;
    }
    default:
        break;
    }
    return std::ranges::any_of(
        expression.operands, [&](const ir::Expression &operand) { return is_divergent(operand); });
}

bool BarrierSplit::exits_divergently(const std::vector<ir::Statement> &list, bool divergent) const {
    return std::ranges::any_of(list, [&](const ir::Statement &statement) {
        if (statement.act == ir::Act::break_ || statement.act == ir::Act::continue_ ||
            statement.act == ir::Act::return_)
            return divergent;
        const bool within =
            divergent ||
            (!statement.expressions.empty() && !statement.body.empty() &&
             std::ranges::any_of(statement.expressions, [&](const ir::Expression &expression) {
                 return is_divergent(expression);
             }));
        return exits_divergently(statement.body, within) ||
               exits_divergently(statement.otherwise, within);
    });
}

bool BarrierSplit::propagate_divergence(const std::vector<ir::Statement> &list, bool divergent) {
    bool changed = false;
    for (const ir::Statement &statement : list) {
        const bool value_diverges =
            divergent ||
            std::ranges::any_of(statement.expressions, [&](const ir::Expression &expression) {
                return is_divergent(expression);
            });
        for (const ir::VariableId id : ir::assigned_by(statement))
            if (value_diverges && !divergent_[id])
                divergent_[id] = changed = true;
        const bool within =
            value_diverges || (ir::is_loop(statement) && exits_divergently(statement.body, false) &&
                               !group_statements_.contains(&statement));
        changed |= propagate_divergence(statement.body, within);
        changed |= propagate_divergence(statement.otherwise, within);
    }
    return changed;
}

void BarrierSplit::find_divergence() {
    divergent_.assign(kernel_.variables.size(), false);
    while (propagate_divergence(kernel_.body, false)) {
    }
}

void BarrierSplit::find_definitions() {
    assignments_.assign(kernel_.variables.size(), 0);
    outside_loops_.assign(kernel_.variables.size(), true);
    std::vector<bool> group_assignable(kernel_.variables.size(), true);
    for (std::size_t i = 0; i < kernel_.variables.size(); ++i)
        if (kernel_.variables[i].parameter)
            ++assignments_[i];
    const auto walk = [&](const auto &self, const std::vector<ir::Statement> &list, bool in_loop,
                          bool of_group) -> void {
        for (const ir::Statement &statement : list) {
            for (const ir::VariableId id : ir::assigned_by(statement)) {
                if (++assignments_[id] == 1 && statement.act == ir::Act::assign)
                    definitions_[id] = &statement.expressions[0];
                else
                    definitions_.erase(id);
                if (in_loop || ir::is_loop(statement))
                    outside_loops_[id] = false;
                const bool by_group = of_group && (statement.act == ir::Act::assign ||
                                                   group_statements_.contains(&statement));
                if (!by_group || divergent_[id])
                    group_assignable[id] = false;
            }
            if (statement.act == ir::Act::assign && statement.expressions[0].op == ir::Op::group)
                group_results_.insert(statement.id);
            const bool within = of_group && group_statements_.contains(&statement);
            self(self, statement.body, in_loop || ir::is_loop(statement), within);
            self(self, statement.otherwise, in_loop || ir::is_loop(statement), within);
        }
    };
    walk(walk, kernel_.body, false, true);
    for (ir::VariableId i = 0; i < kernel_.variables.size(); ++i)
        if (group_assignable[i] && assignments_[i] > 0 && !kernel_.variables[i].parameter)
            group_assignable_.insert(i);
    for (const ir::VariableId id : group_results_)
        definitions_.erase(id);
    ir::for_each_statement(kernel_.body, [&](const ir::Statement &statement) {
        if (!ir::is_group_function(statement))
            return;
        const ir::Expression &call = statement.expressions[0];
        // Operands that differ are read from memory.
        for (std::size_t i = 0; i < ir::per_item_operands(call); ++i) {
            group_assignable_.erase(call.operands[i].id);
            definitions_.erase(call.operands[i].id);
        }
    });
}

bool BarrierSplit::can_rematerialise(const ir::Expression &expression,
                                     const Variables &known) const {
    if (!is_pure(expression))
        return false;
    bool can = true;
    ir::for_each_within(expression, [&](const ir::Expression &each) {
        if (each.op != ir::Op::variable)
            return;
        const bool is_parameter =
            kernel_.variables[each.id].parameter.has_value() && assignments_[each.id] == 1;
        const bool is_fixed =
            shared_.contains(each.id) && assignments_[each.id] == 1 && outside_loops_[each.id];
        can &= is_parameter || is_fixed || known.contains(each.id);
    });
    return can;
}

// ---------------------------------------------------------------- cutting

// True if an assignment of the group can be moved before `row`, which precedes it in the source.
bool BarrierSplit::can_move_before(const ir::Statement &assignment, const ir::Row &row) const {
    const ir::Expression &value = assignment.expressions[0];
    if (!is_pure(value))
        return false;
    const Variables reads = ir::read_by(value);
    return std::ranges::none_of(row, [&](const ir::Statement *each) {
        bool blocks_it = ir::used_within(*each).contains(assignment.id);
        const auto look = [&](const ir::Statement &inner) {
            for (const ir::VariableId id : ir::assigned_by(inner))
                blocks_it |= reads.contains(id);
            blocks_it |= inner.act == ir::Act::return_;
        };
        look(*each);
        ir::for_each_statement(each->body, look);
        ir::for_each_statement(each->otherwise, look);
        return blocks_it;
    });
}

void BarrierSplit::form_regions(const std::vector<ir::Statement> &list, bool in_loop) {
    std::vector<Piece> pieces;
    ir::Row row;
    const auto end_region = [&] {
        if (row.empty())
            return;
        pieces.push_back({nullptr, regions_.size()});
        regions_.push_back({std::move(row), in_loop, {}, {}, {}, {}, {}});
        row.clear();
    };
    for (const ir::Statement &statement : list) {
        const bool shared = statement.act == ir::Act::assign && shared_.contains(statement.id) &&
                            !group_statements_.contains(&statement);
        if (shared && can_move_before(statement, row)) {
            pieces.push_back({&statement, 0});
        } else if (shared || group_statements_.contains(&statement)) {
            end_region();
            pieces.push_back({&statement, 0});
            const bool within = in_loop || ir::is_loop(statement);
            if (!statement.body.empty())
                form_regions(statement.body, within);
            if (!statement.otherwise.empty())
                form_regions(statement.otherwise, within);
        } else {
            row.push_back(&statement);
        }
    }
    end_region();
    pieces_[&list] = std::move(pieces);
}

void BarrierSplit::find_upward_exposed_uses(Region &region) const {
    UpwardExposedUses exposure(region);
    Assigned assigned = Variables{};
    for (const ir::Statement *statement : region.row) {
        for (const ir::VariableId id : ir::used_within(*statement))
            region.used.insert(id);
        assigned = exposure.transfer(*statement, std::move(assigned));
    }
    for (const ir::VariableId id : region.written)
        if (!assigned || !assigned->contains(id))
            region.partially_assigned.insert(id);
}

void BarrierSplit::add_group_reads(const ir::Statement &statement) {
    for (const ir::Expression &expression : statement.expressions)
        for (const ir::VariableId id : ir::read_by(expression))
            group_reads_.insert(id);
}

void BarrierSplit::form_regions() {
    pieces_.clear();
    regions_.clear();
    group_reads_.clear();
    form_regions(kernel_.body, false);
    for (Region &region : regions_)
        find_upward_exposed_uses(region);
    for (const auto &[list, pieces] : pieces_)
        for (const Piece &piece : pieces)
            if (piece.statement != nullptr)
                add_group_reads(*piece.statement);
}

void BarrierSplit::classify_variables() {
    // Counters of loops around barriers, and results of group functions that are the same for all.
    const auto walk = [&](const auto &self, const std::vector<ir::Statement> &list) -> void {
        for (const ir::Statement &statement : list) {
            if (statement.act == ir::Act::for_ && group_statements_.contains(&statement) &&
                group_assignable_.contains(statement.id))
                shared_.insert(statement.id);
            self(self, statement.body);
            self(self, statement.otherwise);
        }
    };
    walk(walk, kernel_.body);
    for (const ir::VariableId id : group_results_)
        if (group_assignable_.contains(id))
            shared_.insert(id);

    Variables live_across;
    for (bool changed = true; changed;) {
        changed = false;
        form_regions();
        live_across = group_results_;
        live_across.insert(group_reads_.begin(), group_reads_.end());
        for (const Region &region : regions_)
            live_across.insert(region.upward_exposed.begin(), region.upward_exposed.end());
        for (const ir::VariableId id : live_across)
            if (group_assignable_.contains(id) && shared_.insert(id).second)
                changed = true;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (const ir::VariableId id : live_across) {
            const auto found = definitions_.find(id);
            if (found != definitions_.end() && !shared_.contains(id) && outside_loops_[id] &&
                can_rematerialise(*found->second, rematerialised_))
                changed |= rematerialised_.insert(id).second;
        }
        // Variables computed from recomputed ones, also if they do not cross a barrier.
        for (const auto &[id, definition] : definitions_)
            if (!rematerialised_.contains(id) && !shared_.contains(id) && outside_loops_[id] &&
                can_rematerialise(*definition, rematerialised_))
                changed |= rematerialised_.insert(id).second;
    }
    for (const ir::VariableId id : live_across) {
        const bool is_parameter = kernel_.variables[id].parameter.has_value();
        if (!shared_.contains(id) && !rematerialised_.contains(id) && !is_parameter)
            context_saved_.insert(id);
    }
}

void BarrierSplit::find_context_arrays() {
    for (ir::RootId root = 0; root < kernel_.roots.size(); ++root) {
        if (kernel_.roots[root].type.space != Space::private_)
            continue;
        bool uses = false;
        const auto look_at = [&](const ir::Statement &statement) {
            uses |= statement.act == ir::Act::store && statement.id == root;
            for (const ir::Expression &expression : statement.expressions)
                ir::for_each_within(expression, [&](const ir::Expression &each) {
                    uses |=
                        (each.op == ir::Op::load || each.op == ir::Op::atomic) && each.id == root;
                    uses |= std::ranges::find(each.roots, root) != each.roots.end();
                });
        };
        for (const auto &[list, pieces] : pieces_)  // conditions that the group evaluates
            for (const Piece &piece : pieces)
                if (piece.statement != nullptr)
                    look_at(*piece.statement);
        bool again = uses;
        std::size_t used_in = 0;
        for (Region &region : regions_) {
            uses = false;
            for (const ir::Statement *statement : region.row) {
                look_at(*statement);
                ir::for_each_statement(statement->body, look_at);
                ir::for_each_statement(statement->otherwise, look_at);
            }
            if (uses)
                region.private_arrays.insert(root);
            used_in += uses;
            again |= uses && region.in_loop;
        }
        if (used_in > 1 || again)
            context_arrays_.insert(root);
    }
}

void BarrierSplit::find_early_returns() {
    bool returned = false;
    for (const Region &region : regions_) {
        returns_early_ |= returned;
        const auto look = [&](const ir::Statement &statement) {
            returned |= statement.act == ir::Act::return_;
        };
        for (const ir::Statement *statement : region.row) {
            look(*statement);
            ir::for_each_statement(statement->body, look);
            ir::for_each_statement(statement->otherwise, look);
        }
    }
}

}  // namespace entrepot::kernel
