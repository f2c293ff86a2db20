// Loop interchange: finds grid-stride loops whose iterations are independent.
#include "kernel/passes/grid_stride.hpp"

#include "kernel/ir/build.hpp"
#include "kernel/passes/definitions.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Op;
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

// True if the offset differs between any two iterations. It is then the loop's counter with a
// factor and a summand that are the same in all of them.
class Injective {
public:
    explicit Injective(const Statement &loop) : loop_(loop) {
        ir::for_each_statement(loop.body, [&](const Statement &each) {
            for (const ir::VariableId id : ir::assigned_by(each))
                assigned_.insert(id);
        });
    }

    bool operator()(const ir::Expression &offset) const {
        const auto &operands = offset.operands;
        switch (offset.op) {
        case Op::variable:
            return offset.id == loop_.id;
        case Op::add:
            return ((*this)(operands[0]) && is_common(operands[1])) ||
                   ((*this)(operands[1]) && is_common(operands[0]));
        case Op::multiply:
            return ((*this)(operands[0]) && is_factor(operands[1])) ||
                   ((*this)(operands[1]) && is_factor(operands[0]));
        default:
            return false;
        }
    }

private:
    bool is_common(const ir::Expression &value) const {
        return !build::reads_memory(value) && has_no_effect(value) &&
               std::ranges::none_of(ir::read_by(value), [&](ir::VariableId id) {
                   return id == loop_.id || assigned_.contains(id);
               });
    }

    // An extent or stride of 0 leaves no two elements.
    static bool is_factor(const ir::Expression &value) {
        return build::constant_of(value) ? build::constant_of(value) != 0
                                         : value.op == Op::extent || value.op == Op::stride;
    }

    const Statement &loop_;
    std::set<ir::VariableId> assigned_;
};

// True if iterations write different elements and read none that another one writes.
bool has_separate_elements(const ir::Function &kernel, const Statement &loop) {
    const Injective is_injective(loop);
    std::map<ir::RootId, const ir::Expression *> written;  // and the offset in each iteration
    bool separate = true;
    ir::for_each_statement(loop.body, [&](const Statement &each) {
        switch (each.act) {
        case Act::store: {
            const auto [known, is_new] = written.emplace(each.id, &each.expressions[0]);
            separate &= kernel.roots[each.id].restrict_ &&
                        (is_new ? is_injective(each.expressions[0])
                                : build::same(*known->second, each.expressions[0]));
            break;
        }
        case Act::assign:
        case Act::if_:
        case Act::for_:
        case Act::while_:
        case Act::continue_:
            break;
        default:
            separate = false;
        }
    });
    ir::for_each_expression(loop.body, [&](const ir::Expression &each) {
        separate &= each.op != Op::call && each.op != Op::atomic;
        if (const auto known = written.find(each.id); each.op == Op::load && known != written.end())
            separate &= build::same(*known->second, each.operands[0]);
    });
    return separate;
}

// Those of the definitions that the loop's body uses.
ir::Row used_definitions(const ir::Row &before, const Statement &loop) {
    std::set<ir::VariableId> used;
    for (const Statement &each : loop.body)
        used.merge(ir::used_within(each));
    ir::Row found;
    for (auto each = before.rbegin(); each != before.rend(); ++each)
        if (used.contains((*each)->id)) {
            used.merge(ir::read_by((*each)->expressions[0]));
            found.insert(found.begin(), *each);
        }
    return found;
}

bool reads_item_id(const std::vector<Statement> &body, const ir::Row &before,
                   std::uint32_t dimension) {
    bool found = false;
    ir::for_each_expression(
        body, [&](const ir::Expression &each) { found |= kernel::reads_item_id(each, dimension); });
    return found || std::ranges::any_of(before, [&](const Statement *each) {
               return kernel::reads_item_id(each->expressions[0], dimension);
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
    GridStride found{{row.begin(), row.end() - 1}, &loop, {}, {}, false};
    const bool only_defines = std::ranges::all_of(found.before, [&](const Statement *each) {
        return each->act == Act::assign && definitions.contains(each->id) &&
               definitions.resolved(each->expressions[0]);
    });
    const auto start = definitions.resolved(loop.expressions[0]),
               stop = definitions.resolved(loop.expressions[1]),
               step = definitions.resolved(loop.expressions[2]);
    const bool strides = start && stop && step && is_global_id(*start, dimension) &&
                         !reads_item_id(*stop, dimension) && step->op == Op::index &&
                         step->text == "global_size" && step->number == dimension;
    if (!only_defines || !strides || !has_independent_iterations(loop, found.before))
        return std::nullopt;
    found.stop = *stop;
    found.step = *step;
    found.before = used_definitions(found.before, loop);
    found.has_free_order =
        has_separate_elements(kernel, loop) && !reads_item_id(loop.body, found.before, dimension);
    return found;
}

}  // namespace entrepot::kernel
