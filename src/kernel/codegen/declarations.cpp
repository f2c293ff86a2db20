// Declarations: chooses where the variables of a block are declared.
#include "kernel/codegen/emitter.hpp"
#include "kernel/ir/walk.hpp"

#include <algorithm>

namespace entrepot::kernel {

const Declarations::Variables &Declarations::touched(const ir::Statement &statement) {
    if (const auto known = touched_.find(&statement); known != touched_.end())
        return known->second;
    Variables found = ir::used_by(statement);
    for (const auto *list : {&statement.body, &statement.otherwise})
        for (const ir::Statement &inner : *list) {
            const Variables &of_inner = touched(inner);
            found.insert(of_inner.begin(), of_inner.end());
        }
    return touched_[&statement] = std::move(found);
}

void Declarations::plan(const ir::Row &row, const Variables &wanted) {
    std::map<const std::vector<ir::Statement> *, Variables> within;
    for (const ir::VariableId id : wanted) {
        const auto touches = [&](const ir::Statement *statement) {
            return touched(*statement).contains(id);
        };
        const auto found = std::find_if(row.begin(), row.end(), touches);
        if (found == row.end())
            continue;
        const ir::Statement &first = **found;
        const bool only = std::none_of(found + 1, row.end(), touches);
        if (only && !ir::used_by(first).contains(id)) {
            const auto in = [&](const std::vector<ir::Statement> &list) {
                return std::any_of(list.begin(), list.end(),
                                   [&](const ir::Statement &inner) { return touches(&inner); });
            };
            if (in(first.body) != in(first.otherwise)) {
                within[in(first.body) ? &first.body : &first.otherwise].insert(id);
                continue;
            }
        }
        const bool reads_itself = std::ranges::any_of(
            first.expressions, [&](const auto &expression) { return ir::reads(expression, id); });
        const bool begins =
            (first.act == ir::Act::assign || (first.act == ir::Act::for_ && only)) &&
            first.id == id;
        if (begins && !reads_itself)
            at_.insert(&first);
        else
            before_[&first].push_back(id);
    }
    for (const auto &[list, variables] : within)
        plan(ir::row_of(*list), variables);
}

const std::vector<ir::VariableId> &Declarations::before(const ir::Statement &statement) const {
    static const std::vector<ir::VariableId> none;
    const auto found = before_.find(&statement);
    return found == before_.end() ? none : found->second;
}

void Declarations::clear() {
    touched_.clear();
    before_.clear();
    at_.clear();
}

}  // namespace entrepot::kernel
