// Thread coarsening. The kernel's statements are repeated for each work-item of a thread, with
// variables and ids of its own. Barriers, and loops that are the same for the whole group, are not
// repeated: the work-items pass through them together (unroll-and-jam).
#include "kernel/passes/coarsen.hpp"

#include "kernel/ir/build.hpp"
#include "kernel/ir/module.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/uniform.hpp"
#include <entrepot/core/assert.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

// Larger kernels have enough independent work for a thread, and need the registers for it.
constexpr int max_coarsened_operations = 64;
constexpr int max_coarsened_group_operations = 256;

const Type boolean = scalar_type(dtypes::boolean);

bool is_id_along_first(const Expression &expression) {
    return expression.op == Op::index && expression.number == 0 &&
           (expression.text == "global_id" || expression.text == "local_id");
}

// Functions such as exp() keep the processor busy, so that loads need not overlap.
bool is_expensive(const Expression &expression) {
    constexpr std::string_view cheap[] = {"abs", "copysign", "floor", "fma", "max", "min"};
    return expression.op == Op::power ||
           (expression.op == Op::math &&
            std::ranges::find(cheap, expression.text) == std::end(cheap));
}

// Work-items of a thread cannot wait for each other, as they may do by atomics and fences. The
// sub-groups would have other work-items, and lines that print another order.
bool keeps_meaning(const ir::Module &module) {
    bool keeps = true;
    const auto check_expression = [&](const Expression &each) {
        keeps &= each.op != Op::atomic && each.op != Op::group && !ir::is_check(each) &&
                 !(each.op == Op::index && each.text.find("sub_group") != each.text.npos);
    };
    for (const ir::Function &function : module.functions) {
        const bool is_kernel = &function == &module.kernel();
        ir::for_each_expression(function.body, [&](const Expression &each) {
            check_expression(each);
            keeps &= is_kernel || each.op != Op::index;
        });
        ir::for_each_statement(function.body, [&](const Statement &each) {
            keeps &= each.act != Act::print && each.act != Act::fence &&
                     !(each.act == Act::barrier && each.scope != ir::Scope::work_group);
            for (const ir::VariableId id : ir::assigned_by(each))
                keeps &= !is_kernel || !function.variables[id].parameter;
        });
    }
    return keeps && !ir::has_private_arrays(module.kernel());
}

int count_operations(const ir::Module &module) {
    int count = 0;
    for (const ir::Function &function : module.functions)
        ir::for_each_expression(function.body, [&](const Expression &) { ++count; });
    return count;
}

bool is_guard(const Statement &statement) {
    return statement.act == Act::if_ && statement.otherwise.empty() && statement.body.size() == 1 &&
           statement.body[0].act == Act::return_;
}

// True if only guards return, such as `if i >= n: return` outside of other conditions.
bool returns_by_guards_only(const std::vector<Statement> &body) {
    std::size_t returns = 0, guards = 0;
    ir::for_each_statement(body,
                           [&](const Statement &each) { returns += each.act == Act::return_; });
    for (const Statement &statement : body)
        guards += is_guard(statement);
    return returns == guards;
}

bool is_short_and_cheap(const ir::Module &module) {
    bool is_cheap = count_operations(module) <= max_coarsened_operations;
    for (const ir::Function &function : module.functions) {
        ir::for_each_statement(function.body,
                               [&](const Statement &each) { is_cheap &= !ir::is_loop(each); });
        ir::for_each_expression(function.body,
                                [&](const Expression &each) { is_cheap &= !is_expensive(each); });
    }
    return is_cheap;
}

// True if loops load elements of local memory that do not depend on a work-item's place along the
// first dimension.
bool shares_local_loads(const ir::Function &kernel) {
    std::set<ir::VariableId> dependent;
    const auto depends = [&](const Expression &expression) {
        bool found = false;
        ir::for_each_within(expression, [&](const Expression &each) {
            found |=
                is_id_along_first(each) || (each.op == Op::variable && dependent.contains(each.id));
        });
        return found;
    };
    std::size_t before = 0;
    do {
        before = dependent.size();
        ir::for_each_statement(kernel.body, [&](const Statement &each) {
            if (std::ranges::any_of(each.expressions, depends))
                for (const ir::VariableId id : ir::assigned_by(each))
                    dependent.insert(id);
        });
    } while (dependent.size() != before);
    bool shares = false;
    ir::for_each_statement(kernel.body, [&](const Statement &loop) {
        if (!ir::is_loop(loop) || ir::has_barrier(loop))
            return;
        ir::for_each_expression(loop.body, [&](const Expression &each) {
            shares |= each.op == Op::load && kernel.roots[each.id].type.space == Space::local &&
                      !depends(each.operands[0]);
        });
    });
    return shares;
}

class Coarsening {
public:
    explicit Coarsening(ir::Module &module)
        : module_(module), kernel_(module.kernel()), uniformity_(module, kernel_, Among::group),
          copies_(coarsened_items) {}

    void run() {
        if (module_.has_barriers)
            kernel_.body = jammed(kernel_.body);
        else
            kernel_.body = guarded(without_guards(std::move(kernel_.body)));
        module_.items_per_thread = coarsened_items;
        ir::make_names_unique(module_);
    }

private:
    // Puts the statements after `if condition: return` into the opposite condition.
    static std::vector<Statement> without_guards(std::vector<Statement> list) {
        const auto guard = std::ranges::find_if(list, is_guard);
        if (guard == list.end())
            return list;
        std::vector<Statement> after(std::make_move_iterator(guard + 1),
                                     std::make_move_iterator(list.end()));
        Expression &condition = guard->expressions[0];
        const Type type = condition.type;
        const Position at = condition.at;
        condition = build::of(Op::logic_not, type, at, {std::move(condition)});
        guard->body = without_guards(std::move(after));
        list.erase(guard + 1, list.end());
        return list;
    }

    // The launch may have been rounded up, so that each work-item asks whether it exists. If all of
    // them do, the compiler may move their loads together.
    std::vector<Statement> guarded(const std::vector<Statement> &list) {
        const auto conditional = std::ranges::find_if_not(list, is_pure_assignment);
        std::span<const Statement> body(conditional, list.end());
        const Expression *condition = nullptr;  // of the whole body
        if (body.size() == 1 && body[0].act == Act::if_ && body[0].otherwise.empty() &&
            !build::reads_memory(body[0].expressions[0])) {
            condition = &body[0].expressions[0];
            body = body[0].body;
        }
        std::vector<Statement> result;
        for (std::uint32_t item = 0; item < coarsened_items; ++item)
            for (auto each = list.begin(); each != conditional; ++each)
                result.push_back(copied(*each, item));
        Statement all;
        all.act = Act::if_;
        all.at = body.empty() ? Position{} : body[0].at;
        for (std::uint32_t item = 0; item < coarsened_items; ++item) {
            Statement one;
            one.act = Act::if_;
            one.at = all.at;
            one.expressions = {build::of(Op::less, boolean, all.at,
                                         {global_id(item, all.at), index("global_size", all.at)})};
            if (condition)
                one.expressions = {both(one.expressions[0], copied(*condition, item))};
            all.expressions = {item ? both(all.expressions[0], one.expressions[0])
                                    : one.expressions[0]};
            for (const Statement &each : body)
                one.body.push_back(copied(each, item));
            all.body.insert(all.body.end(), one.body.begin(), one.body.end());
            all.otherwise.push_back(std::move(one));
        }
        result.push_back(std::move(all));
        return result;
    }

    static bool is_pure_assignment(const Statement &statement) {
        return statement.act == Act::assign && !build::reads_memory(statement.expressions[0]);
    }

    static Expression both(const Expression &a, const Expression &b) {
        return build::of(Op::logic_and, boolean, a.at, {a, b});
    }

    // The work-items of a group reach a barrier and jump along the same path. So the first one's
    // condition holds for all.
    std::vector<Statement> jammed(const std::vector<Statement> &list) {
        std::vector<Statement> result;
        for (const Statement &each : list) {
            const bool is_jump = each.act == Act::break_ || each.act == Act::continue_;
            if (is_jump || each.act == Act::barrier) {
                result.push_back(each);
            } else if (ir::has_barrier(each) || is_common_loop(each) || jumps_out(each)) {
                Statement common = each;
                for (Expression &expression : common.expressions) {
                    ENTREPOT_ASSERT(!uniformity_.is_divergent(expression));
                    expression = copied(expression, 0);
                }
                if (common.act == Act::for_)
                    common_.insert(common.id);
                common.body = jammed(each.body);
                common.otherwise = jammed(each.otherwise);
                result.push_back(std::move(common));
            } else {
                for (std::uint32_t item = 0; item < coarsened_items; ++item)
                    result.push_back(copied(each, item));
            }
        }
        return result;
    }

    bool is_common_loop(const Statement &statement) const {
        return statement.act == Act::for_ && !jumps_within(statement.body) &&
               std::ranges::none_of(statement.expressions, [&](const Expression &each) {
                   return uniformity_.is_divergent(each);
               });
    }

    static bool jumps_within(const std::vector<Statement> &list) {
        return std::ranges::any_of(list, jumps_out);
    }

    // True if the statement leaves or continues a loop around it.
    static bool jumps_out(const Statement &statement) {
        return statement.act == Act::break_ || statement.act == Act::continue_ ||
               (statement.act == Act::if_ &&
                (jumps_within(statement.body) || jumps_within(statement.otherwise)));
    }

    Statement copied(const Statement &statement, std::uint32_t item) {
        Statement copy = statement;
        if (copy.act == Act::assign || copy.act == Act::for_)
            copy.id = own(copy.id, item);
        for (ir::VariableId &id : copy.ids)
            id = own(id, item);
        for (Expression &expression : copy.expressions)
            expression = copied(expression, item);
        for (auto *list : {&copy.body, &copy.otherwise})
            for (Statement &each : *list)
                each = copied(each, item);
        return copy;
    }

    Expression copied(Expression expression, std::uint32_t item) {
        for (Expression &operand : expression.operands)
            operand = copied(std::move(operand), item);
        if (expression.op == Op::variable)
            expression.id = own(expression.id, item);
        if (expression.op != Op::index || expression.number != 0)
            return expression;
        const Position at = expression.at;
        if (expression.text == "local_id")
            return local_id(item, at);
        if (expression.text == "global_id")
            return global_id(item, at);
        const bool is_size = expression.text == "local_size" ||
                             (expression.text == "global_size" && module_.uses_groups);
        return is_size ? build::product(std::move(expression), items(at)) : expression;
    }

    // The item's own variable; the first one has the original.
    ir::VariableId own(ir::VariableId id, std::uint32_t item) {
        if (item == 0 || kernel_.variables[id].parameter || common_.contains(id))
            return id;
        const auto [found, is_new] = copies_[item].try_emplace(id, 0);
        if (is_new) {
            found->second = static_cast<ir::VariableId>(kernel_.variables.size());
            kernel_.variables.push_back(ir::Variable(kernel_.variables[id]));
        }
        return found->second;
    }

    // An index of the thread, as CUDA's threadIdx, blockIdx and blockDim are.
    static Expression index(const char *text, Position at) {
        Expression expression = build::of(Op::index, scalar_type(dtypes::int64), at, {});
        expression.text = text;
        return expression;
    }

    static Expression items(Position at) { return build::integer(coarsened_items, at); }

    // Work-items of a thread are apart by the number of threads, so that those of neighboring
    // threads are neighbors.
    static Expression local_id(std::uint32_t item, Position at) {
        return fitting(build::sum(index("local_id", at), build::product(index("local_size", at),
                                                                        build::integer(item, at))));
    }

    static Expression global_id(std::uint32_t item, Position at) {
        Expression size = build::product(index("local_size", at), items(at));
        return fitting(
            build::sum(build::product(index("group_id", at), std::move(size)), local_id(item, at)));
    }

    static Expression fitting(Expression id) {
        ir::for_each_within(id, [](Expression &each) { each.no_overflow = true; });
        return id;
    }

    ir::Module &module_;
    ir::Function &kernel_;
    const Uniformity uniformity_;
    std::set<ir::VariableId> common_;  // counters of loops that the work-items pass together
    std::vector<std::map<ir::VariableId, ir::VariableId>> copies_;  // by work-item
};

}  // namespace

bool can_coarsen(const ir::Module &module, const Target &target) {
    const bool is_gpu = target.dialect == Dialect::cuda || target.dialect == Dialect::hip;
    if (!is_gpu || target.debug || !keeps_meaning(module))
        return false;
    const ir::Function &kernel = module.kernel();
    if (!module.uses_groups)
        return returns_by_guards_only(kernel.body) && is_short_and_cheap(module);
    bool returns = false;
    ir::for_each_statement(kernel.body,
                           [&](const Statement &each) { returns |= each.act == Act::return_; });
    return module.has_barriers && target.dimensions > 1 && !returns &&
           count_operations(module) <= max_coarsened_group_operations && shares_local_loads(kernel);
}

void coarsen(ir::Module &module) { Coarsening(module).run(); }

}  // namespace entrepot::kernel
