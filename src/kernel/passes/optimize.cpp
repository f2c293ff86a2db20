#include "kernel/passes/optimize.hpp"

#include "kernel/ir/build.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/narrow.hpp"

#include <algorithm>
#include <set>

namespace entrepot::kernel {

namespace {

// An array that is never written may be read through caches. A single array cannot overlap another
// one.
void infer_restrict(ir::Function &kernel) {
    bool writes = false;
    std::size_t arrays = 0;
    for (const ir::Root &root : kernel.roots)
        if (root.parameter && root.type.space == Space::global) {
            writes |= root.written;
            ++arrays;
        }
    for (ir::Root &root : kernel.roots)
        if (root.parameter && root.type.space == Space::global && (arrays == 1 || !writes))
            root.restrict_ = true;
}

// Loop-invariant code motion for index arithmetic: `a[i * stride + k]` becomes `a[offset + k]`.
class InvariantHoisting {
public:
    explicit InvariantHoisting(ir::Function &function) : function_(function) {}

    void run(std::vector<ir::Statement> &list) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (ir::is_loop(list[i])) {
                std::vector<ir::Statement> before = hoist_from(list[i]);
                const auto added = static_cast<std::ptrdiff_t>(before.size());
                list.insert(list.begin() + static_cast<std::ptrdiff_t>(i),
                            std::make_move_iterator(before.begin()),
                            std::make_move_iterator(before.end()));
                i += static_cast<std::size_t>(added);
            }
            run(list[i].body);
            run(list[i].otherwise);
        }
    }

private:
    // Moves invariants out of a loop; returns the assignments to place before it.
    std::vector<ir::Statement> hoist_from(ir::Statement &loop) {
        changing_.clear();
        const auto changed = [&](const ir::Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                changing_.insert(id);
        };
        changed(loop);
        ir::for_each_statement(loop.body, changed);
        std::vector<ir::Statement> before;
        ir::for_each_statement(loop.body, [&](ir::Statement &statement) {
            if (statement.act == ir::Act::store)
                replace(statement.expressions[0], statement.at, before);
            for (ir::Expression &expression : statement.expressions)
                ir::for_each_within(expression, [&](ir::Expression &each) {
                    if (each.op == ir::Op::load || each.op == ir::Op::atomic)
                        replace(each.operands[0], statement.at, before);
                });
        });
        return before;
    }

    bool is_invariant(const ir::Expression &expression) const {
        switch (expression.op) {
        case ir::Op::constant:
        case ir::Op::extent:
        case ir::Op::stride:
        case ir::Op::index:
            return true;
        case ir::Op::variable:
            return !changing_.contains(expression.id);
        case ir::Op::add:
        case ir::Op::subtract:
        case ir::Op::multiply:
            return expression.type.dtype == dtypes::int64 &&
                   std::ranges::all_of(expression.operands, [&](const ir::Expression &each) {
                       return is_invariant(each);
                   });
        default:
            return false;
        }
    }

    // True for a product of two values that are both known only at run time.
    static bool is_profitable(const ir::Expression &expression) {
        bool found = false;
        ir::for_each_within(expression, [&](const ir::Expression &each) {
            found |= each.op == ir::Op::multiply && each.operands[0].op != ir::Op::constant &&
                     each.operands[1].op != ir::Op::constant;
        });
        return found;
    }

    void replace(ir::Expression &expression, Position at, std::vector<ir::Statement> &before) {
        const bool calculates = expression.op == ir::Op::add || expression.op == ir::Op::subtract ||
                                expression.op == ir::Op::multiply;
        if (!calculates || expression.type.dtype != dtypes::int64)
            return;
        if (!is_invariant(expression) || !is_profitable(expression)) {
            for (ir::Expression &operand : expression.operands)
                replace(operand, at, before);
            return;
        }
        const auto known = std::ranges::find_if(before, [&](const ir::Statement &assignment) {
            return build::same(assignment.expressions[0], expression);
        });
        ir::VariableId id = 0;
        if (known != before.end()) {
            id = known->id;
        } else {
            id = static_cast<ir::VariableId>(function_.variables.size());
            function_.variables.push_back({"offset", expression.type, at, {}});
            ir::Statement assignment;
            assignment.act = ir::Act::assign;
            assignment.at = at;
            assignment.id = id;
            assignment.expressions.push_back(expression);
            before.push_back(std::move(assignment));
        }
        expression = build::variable(id, expression.type, expression.at);
    }

    ir::Function &function_;
    std::set<ir::VariableId> changing_;
};

}  // namespace

void optimize(ir::Module &module, const IntegerTraits &integers) {
    infer_restrict(module.kernel());
    for (ir::Function &function : module.functions)
        InvariantHoisting(function).run(function.body);
    if (integers.narrows)
        narrow_counters(module);
    if (integers.converts_unsigned)
        convert_ids_unsigned(module);
    if (!integers.wraps)
        mark_no_overflow(module);
}

}  // namespace entrepot::kernel
