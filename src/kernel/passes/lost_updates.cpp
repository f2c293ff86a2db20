// Finds lost updates: elements that several work-items read, change and write back without an
// atomic.
#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/check.hpp"
#include "kernel/passes/uniform.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

const Expression &without_conversion(const Expression &value) {
    return value.op == Op::convert ? without_conversion(value.operands[0]) : value;
}

bool is_extremum(const Expression &value) {
    return value.op == Op::math && (value.text == "min" || value.text == "max");
}

// A store whose value is computed from the element itself. In `offset` and `value`, known variables
// have been replaced by their values.
class Update {
public:
    Update(const ir::Module &module, const ir::Function &function, const Uniformity &uniformity,
           const Statement &store, Expression offset, Expression value)
        : function_(function), uniformity_(uniformity), store_(store), offset_(std::move(offset)),
          value_(std::move(value)) {
        if (module.has_barriers)  // a barrier may separate the read from the write
            return;
        ir::for_each_statement(function.body, [&](const Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                if (statement.act == Act::assign)
                    assigned_[id].push_back(&statement.expressions[0]);
        });
    }

    // True if the outcome depends on the number of work-items that execute it, or on their order.
    bool is_lost() const {
        std::set<ir::VariableId> open;
        return reads_element(value_, open) && (is_computed(value_) || others_differ(value_));
    }

    // Python name of the equivalent atomic function; empty if there is no equivalent.
    std::string_view atomic() const {
        const Dtype dtype = function_.roots[store_.id].type.dtype;
        if (is_complex(dtype) || is_boolean(dtype) || (dtype.bits != 32 && dtype.bits != 64))
            return "";
        const Expression *found = &without_conversion(store_.expressions[1]);
        while (found->op == Op::variable && assigned_.contains(found->id))
            found = &without_conversion(*assigned_.at(found->id).back());
        if (is_extremum(*found))
            return found->text;
        switch (found->op) {
        case Op::add:
            return "add";
        case Op::subtract:
            return "sub";
        case Op::bit_and:
            return "and_";
        case Op::bit_or:
            return "or_";
        case Op::bit_xor:
            return "xor";
        default:
            return "";
        }
    }

private:
    bool is_element(const Expression &expression) const {
        return expression.op == Op::load && expression.id == store_.id &&
               (build::same(expression.operands[0], store_.expressions[0]) ||
                build::same(expression.operands[0], offset_));
    }

    bool reads_element(const Expression &expression, std::set<ir::VariableId> &open) const {
        bool found = false;
        ir::for_each_within(expression, [&](const Expression &each) {
            found = found || is_element(each);
            if (const auto values = assigned_.find(each.id);
                each.op == Op::variable && values != assigned_.end() && open.insert(each.id).second)
                for (const Expression *value : values->second)
                    found = found || reads_element(*value, open);
        });
        return found;
    }

    // True unless the operation is idempotent, like `|`.
    bool is_computed(const Expression &expression) const {
        if (is_element(expression) || !uniformity_.is_divergent(expression))
            return false;
        const bool is_idempotent = expression.op == Op::convert || expression.op == Op::select ||
                                   expression.op == Op::bit_and || expression.op == Op::bit_or ||
                                   expression.op == Op::logic_and ||
                                   expression.op == Op::logic_or ||
                                   build::is_comparison(expression.op) || is_extremum(expression);
        return !is_idempotent ||
               std::ranges::any_of(expression.operands,
                                   [&](const Expression &each) { return is_computed(each); });
    }

    bool others_differ(const Expression &expression) const {
        if (is_element(expression))
            return false;
        if (expression.operands.empty())
            return uniformity_.is_divergent(expression);
        return std::ranges::any_of(expression.operands,
                                   [&](const Expression &each) { return others_differ(each); });
    }

    const ir::Function &function_;
    const Uniformity &uniformity_;
    const Statement &store_;
    const Expression offset_, value_;
    std::map<ir::VariableId, std::vector<const Expression *>> assigned_;
};

// ---------------------------------------------------------------- expressions of a launch

// Limit for expressions that are analyzed; larger ones are unknown.
constexpr std::size_t max_nodes = 200;

std::size_t nodes_of(const Expression &expression) {
    std::size_t count = 0;
    ir::for_each_within(expression, [&](const Expression &) { ++count; });
    return count;
}

// True if a launch can calculate the expression for any work-item.
bool is_known(const Expression &expression) {
    return expression.op != Op::variable && expression.op != Op::stride &&
           ir::can_be_evaluated_at_launch(expression) &&
           std::ranges::all_of(expression.operands, is_known);
}

// True if some launch may be able to evaluate the condition.
bool is_decidable_at_launch(const Expression &condition) {
    if (condition.op == Op::logic_and || condition.op == Op::logic_or ||
        condition.op == Op::logic_not)
        return std::ranges::any_of(condition.operands, is_decidable_at_launch);
    return is_known(condition);
}

Expression both(Expression a, Expression b) {
    return build::of(Op::logic_and, scalar_type(dtypes::boolean), a.at,
                     {std::move(a), std::move(b)});
}

Expression either(Expression a, Expression b) {
    return build::of(Op::logic_or, scalar_type(dtypes::boolean), a.at,
                     {std::move(a), std::move(b)});
}

// Negates a condition on integers. Conditions on floats, which may be NaN, are never decided by a
// launch.
Expression negated(const Expression &condition) {
    const auto with = [&](Op op) {
        Expression made = condition;
        made.op = op;
        return made;
    };
    switch (condition.op) {
    case Op::logic_not:
        return condition.operands[0];
    case Op::logic_and:
        return either(negated(condition.operands[0]), negated(condition.operands[1]));
    case Op::logic_or:
        return both(negated(condition.operands[0]), negated(condition.operands[1]));
    case Op::less:
        return with(Op::greater_equal);
    case Op::less_equal:
        return with(Op::greater);
    case Op::greater:
        return with(Op::less_equal);
    case Op::greater_equal:
        return with(Op::less);
    case Op::equal:
        return with(Op::not_equal);
    case Op::not_equal:
        return with(Op::equal);
    default:
        return build::of(Op::logic_not, scalar_type(dtypes::boolean), condition.at, {condition});
    }
}

// ---------------------------------------------------------------- unknown conditions

// Origin of a value. If there are several, the greatest counts.
enum class Origin : std::uint8_t {
    launch,  // constants, arguments, and elements at an index that is the same for all work-items
    ids,     // ids of the work-item
    untracked,  // atomics, sub-groups, or variables that change
    data,       // elements at an index that differs between work-items
};

// Origins of the values of one function.
class Origins {
public:
    using Parameters = std::map<ir::VariableId, Origin>;

    // `parameters`: origins of the arguments at one call of a device function.
    Origins(const ir::Function &function, const Uniformity &uniformity, Parameters parameters)
        : function_(function), uniformity_(uniformity), parameters_(std::move(parameters)) {
        ir::for_each_statement(function.body, [&](const Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                for (const Expression &value : statement.expressions)
                    assigned_[id].push_back(&value);
            if (statement.act == Act::store)
                stored_[statement.id].push_back(&statement.expressions[1]);
        });
    }

    // True if several work-items may well satisfy a condition that no launch can evaluate. False
    // for a comparison by equality with an id, and where the origin cannot be followed.
    bool may_hold_for_many(const Expression &condition) const {
        const auto for_many = [&](const Expression &each) { return may_hold_for_many(each); };
        if (is_calculated(condition))
            return false;
        if (condition.op == Op::logic_and)
            return std::ranges::all_of(condition.operands, [&](const Expression &each) {
                return is_calculated(each) || for_many(each);
            });
        if (condition.op == Op::logic_or)
            return std::ranges::any_of(condition.operands, for_many);
        if (condition.op == Op::logic_not)
            if (const Expression opposite = negated(condition.operands[0]);
                opposite.op != Op::logic_not)
                return for_many(opposite);
        const Origin origin = of(condition);
        return origin == Origin::launch || origin == Origin::data ||
               (origin == Origin::ids && condition.op != Op::equal);
    }

    Origin of(const Expression &expression) const {
        Seen seen;
        return of(expression, seen);
    }

private:
    struct Seen {
        std::set<ir::VariableId> variables;
        std::set<ir::RootId> roots;
    };
    using Values = std::vector<const Expression *>;

    // True for integers, which launches calculate.
    static bool is_calculated(const Expression &condition) {
        bool is_integral = is_known(condition);
        ir::for_each_within(condition, [&](const Expression &each) {
            is_integral &= is_integer(each.type.dtype) || is_boolean(each.type.dtype);
        });
        return is_integral;
    }

    Origin of(const Expression &expression, Seen &seen) const {
        switch (expression.op) {
        case Op::variable:
            return of_variable(expression.id, seen);
        case Op::load:
            return of_element(expression, seen);
        case Op::atomic:  // each element has its own order of work-items
            return is_same_element(expression) ? Origin::untracked : Origin::data;
        default:
            break;
        }
        Origin origin = of_operation(expression);
        for (const Expression &operand : expression.operands)
            origin = std::max(origin, of(operand, seen));
        return origin;
    }

    Origin of_operation(const Expression &expression) const {
        const auto is_global = [&](ir::RootId id) {
            return function_.roots[id].type.space == Space::global;
        };
        switch (expression.op) {
        case Op::index:
            return expression.text.starts_with("sub_group_") ? Origin::untracked
                   : expression.text.ends_with("_id")        ? Origin::ids
                                                             : Origin::launch;
        case Op::call:
            return std::ranges::any_of(expression.roots, is_global) ? Origin::data
                                                                    : Origin::untracked;
        case Op::group:
            return Origin::untracked;
        default:
            return Origin::launch;
        }
    }

    Origin of_variable(ir::VariableId id, Seen &seen) const {
        const auto parameter = parameters_.find(id);
        Origin origin = parameter == parameters_.end() ? Origin::launch : parameter->second;
        const auto values = assigned_.find(id);
        if (values == assigned_.end() || !seen.variables.insert(id).second)
            return origin;
        const bool is_changed = values->second.size() > 1 || parameter != parameters_.end();
        return std::max(
            {origin, of(values->second, seen), is_changed ? Origin::untracked : Origin::launch});
    }

    Origin of_element(const Expression &load, Seen &seen) const {
        const Space space = function_.roots[load.id].type.space;
        if (space == Space::global || space == Space::constant)
            return is_same_element(load) ? Origin::launch : Origin::data;
        const auto values = stored_.find(load.id);
        const bool is_new = values != stored_.end() && seen.roots.insert(load.id).second;
        return std::max(Origin::untracked, is_new ? of(values->second, seen) : Origin::launch);
    }

    Origin of(const Values &values, Seen &seen) const {
        Origin origin = Origin::launch;
        for (const Expression *const value : values)
            origin = std::max(origin, of(*value, seen));
        return origin;
    }

    // True if all work-items access the same element.
    bool is_same_element(const Expression &access) const {
        return access.operands.empty() || !uniformity_.is_divergent(access.operands[0]);
    }

    const ir::Function &function_;
    const Uniformity &uniformity_;
    const Parameters parameters_;
    std::map<ir::VariableId, Values> assigned_;
    std::map<ir::RootId, Values> stored_;
};

// ---------------------------------------------------------------- paths

// Known values, and conditions.
using Values = std::map<ir::VariableId, std::shared_ptr<const Expression>>;

// Collects the updates of arrays in `space` that several work-items may make at once. The
// work-items are those of a group or of the launch. An update has the conditions on its path.
//
// A loop is analyzed in one of two ways. In `Iteration::first` the values of variables in the first
// round are known. In `Iteration::any` only variables that no round changes are known.
class LostUpdates {
public:
    enum class Iteration : std::uint8_t { first, any };

    LostUpdates(const ir::Module &module, Space space, Among among, Iteration round,
                std::uint32_t dimensions, std::vector<LostUpdate> &found)
        : module_(module), space_(space), among_(among), iteration_(round), dimensions_(dimensions),
          found_(found) {}

    void run() {
        const ir::Function &kernel = module_.kernel();
        Values values;
        for (ir::VariableId id = 0; id < kernel.variables.size(); ++id)
            if (const auto place = kernel.variables[id].parameter) {
                Expression argument =
                    build::of(Op::index, kernel.variables[id].type, kernel.variables[id].at, {});
                argument.text = LostUpdate::argument;
                argument.number = *place;
                values[id] = std::make_shared<const Expression>(std::move(argument));
            }
        run(kernel, {}, {}, std::move(values), nullptr, {}, false);
    }

private:
    static constexpr std::size_t max_updates = 32;  // limit on checks by a launch

    // Condition under which a block is left before its end; nullopt: never.
    using Leaves = std::optional<Expression>;

    // A call of a function that is being analyzed. The kernel has a frame as well.
    struct Frame {
        const ir::Function &function;
        const Uniformity &uniformity;
        const Origins &origins;
        // Breaks and returns that only some work-items may reach.
        const std::set<const Statement *> &divergent_exits;
        const Frame *caller;
        Position called_at;
    };

    // `is_divergent`, `parameters` and `values` describe the arguments of the function.
    void run(const ir::Function &function, Uniformity::Variables is_divergent,
             Origins::Parameters parameters, Values values, const Frame *caller, Position called_at,
             bool in_loop) {
        Uniformity uniformity(module_, function, among_, std::move(is_divergent));
        const Origins origins(function, uniformity, std::move(parameters));
        std::set<const Statement *> divergent_exits;
        uniformity.for_each_statement(
            [&](const Statement &statement, const Divergence &divergence) {
                if (divergence && (statement.act == Act::break_ || statement.act == Act::return_))
                    divergent_exits.insert(&statement);
            });
        follow({function, uniformity, origins, divergent_exits, caller, called_at}, function.body,
               values, in_loop);
    }

    Leaves follow(const Frame &frame, const std::vector<Statement> &statements, Values &values,
                  bool in_loop) {
        const std::size_t outer = guards_.size();
        Leaves leaves;
        for (const Statement &statement : statements) {
            if (is_done())
                break;
            const Leaves now = follow(frame, statement, values, in_loop);
            if (!now)
                continue;
            add(frame, negated(*now), in_loop);
            leaves = leaves ? shortened(either(*leaves, *now)) : *now;
        }
        leave(outer);
        return leaves;
    }

    Leaves follow(const Frame &frame, const Statement &statement, Values &values, bool in_loop) {
        for (const Expression &expression : statement.expressions)
            ir::for_each_within(expression, [&](const Expression &each) {
                if (each.op == Op::call)
                    follow_call(frame, each, values, in_loop);
            });
        switch (statement.act) {
        case Act::assign:
            assign(frame, statement, values);
            return std::nullopt;
        case Act::unpack:
            for (const ir::VariableId id : statement.ids)
                values.erase(id);
            return std::nullopt;
        case Act::store:
            look(frame, statement, values, in_loop);
            return std::nullopt;
        case Act::if_:
            return follow_branches(frame, statement, values, in_loop);
        case Act::while_:
        case Act::for_:
            return follow_loop(frame, statement, values);
        case Act::break_:
        case Act::continue_:
        case Act::return_:
            return build::boolean(true, statement.at);
        default:
            return std::nullopt;
        }
    }

    void assign(const Frame &frame, const Statement &statement, Values &values) const {
        Expression value = replaced(frame, statement.expressions[0], values);
        if ((is_known(value) || is_boolean(value.type.dtype)) && nodes_of(value) <= max_nodes)
            values[statement.id] = std::make_shared<const Expression>(std::move(value));
        else
            values.erase(statement.id);
    }

    Leaves follow_branches(const Frame &frame, const Statement &statement, Values &values,
                           bool in_loop) {
        const Expression condition = shortened(replaced(frame, statement.expressions[0], values));
        const auto branch = [&](const std::vector<Statement> &body, const Expression &taken,
                                Values &own) -> Leaves {
            const std::size_t outer = guards_.size();
            add(frame, taken, in_loop);
            const Leaves leaves = follow(frame, body, own, in_loop);
            leave(outer);
            return leaves ? Leaves(shortened(leaves->op == Op::constant ? taken
                                                                        : both(taken, *leaves)))
                          : std::nullopt;
        };
        Values otherwise = values;
        const Leaves then_leaves = branch(statement.body, condition, values);
        const Leaves else_leaves = branch(statement.otherwise, negated(condition), otherwise);
        std::erase_if(values, [&](const auto &each) {
            const auto other = otherwise.find(each.first);
            return other == otherwise.end() ||
                   (each.second != other->second && !build::same(*each.second, *other->second));
        });
        return then_leaves && else_leaves ? Leaves(shortened(either(*then_leaves, *else_leaves)))
               : then_leaves              ? then_leaves
                                          : else_leaves;
    }

    Leaves follow_loop(const Frame &frame, const Statement &loop, Values &values) {
        const bool is_for = loop.act == Act::for_;
        const std::size_t outer = guards_.size();
        Values changed = values;
        forget_assigned(loop, changed);
        add(frame, enters(frame, loop, is_for || iteration_ == Iteration::first ? values : changed),
            true);
        // Later rounds may have fewer work-items.
        if (iteration_ == Iteration::any && has_divergent_exit(frame, loop.body, true))
            guards_.push_back({unknown(loop.at), false, true});
        Values inside = iteration_ == Iteration::first ? values : changed;
        if (is_for) {
            Expression start = replaced(frame, loop.expressions[0], values);
            inside.erase(loop.id);
            if (iteration_ == Iteration::first && is_known(start) && nodes_of(start) <= max_nodes)
                inside[loop.id] = std::make_shared<const Expression>(std::move(start));
        }
        follow(frame, loop.body, inside, true);
        leave(outer);
        values = std::move(changed);
        // A return that all work-items reach together does not affect which of them continue.
        return has_divergent_exit(frame, loop.body, false) ? Leaves(unknown(loop.at))
                                                           : std::nullopt;
    }

    // Condition under which the loop's first round runs.
    static Expression enters(const Frame &frame, const Statement &loop, const Values &values) {
        if (loop.act == Act::while_)
            return shortened(replaced(frame, loop.expressions[0], values));
        const Expression start = replaced(frame, loop.expressions[0], values),
                         stop = replaced(frame, loop.expressions[1], values),
                         step = replaced(frame, loop.expressions[2], values);
        const auto compared = [&](Op op, const Expression &a, const Expression &b) {
            return build::of(op, scalar_type(dtypes::boolean), loop.at, {a, b});
        };
        const Expression upwards = compared(Op::less, start, stop),
                         downwards = compared(Op::greater, start, stop);
        if (const auto by = build::constant_of(step))
            return shortened(*by > 0 ? upwards : downwards);
        if (step.op == Op::index && step.text.ends_with("size"))
            return shortened(upwards);
        const Expression none = build::converted(build::integer(0, loop.at), step.type.dtype);
        return shortened(either(both(compared(Op::greater, step, none), upwards),
                                both(compared(Op::less, step, none), downwards)));
    }

    // True if only some work-items may reach a return, or a break of this loop.
    static bool has_divergent_exit(const Frame &frame, const std::vector<Statement> &statements,
                                   bool by_break) {
        return std::ranges::any_of(statements, [&](const Statement &each) {
            const bool leaves = each.act == Act::return_ || (each.act == Act::break_ && by_break);
            const bool breaks_inside = by_break && !ir::is_loop(each);
            return (leaves && frame.divergent_exits.contains(&each)) ||
                   has_divergent_exit(frame, each.body, breaks_inside) ||
                   has_divergent_exit(frame, each.otherwise, breaks_inside);
        });
    }

    static void forget_assigned(const Statement &loop, Values &values) {
        for (const ir::VariableId id : ir::assigned_by(loop))
            values.erase(id);
        ir::for_each_statement(loop.body, [&](const Statement &each) {
            for (const ir::VariableId id : ir::assigned_by(each))
                values.erase(id);
        });
    }

    void follow_call(const Frame &frame, const Expression &call, const Values &values,
                     bool in_loop) {
        const ir::Function &callee = module_.functions[call.id];
        if (std::ranges::none_of(callee.roots, [&](const ir::Root &root) {
                return root.written && root.type.space == space_;
            }))
            return;
        Uniformity::Variables is_divergent(callee.variables.size());
        Origins::Parameters parameters;
        Values given;
        std::size_t next = 0;
        for (const ir::VariableId id : ir::parameters_in_order(callee.variables)) {
            Expression operand = replaced(frame, call.operands.at(next++), values);
            is_divergent[id] = frame.uniformity.is_divergent(operand);
            parameters[id] = frame.origins.of(operand);
            if (is_known(operand) && nodes_of(operand) <= max_nodes)
                given[id] = std::make_shared<const Expression>(std::move(operand));
        }
        run(callee, std::move(is_divergent), std::move(parameters), std::move(given), &frame,
            call.at, in_loop);
    }

    // Rewrites the expression in terms known to a launch: arguments, extents, ids. The id of an
    // extent is the argument's place.
    static Expression replaced(const Frame &frame, const Expression &expression,
                               const Values &values) {
        if (expression.op == Op::variable)
            if (const auto known = values.find(expression.id); known != values.end())
                return *known->second;
        Expression made = expression;
        if (made.op == Op::extent)
            made.id = frame.function.roots[made.id].parameter.value_or(made.id);
        for (Expression &operand : made.operands)
            operand = replaced(frame, operand, values);
        return made;
    }

    static Expression unknown(Position at) {
        return build::of(Op::atomic, scalar_type(dtypes::boolean), at,
                         {});  // the value differs between work-items and is unknown to launches
    }

    static Expression shortened(Expression condition) {
        return nodes_of(condition) <= max_nodes ? std::move(condition) : unknown(condition.at);
    }

    void add(const Frame &frame, Expression condition, bool in_loop) {
        if (condition.op == Op::logic_and) {
            for (const Expression &operand : condition.operands)
                add(frame, operand, in_loop);
            return;
        }
        const bool is_divergent = frame.uniformity.is_divergent(condition);
        // A comparison by equality may choose another round than the first.
        const bool chooses_round =
            in_loop && iteration_ == Iteration::first && condition.op == Op::equal;
        const bool if_unknown =
            is_divergent ? frame.origins.may_hold_for_many(condition) : !chooses_round;
        if (!is_divergent && if_unknown && !is_decidable_at_launch(condition))
            return;
        guards_.push_back({std::move(condition), if_unknown, is_divergent});
    }

    // Drops the guards of a block that ends, except the first `outer`.
    void leave(std::size_t outer) {
        guards_.erase(guards_.begin() + static_cast<std::ptrdiff_t>(outer), guards_.end());
    }

    void look(const Frame &frame, const Statement &store, Values values, bool in_loop) {
        const ir::Root &root = frame.function.roots[store.id];
        if (root.type.space != space_ || (iteration_ == Iteration::first && !in_loop) ||
            select_one())
            return;
        std::erase_if(values, [](const auto &each) { return !is_known(*each.second); });
        Expression offset = replaced(frame, store.expressions[0], values);
        if (frame.uniformity.is_divergent(offset))
            return;
        const Update update(module_, frame.function, frame.uniformity, store, std::move(offset),
                            replaced(frame, store.expressions[1], values));
        if (!update.is_lost() || (!found_.empty() && is_like(found_.back())))
            return;
        CompileError error(ir::Place{&frame.function, store.inlined.get(), store.at},
                           message(root.shown, update.atomic()));
        for (const Frame *each = &frame; each->caller; each = each->caller)
            if (each->caller->function.source)
                error = CompileError(error, *each->caller->function.source, each->called_at);
        found_.push_back({error.what(), in_group(), guards_});
    }

    bool is_like(const LostUpdate &other) const {
        return other.in_group == in_group() &&
               std::ranges::equal(other.guards, guards_,
                                  [](const LostUpdate::Guard &a, const LostUpdate::Guard &b) {
                                      return a.if_unknown == b.if_unknown &&
                                             build::same(a.condition, b.condition);
                                  });
    }

    // True if no launch can find several work-items on the path. Either a condition differs between
    // work-items and is unknown, or the conditions determine every id.
    bool select_one() const {
        std::uint32_t chosen = 0;
        for (const LostUpdate::Guard &guard : guards_) {
            if (!guard.if_unknown && !is_decidable_at_launch(guard.condition))
                return true;
            if (guard.condition.op != Op::equal)
                continue;
            const Expression &a = guard.condition.operands[0], &b = guard.condition.operands[1];
            for (std::uint32_t axis = 0; axis < dimensions_; ++axis)
                if ((is_id(a, axis) && !has_ids(b)) || (is_id(b, axis) && !has_ids(a)))
                    chosen |= 1U << axis;
        }
        return chosen == (1U << dimensions_) - 1;
    }

    bool is_id(const Expression &expression, std::uint32_t axis) const {
        return expression.op == Op::index && expression.number == axis &&
               (expression.text == "global_id" || (in_group() && expression.text == "local_id"));
    }

    static bool has_ids(const Expression &expression) {
        bool found = !is_known(expression);
        ir::for_each_within(expression, [&](const Expression &each) {
            found |= each.op == Op::index && each.text.ends_with("_id");
        });
        return found;
    }

    // Every launch of several work-items refuses an unguarded update. The search ends there.
    bool is_done() const {
        return found_.size() >= max_updates || (!found_.empty() && found_.back().guards.empty() &&
                                                found_.back().in_group == in_group());
    }

    bool in_group() const { return among_ == Among::group; }

    std::string message(const std::string &name, std::string_view atomic) const {
        const bool by_all = std::ranges::none_of(guards_, &LostUpdate::Guard::is_divergent);
        const bool is_unknown = std::ranges::any_of(guards_, [](const LostUpdate::Guard &guard) {
            return guard.is_divergent && guard.if_unknown;
        });
        std::string text =
            sentence_of(by_all ? "every" : "more than one", " work-item of the ",
                        in_group() ? "group" : "launch",
                        is_unknown ? " may satisfy the condition, and then changes" : " changes",
                        " this element of `", name, "` at the same time, and changes are lost; ");
        if (!atomic.empty())
            text += sentence_of("write `", named(sentence_of("atomic.", atomic)), "(", name,
                                ", index, value)`, or ");
        const bool reduces = atomic == "add" || atomic == "min" || atomic == "max";
        if (reduces)
            text += in_group()
                        ? "combine the values with `" + named("group.reduce") + "`, or "
                        : "reduce an array with `" + named("entrepot.kernel.reduce") + "`, or ";
        return text + sentence_of("let one work-item do it, as in `if ",
                                  named(in_group() ? "get_local_id(0)" : "get_global_id(0)"),
                                  " == 0:`");
    }

    const ir::Module &module_;
    const Space space_;
    const Among among_;
    const Iteration iteration_;
    const std::uint32_t dimensions_;
    std::vector<LostUpdate::Guard> guards_;  // guards of the current statement
    std::vector<LostUpdate> &found_;
};

}  // namespace

std::vector<LostUpdate> lost_updates_of(const ir::Module &module, std::uint32_t dimensions) {
    using Iteration = LostUpdates::Iteration;
    const ir::Function &kernel = module.kernel();
    std::vector<LostUpdate> found;
    constexpr std::pair<Space, Among> shared[] = {{Space::global, Among::launch},
                                                  {Space::global, Among::group},
                                                  {Space::local, Among::group}};
    for (const auto &[space, among] : shared) {
        const auto may_be_updated = [in = space](const ir::Root &root) {
            return root.type.space == in && root.read && root.written;
        };
        if (std::ranges::any_of(kernel.roots, may_be_updated))
            for (const Iteration round : {Iteration::any, Iteration::first})
                LostUpdates(module, space, among, round, dimensions, found).run();
    }
    return found;
}

}  // namespace entrepot::kernel
