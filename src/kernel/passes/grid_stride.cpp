// Loop interchange: finds grid-stride loops whose iterations are independent.
#include "kernel/passes/grid_stride.hpp"

#include "kernel/passes/definitions.hpp"

#include <algorithm>
#include <set>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Statement;

enum class Begins : std::uint8_t { unused, assigned, read };

// The first use of the variable in the statements: `read` if it is one on any path, `assigned` if
// it is one on every path.
Begins first_use(const std::vector<Statement> &list, ir::VariableId id) {
    for (const Statement &statement : list) {
        const bool reads = std::ranges::any_of(
            statement.expressions, [&](const ir::Expression &each) { return ir::reads(each, id); });
        if (reads)
            return Begins::read;
        if (statement.act == Act::for_ && statement.id == id)
            continue;  // its body has a value of the loop's
        const Begins body = first_use(statement.body, id),
                     otherwise = first_use(statement.otherwise, id);
        if (body == Begins::read || otherwise == Begins::read)
            return Begins::read;
        const std::vector<ir::VariableId> assigned = ir::assigned_by(statement);
        const bool assigns = std::ranges::count(assigned, id) != 0;
        if (assigns || (body == Begins::assigned && otherwise == Begins::assigned))
            return Begins::assigned;
    }
    return Begins::unused;
}

// True if iterations of different work-items may alternate: an iteration keeps nothing for the next
// one, and does not leave the loop.
bool has_independent_iterations(const Statement &loop, const ir::Row &before) {
    std::set<ir::VariableId> assigned;
    bool leaves = false;
    ir::for_each_statement(loop.body, [&](const Statement &each) {
        for (const ir::VariableId id : ir::assigned_by(each))
            assigned.insert(id);
        leaves |= each.act == Act::return_ || each.act == Act::break_;
    });
    return !leaves && std::ranges::none_of(assigned, [&](ir::VariableId id) {
        const bool is_used_before = std::ranges::any_of(
            before, [&](const Statement *each) { return ir::used_within(*each).contains(id); });
        return is_used_before || id == loop.id || first_use(loop.body, id) == Begins::read;
    });
}

}  // namespace

std::optional<GridStride> grid_stride(const ir::Module &module, const ir::Row &row,
                                      std::uint32_t dimension) {
    const ir::Function &kernel = module.kernel();
    if (module.debug || module.prints || ir::has_private_arrays(kernel) || row.empty() ||
        row.back()->act != Act::for_)
        return std::nullopt;
    const Statement &loop = *row.back();
    if (kernel.variables[loop.id].type.dtype != dtypes::int64)
        return std::nullopt;
    const Definitions definitions(kernel);
    GridStride found{{row.begin(), row.end() - 1}, &loop, {}, {}};
    const bool only_defines = std::ranges::all_of(found.before, [&](const Statement *each) {
        return each->act == Act::assign && definitions.contains(each->id) &&
               definitions.resolved(each->expressions[0]);
    });
    const auto start = definitions.resolved(loop.expressions[0]),
               stop = definitions.resolved(loop.expressions[1]),
               step = definitions.resolved(loop.expressions[2]);
    const bool strides = start && stop && step && is_global_id(*start, dimension) &&
                         !reads_item_id(*stop, dimension) && step->op == ir::Op::index &&
                         step->text == "global_size" && step->number == dimension;
    if (!only_defines || !strides || !has_independent_iterations(loop, found.before))
        return std::nullopt;
    found.stop = *stop;
    found.step = *step;
    return found;
}

}  // namespace entrepot::kernel
