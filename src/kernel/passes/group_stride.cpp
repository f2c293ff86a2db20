// Loop interchange in work-groups: finds the strided loops of a group and rewrites them.
#include "kernel/passes/group_stride.hpp"

#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/definitions.hpp"
#include "kernel/passes/uniform.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

// Sums with a step do not overflow: a loop that comes near the end of int64 by such steps does not
// end. The sizes of a launch are no larger.
constexpr std::int64_t max_step = std::int64_t{1} << 20;
// The body is written twice, so long ones are left as they are.
constexpr int max_statements = 60;

const Type int64 = scalar_type(dtypes::int64);

bool is_index(const Expression &expression, const char *text) {
    return expression.op == Op::index && expression.text == text && expression.number == 0;
}

bool is_size(const Expression &expression) {
    return is_index(expression, "local_size") || is_index(expression, "global_size");
}

Expression index(const char *text, Position at) {
    Expression made = build::of(Op::index, int64, at, {});
    made.text = text;
    return made;
}

// True if the body has a `break` or `continue` of this loop, not of an inner one.
bool has_own(Act act, const std::vector<Statement> &list) {
    return std::ranges::any_of(list, [&](const Statement &each) {
        return each.act == act || (!ir::is_loop(each) && has_own(act, each.body)) ||
               has_own(act, each.otherwise);
    });
}

class Interchange {
public:
    // `given`: a copy of the module, which stays as it is.
    Interchange(const ir::Module &given, ir::Function &kernel)
        : given_(given.kernel()), kernel_(kernel), uniformity_(given, given_, Among::group),
          definitions_(given_) {
        uniformity_.for_each_statement(
            [&](const Statement &statement, const Divergence &divergence) {
                if (!divergence && statement.act == Act::for_)
                    uniform_.insert(&statement);
            });
    }

    // `list`: the copy of `original` that is rewritten.
    void rewrite(const std::vector<Statement> &original, std::vector<Statement> &list) {
        std::vector<Statement> result;
        for (std::size_t i = 0; i < original.size(); ++i) {
            const std::optional<Expression> start = common_start(original[i]);
            if (start) {
                add_interchanged(list[i], *start, result);
                continue;
            }
            rewrite(original[i].body, list[i].body);
            rewrite(original[i].otherwise, list[i].otherwise);
            result.push_back(std::move(list[i]));
        }
        list = std::move(result);
    }

private:
    // Returns: the start of the group's first work-item, from which those of the others count up;
    //   nullopt if the loop is not interchanged.
    std::optional<Expression> common_start(const Statement &loop) const {
        if (!uniform_.contains(&loop) || given_.variables[loop.id].type.dtype != dtypes::int64 ||
            has_own(Act::break_, loop.body))
            return std::nullopt;
        int statements = 0;
        bool excluded = false;
        ir::for_each_statement(loop.body, [&](const Statement &each) {
            ++statements;
            excluded |=
                each.act == Act::barrier || ir::is_group_function(each) || each.act == Act::return_;
        });
        const Expression &stop = loop.expressions[1], &step = loop.expressions[2];
        if (excluded || statements > max_statements || uniformity_.is_divergent(stop) ||
            !is_positive_and_common(step))
            return std::nullopt;
        return start_of_group(loop.expressions[0]);
    }

    bool is_positive_and_common(const Expression &step) const {
        const std::optional<Expression> resolved = definitions_.resolved(step);
        if (!resolved)
            return false;
        const std::optional<std::int64_t> constant = build::constant_of(*resolved);
        return (constant && 0 < *constant && *constant <= max_step) || is_size(*resolved);
    }

    std::optional<Expression> start_of_group(const Expression &start) const {
        const std::optional<Expression> resolved = definitions_.resolved(start);
        if (resolved && is_index(*resolved, "local_id"))
            return build::integer(0, start.at);
        if (resolved && is_index(*resolved, "global_id"))
            return build::product(index("group_id", start.at), index("local_size", start.at));
        if (start.op != Op::add)
            return std::nullopt;
        for (const std::size_t side : {0, 1}) {
            const Expression &common = start.operands[1 - side];
            if (uniformity_.is_divergent(common))
                continue;
            if (const auto other = start_of_group(start.operands[side]))
                return build::sum(*other, common);
        }
        return std::nullopt;
    }

    Expression new_variable(const std::string &name, Expression value,
                            std::vector<Statement> &result) {
        const Position at = value.at;
        const auto id = static_cast<ir::VariableId>(kernel_.variables.size());
        kernel_.variables.push_back({name, int64, at, {}});
        result.push_back(build::assignment(id, std::move(value)));
        return build::variable(id, int64, at);
    }

    // A loop of one round, so that a `continue` within it ends the statements.
    Statement once(std::vector<Statement> statements, Position at) {
        Statement loop;
        loop.act = Act::for_;
        loop.at = at;
        loop.id = static_cast<ir::VariableId>(kernel_.variables.size());
        kernel_.variables.push_back({"round", int64, at, {}});
        loop.expressions = {build::integer(0, at), build::integer(1, at), build::integer(1, at)};
        loop.body = std::move(statements);
        return loop;
    }

    // D: distance from the first work-item's start to the stop. L: local size. A loop over offsets
    // runs while D >= offset + L, for all work-items. Those below D then do what is left.
    void add_interchanged(Statement &loop, const Expression &start,
                          std::vector<Statement> &result) {
        const Position at = loop.at;
        const Expression first = new_variable("first", start, result);
        const Expression step = new_variable("step", loop.expressions[2], result);
        const Expression distance = new_variable(
            "distance", build::difference(build::greater(loop.expressions[1], first), first),
            result);
        const Expression size = index("local_size", at), item = index("local_id", at);
        const auto body_at = [&](const Expression &offset) {
            std::vector<Statement> body = loop.body;
            if (has_own(Act::continue_, body))
                body = {once(std::move(body), at)};
            body.insert(body.begin(),
                        build::assignment(loop.id, build::sum(build::sum(first, offset), item)));
            return body;
        };

        Statement rounds = loop;
        rounds.id = static_cast<ir::VariableId>(kernel_.variables.size());
        kernel_.variables.push_back({"offset", int64, at, {}});
        rounds.expressions = {build::integer(0, at),
                              build::sum(build::difference(distance, size), build::integer(1, at)),
                              step};
        rounds.body = body_at(build::variable(rounds.id, int64, at));
        Statement barrier;
        barrier.act = Act::barrier;
        barrier.at = at;
        rounds.body.insert(rounds.body.begin(), std::move(barrier));
        result.push_back(std::move(rounds));

        const Expression below = build::greater(build::sum(build::difference(distance, size), step),
                                                build::integer(0, at));
        const Expression rest = new_variable(
            "rest", build::product(build::of(Op::truncate_divide, int64, at, {below, step}), step),
            result);
        Statement remaining;
        remaining.at = at;
        remaining.inlined = loop.inlined;
        const std::optional<Expression> size_of_step = definitions_.resolved(loop.expressions[2]);
        if (size_of_step && is_size(*size_of_step)) {  // at least L: one iteration at most is left
            remaining.act = Act::if_;
            remaining.expressions = {build::of(Op::less, scalar_type(dtypes::boolean), at,
                                               {build::sum(rest, item), distance})};
            remaining.body = body_at(rest);
        } else {
            remaining.act = Act::for_;
            remaining.id = static_cast<ir::VariableId>(kernel_.variables.size());
            kernel_.variables.push_back({"place", int64, at, {}});
            remaining.expressions = {build::sum(rest, item), distance, step};
            remaining.body = loop.body;
            remaining.body.insert(
                remaining.body.begin(),
                build::assignment(loop.id,
                                  build::sum(first, build::variable(remaining.id, int64, at))));
        }
        result.push_back(std::move(remaining));
    }

    const ir::Function &given_;
    ir::Function &kernel_;
    Uniformity uniformity_;
    const Definitions definitions_;
    std::set<const Statement *> uniform_;  // loops that all work-items of a group execute
};

}  // namespace

void interchange_group_strides(ir::Module &module) {
    if (module.debug || module.prints || ir::has_private_arrays(module.kernel()))
        return;
    const ir::Module given = module;
    Interchange(given, module.kernel()).rewrite(given.kernel().body, module.kernel().body);
}

}  // namespace entrepot::kernel
