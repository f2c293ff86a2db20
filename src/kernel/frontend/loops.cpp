// Loops: while, and for over a range.
#include "kernel/frontend/lowering.hpp"

#include <algorithm>

namespace entrepot::kernel {

namespace {

// True if a constant range has an item.
bool has_items(std::int64_t start, std::int64_t stop, std::int64_t step) {
    return step > 0 ? start < stop : start > stop;
}

// Suggestion for a loop over anything but a range.
std::string loop_instead_of(const syntax::Node &iterable) {
    using syntax::Kind;
    const bool is_call = iterable.kind == Kind::call && iterable.operands[0]->kind == Kind::builtin;
    const std::string_view callee =
        is_call ? std::string_view(iterable.operands[0]->text) : std::string_view();
    const auto name_of = [&](std::size_t place, const char *otherwise) {
        const bool is_named =
            iterable.operands.size() > place && iterable.operands[place]->kind == Kind::name;
        return is_named ? iterable.operands[place]->text : std::string(otherwise);
    };
    if (callee == "enumerate") {
        const std::string x = name_of(1, "x");
        return "instead of enumerate, write `for i in range(len(" + x + "))` and take " + x +
               "[i] in the loop";
    }
    if (callee == "zip") {
        const std::string x = name_of(1, "x"), y = name_of(2, "y");
        return "instead of zip, write `for i in range(len(" + x + "))` and take " + x + "[i] and " +
               y + "[i] in the loop";
    }
    if (callee == "reversed")
        return "instead of reversed, write a range that counts down, as in range(n - 1, -1, -1)";
    const std::string x = iterable.kind == Kind::name ? iterable.text : "x";
    return "write `for i in range(len(" + x + "))` and take " + x + "[i], or unroll it";
}

void erase_parts(std::map<ir::VariableId, Proved> &bounds, const Storage &storage) {
    if (storage.variable)
        bounds.erase(*storage.variable);
    for (const auto &[part, id] : storage.parts)
        bounds.erase(id);
    for (const Storage &item : storage.items)
        erase_parts(bounds, item);
}

}  // namespace

void Lowering::refuse_loop_else(const Node &node) const {
    if (!node.otherwise.empty())
        refuse(node.otherwise.front()->at, "kernels do not have the else of a loop; set a variable "
                                           "before break, and test it behind the loop");
}

// Drops bounds of the variables that the loop assigns: bounds from earlier conditions hold only at
// the start of the first round.
void Lowering::forget_bounds_of(const Node &loop) {
    std::set<std::string> names = assigned_in(loop.body);
    if (loop.kind == Kind::for_)
        names.insert(loop.operands[0]->text);
    for (const std::string &name : components_assigned_in(loop.body))
        if (const auto found = found_.find(name);
            found != found_.end() && found->second.form == Slot::Form::structure)
            names.insert(name);
    for (const std::string &name : names)
        if (const auto storage = storage_.find(name); storage != storage_.end())
            erase_parts(flow_.at_least, storage->second);
}

void Lowering::lower_while(const Node &node) {
    refuse_loop_else(node);
    forget_bounds_of(node);
    Value condition;
    Flow ahead = flow_;
    Block tests = lowered_into_block(ahead, [&] { condition = truth_of(*node.operands[0]); });
    const bool is_constant = condition.is_constant();
    if (is_constant && !std::get<bool>(condition.expression.value))
        return;

    Loop loop;
    loops_.push_back(&loop);
    Flow inside = ahead;
    Block body = lowered_into_block(inside, [&] {
        learn(condition.expression, true);
        lower_block(node.body);
    });
    loops_.pop_back();

    ir::Statement statement;
    statement.act = ir::Act::while_;
    statement.at = node.at;
    if (tests.empty()) {
        statement.expressions = {condition.expression};
        statement.body = std::move(body);
    } else {  // the condition needs statements, which are written in the loop
        statement.expressions = {build::boolean(true, node.at)};
        statement.body = std::move(tests);
        ir::Statement leave;
        leave.act = ir::Act::if_;
        leave.at = node.operands[0]->at;
        leave.expressions = {build::of(ir::Op::logic_not, condition.expression.type, leave.at,
                                       {condition.expression})};
        leave.body.emplace_back().act = ir::Act::break_;
        leave.body.back().at = leave.at;
        statement.body.push_back(std::move(leave));
        std::ranges::move(body, std::back_inserter(statement.body));
    }
    ++effects_;
    block_->push_back(std::move(statement));

    flow_.reachable = !is_constant;
    if (!is_constant)
        learn(condition.expression, false);
    for (const Flow &flow : loop.breaks)
        flow_.meet(flow);
}

Lowering::Range Lowering::range_of(const Node &iterable) {
    const bool is_range = iterable.kind == Kind::call &&
                          iterable.operands[0]->kind == Kind::builtin &&
                          iterable.operands[0]->text == "range";
    if (iterable.kind == Kind::call && iterable.operands[0]->kind == Kind::name &&
        iterable.operands[0]->text == "range")
        refuse(iterable.operands[0]->at,
               "`range` is a variable of this function; give that another name");
    if (!is_range)
        refuse(iterable.at,
               "a kernel's for goes over range(...) only; " + loop_instead_of(iterable));
    const FunctionRow &row = *find_function("range");
    auto nodes = arguments_of(iterable, row);
    const auto given = static_cast<std::size_t>(
        std::ranges::count_if(nodes, [](const Node *node) { return node != nullptr; }));
    std::vector<Value> values = scalars_of(std::span(nodes).first(given));
    for (Value &value : values) {
        if (!is_integer(value.expression.type.dtype) && !is_boolean(value.expression.type.dtype))
            refuse(value.at,
                   "range() takes integers, but this is " + value.type_name() + "; write int(...)");
        value = as(value, dtypes::int64);
    }
    Range range{integer(0, iterable.at), values[0], integer(1, iterable.at)};
    if (values.size() > 1) {
        range.start = values[0];
        range.stop = values[1];
    }
    if (values.size() > 2)
        range.step = values[2];
    if (build::constant_of(range.step.expression) == 0)
        refuse(range.step.at,
               "the step of range() is 0, so the loop would not end; write a step that is not 0");
    return range;
}

bool Lowering::runs_at_least_once(const Range &range) const {
    const auto start = build::constant_of(range.start.expression),
               stop = build::constant_of(range.stop.expression),
               step = build::constant_of(range.step.expression);
    return start && stop && step && has_items(*start, *stop, *step);
}

void Lowering::lower_for(const Node &node) {
    refuse_loop_else(node);
    const Node &target = *node.operands[0];
    Range range = range_of(*node.operands[1]);
    if (target.kind != Kind::name)
        refuse(target.at, "the variable of a loop over range() is one name; take the rest apart "
                          "inside of the loop");
    const bool step_may_be_0 =
        !proved(range.step.expression).is_positive() && !range.step.is_constant();
    if (step_may_be_0)
        range.step = in_variable(range.step, "step");
    forget_bounds_of(node);

    const bool is_own = loop_names_.contains(target.text);
    const ir::VariableId id = new_variable(is_own ? target.text : target.text + "_loop",
                                           scalar_type(dtypes::int64), target.at);
    bound_counter(id, range);
    const Value counter = made(build::variable(id, function_.variables[id].type, target.at));
    if (is_own)
        bound_[target.text] = counter;

    Loop loop;
    loops_.push_back(&loop);
    Flow inside = flow_;
    Block body = lowered_into_block(inside, [&] {
        if (!is_own)
            assign_name(target.text, target.at, counter);
        lower_block(node.body);
    });
    loops_.pop_back();
    if (is_own)
        bound_.erase(target.text);

    ir::Statement statement;
    statement.act = ir::Act::for_;
    statement.at = node.at;
    statement.id = id;
    statement.expressions = {range.start.expression, range.stop.expression, range.step.expression};
    statement.body = std::move(body);
    ++effects_;
    if (step_may_be_0) {  // Python raises; here the loop does nothing
        const ir::Expression zero = build::integer(0, range.step.at);
        emit(ir::Act::if_, node.at,
             {build::of(ir::Op::not_equal, scalar_type(dtypes::boolean), range.step.at,
                        {range.step.expression, zero})})
            .body.push_back(std::move(statement));
    } else {
        block_->push_back(std::move(statement));
    }

    if (runs_at_least_once(range)) {
        flow_ = std::move(inside);
        for (const Flow &flow : loop.continues)
            flow_.meet(flow);
    }
    for (const Flow &flow : loop.breaks)
        flow_.meet(flow);
}

}  // namespace entrepot::kernel
