// Inlines device functions that the work-items of a group run together. These have a barrier, a
// group function, local memory or an accumulator, or call a tile operation. Barriers are checked
// within the kernel, and the host splits the kernel at them.
#include "kernel/ir/build.hpp"
#include "kernel/ir/module.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Statement;
using Block = std::vector<Statement>;

bool has_barrier_or_local_memory(const ir::Module &module, const ir::Function &function) {
    bool found = std::ranges::any_of(function.roots, [](const ir::Root &root) {
        const bool is_of_group = root.type.space == Space::local || !root.type.tile.empty();
        return is_of_group && !root.parameter;
    });
    ir::for_each_statement(function.body, [&](const Statement &statement) {
        found = found || statement.act == Act::barrier || ir::is_group_function(statement) ||
                ir::is_tile_operation(module, statement);
    });
    return found;
}

bool returns_within(const Statement &statement) {
    bool found = false;
    const std::span only(&statement, 1);
    ir::for_each_statement(
        only, [&](const Statement &each) { found = found || each.act == Act::return_; });
    return found;
}

bool always_returns(const Block &block) {
    return std::ranges::any_of(block, [](const Statement &statement) {
        return statement.act == Act::return_ ||
               (statement.act == Act::if_ && always_returns(statement.body) &&
                always_returns(statement.otherwise));
    });
}

// Call chain of a statement of a callee, preceded by the call chain of the callee.
std::shared_ptr<const ir::Inlined> extended(const std::shared_ptr<const ir::Inlined> &inner,
                                            const std::shared_ptr<const ir::Inlined> &outer) {
    if (!inner)
        return outer;
    return std::make_shared<const ir::Inlined>(
        ir::Inlined{inner->source, inner->called_at, extended(inner->caller, outer)});
}

// The body of one callee, prepared to replace one call.
class InlinedBody {
public:
    InlinedBody(const ir::Function &callee, ir::Function &caller, const Statement &call)
        : callee_(callee), caller_(caller), call_(call),
          inlined_(
              std::make_shared<const ir::Inlined>(ir::Inlined{callee.source, call.at, nullptr})) {
        for (const ir::Variable &variable : caller.variables)
            taken_.insert(variable.name);
        for (const ir::Root &root : caller.roots)
            taken_.insert(root.name);
    }

    Block built() {
        Block statements = bind_parameters();
        Block body = callee_.body;
        ir::for_each_statement(body, [&](Statement &statement) { rename(statement); });
        Block finished = without_returns(std::move(body));
        std::ranges::move(finished, std::back_inserter(statements));
        return statements;
    }

private:
    // Turns parameters into variables. Parameters that never change and arrays are replaced by the
    // caller's instead.
    Block bind_parameters() {
        std::set<ir::VariableId> assigned;
        ir::for_each_statement(callee_.body, [&](const Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                assigned.insert(id);
        });
        const Expression &call = call_.expressions[0];
        Block statements;
        for (ir::VariableId id = 0; id < callee_.variables.size(); ++id)
            if (!callee_.variables[id].parameter)
                variables_[id] = new_variable(callee_.variables[id]);
        for (ir::RootId id = 0; id < callee_.roots.size(); ++id)
            if (!callee_.roots[id].parameter)
                roots_[id] = new_root(callee_.roots[id]);
        for (std::size_t next = 0; const ir::RootId id : ir::parameters_in_order(callee_.roots))
            roots_[id] = call.roots[next++];
        for (std::size_t next = 0;
             const ir::VariableId id : ir::parameters_in_order(callee_.variables)) {
            const Expression &value = call.operands[next++];
            if (build::is_invariant(value) && !assigned.contains(id)) {
                values_[id] = value;
                continue;
            }
            Statement assignment;
            assignment.act = Act::assign;
            assignment.at = call_.at;
            assignment.id = variables_[id] = new_variable(callee_.variables[id]);
            assignment.expressions = {value};
            statements.push_back(std::move(assignment));
        }
        return statements;
    }

    ir::VariableId new_variable(ir::Variable variable) {
        variable.name = ir::unique_name(variable.name, taken_);
        variable.parameter.reset();
        caller_.variables.push_back(std::move(variable));
        return static_cast<ir::VariableId>(caller_.variables.size() - 1);
    }

    ir::RootId new_root(ir::Root root) {
        root.name = ir::unique_name(root.name, taken_);
        root.inlined = extended(root.inlined, inlined_);
        caller_.roots.push_back(std::move(root));
        return static_cast<ir::RootId>(caller_.roots.size() - 1);
    }

    void rename(Statement &statement) {
        statement.inlined = extended(statement.inlined, inlined_);
        if (statement.act == Act::assign || statement.act == Act::for_)
            statement.id = variables_.at(statement.id);
        if (statement.act == Act::store)
            statement.id = roots_.at(statement.id);
        for (ir::VariableId &id : statement.ids)
            id = variables_.at(id);
        for (Expression &expression : statement.expressions) {
            ir::for_each_within(expression, [&](Expression &each) { rename(each); });
            simplify(expression);
        }
    }

    void rename(Expression &expression) {
        if (expression.indices) {
            auto indices = std::make_shared<std::vector<Expression>>(*expression.indices);
            for (Expression &index : *indices)
                ir::for_each_within(index, [&](Expression &each) { rename(each); });
            expression.indices = std::move(indices);
        }
        if (expression.op == ir::Op::load || expression.op == ir::Op::atomic)
            expression.id = roots_.at(expression.id);
        for (ir::RootId &root : expression.roots)
            root = roots_.at(root);
        if (expression.op != ir::Op::variable)
            return;
        if (const auto value = values_.find(expression.id); value != values_.end())
            expression = value->second;
        else
            expression.id = variables_.at(expression.id);
    }

    // Simplifies sums and products with substituted parameters, such as an offset of 0.
    static void simplify(Expression &expression) {
        std::ranges::for_each(expression.operands, simplify);
        const bool may_be =
            expression.type == scalar_type(dtypes::int64) && expression.operands.size() == 2;
        auto indices = std::move(expression.indices);
        if (may_be && expression.op == ir::Op::add)
            expression = build::sum(expression.operands[0], expression.operands[1]);
        else if (may_be && expression.op == ir::Op::multiply)
            expression = build::product(expression.operands[0], expression.operands[1]);
        expression.indices = std::move(indices);
    }

    // Replaces returns by assignments to the targets of the call. Code after a branch that returns
    // moves into the other branch.
    Block without_returns(Block block) {
        Block result;
        for (std::size_t i = 0; i < block.size(); ++i) {
            Statement &statement = block[i];
            if (statement.act == Act::return_) {
                assign_results(statement, result);
                return result;
            }
            if (!returns_within(statement)) {
                result.push_back(std::move(statement));
                continue;
            }
            Block rest(std::make_move_iterator(block.begin() + static_cast<std::ptrdiff_t>(i) + 1),
                       std::make_move_iterator(block.end()));
            if (statement.act != Act::if_)
                refuse(statement, "a return within a loop");
            const bool then_returns = always_returns(statement.body),
                       else_returns = always_returns(statement.otherwise);
            if (!then_returns && !else_returns && !rest.empty())
                refuse(statement,
                       "a return that some ways through a condition take and others do not");
            Block &other = then_returns ? statement.otherwise : statement.body;
            std::ranges::move(rest, std::back_inserter(other));
            statement.body = without_returns(std::move(statement.body));
            statement.otherwise = without_returns(std::move(statement.otherwise));
            result.push_back(std::move(statement));
            return result;
        }
        return result;
    }

    void assign_results(const Statement &returned, Block &result) const {
        const std::vector<ir::VariableId> targets =
            call_.act == Act::evaluate ? std::vector<ir::VariableId>{} : ir::assigned_by(call_);
        for (std::size_t i = 0; i < targets.size(); ++i) {
            Statement assignment;
            assignment.act = Act::assign;
            assignment.at = returned.at;
            assignment.inlined = returned.inlined;
            assignment.id = targets[i];
            assignment.expressions = {returned.expressions[i]};
            result.push_back(std::move(assignment));
        }
    }

    [[noreturn]] void refuse(const Statement &statement, const std::string &what) const {
        throw CompileError({&caller_, statement.inlined.get(), statement.at},
                           what + " cannot be in `" + callee_.name +
                               "`, which has a barrier, a group function or local memory and is "
                               "therefore put in the place of "
                               "its call; return at its end");
    }

    const ir::Function &callee_;
    ir::Function &caller_;
    const Statement &call_;
    const std::shared_ptr<const ir::Inlined> inlined_;
    std::map<ir::VariableId, ir::VariableId> variables_;
    std::map<ir::VariableId, Expression> values_;
    std::map<ir::RootId, ir::RootId> roots_;
    std::set<std::string> taken_;
};

void inline_calls(const ir::Module &module, ir::Function &caller, Block &block,
                  const std::vector<bool> &must_inline) {
    Block result;
    for (Statement &statement : block) {
        inline_calls(module, caller, statement.body, must_inline);
        inline_calls(module, caller, statement.otherwise, must_inline);
        const bool calls =
            !statement.expressions.empty() && statement.expressions[0].op == ir::Op::call;
        if (calls && must_inline[statement.expressions[0].id])
            std::ranges::move(
                InlinedBody(module.functions[statement.expressions[0].id], caller, statement)
                    .built(),
                std::back_inserter(result));
        else
            result.push_back(std::move(statement));
    }
    block = std::move(result);
}

}  // namespace

void inline_barrier_functions(ir::Module &module) {
    std::vector<bool> must_inline(module.functions.size());
    for (std::size_t i = 0; i < module.functions.size(); ++i) {
        ir::Function &function = module.functions[i];
        inline_calls(module, function, function.body, must_inline);
        must_inline[i] = has_barrier_or_local_memory(module, function);
    }
}

}  // namespace entrepot::kernel
