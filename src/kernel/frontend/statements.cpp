// Statements other than loops and assignments, and how statements are emitted.
#include "kernel/frontend/lowering.hpp"

#include <algorithm>
#include <iterator>

namespace entrepot::kernel {

namespace {

bool acts_at_once(const ir::Expression &expression) {
    return expression.op == ir::Op::call || expression.op == ir::Op::atomic ||
           expression.op == ir::Op::group;
}

bool has_effect(const ir::Statement &statement) {
    switch (statement.act) {
    case ir::Act::assign:
        return acts_at_once(statement.expressions[0]);
    case ir::Act::return_:
    case ir::Act::break_:
    case ir::Act::continue_:
        return false;
    default:
        return true;
    }
}

// A Python construct that kernels do not support: its name in Python's ast, its usual name, and a
// replacement. Functions of the language are enclosed as by named().
struct Absent {
    std::string_view of_ast, words, instead;
};
constexpr std::string_view
    outside = "define the function outside, decorated with \x02@func\x03, and call it",
    without_exceptions =
        "kernels have no exceptions; tell of an error through an element of an array",
    without_lists = "use a tuple, or \x02private.array(shape, dtype)\x03 and a loop",
    waits_outside = "nothing waits in a kernel; wait for the launch's Event around it";
constexpr Absent absent[] = {
    {"AsyncFor", "`async for` loop", waits_outside},
    {"AsyncFunctionDef", "`async def` inside of it", outside},
    {"AsyncWith", "`async with` statement", waits_outside},
    {"Await", "`await`", waits_outside},
    {"ClassDef", "`class` statement",
     "write a tuple for values that belong together, and functions with \x02@func\x03"},
    {"Constant", "bytes", "write the numbers as a tuple, as in (1, 2, 3)"},
    {"Delete", "`del` statement", "leave it out; a variable lives as long as the kernel"},
    {"Dict", "dictionaries", without_lists},
    {"DictComp", "dictionary comprehensions", without_lists},
    {"FunctionDef", "`def` inside of it", outside},
    {"GeneratorExp", "generator expressions", "write a loop with a variable"},
    {"Global", "`global` statement",
     "what a kernel captures is constant; pass an array to write to"},
    {"Import", "`import` statement", "import outside of the kernel"},
    {"ImportFrom", "`import` statement", "import outside of the kernel"},
    {"Lambda", "`lambda`", outside},
    {"ListComp", "list comprehensions", without_lists},
    {"Match", "`match` statement", "write if and elif"},
    {"NamedExpr", "`:=`", "assign in a statement of its own"},
    {"Nonlocal", "`nonlocal` statement",
     "what a kernel captures is constant; pass an array to write to"},
    {"Raise", "`raise` statement", without_exceptions},
    {"Set", "sets", without_lists},
    {"SetComp", "set comprehensions", without_lists},
    {"Starred", "starred names and values", "write the items one by one"},
    {"TemplateStr", "t-strings", "text is for print only: print(f\"…\")"},
    {"Try", "`try` statement", without_exceptions},
    {"TryStar", "`try` statement", without_exceptions},
    {"TypeAlias", "`type` statement", "name the type outside of the kernel"},
    {"With", "`with` statement", "do it around the launch"},
    {"Yield", "`yield`", "write to an element of an array"},
    {"YieldFrom", "`yield from`", "write to an element of an array"},
};

}  // namespace

ir::Statement &Lowering::emit(ir::Act act, Position at, std::vector<ir::Expression> expressions,
                              std::uint32_t id) {
    ir::Statement statement;
    statement.act = act;
    statement.at = at;
    statement.expressions = std::move(expressions);
    statement.id = id;
    if (has_effect(statement))
        ++effects_;
    block_->push_back(std::move(statement));
    return block_->back();
}

void Lowering::save_before(Value &earlier, const Mark &mark) {
    if (earlier.kind == Value::Kind::structure)
        for (Value &item : earlier.items)
            save_before(item, mark);
    if (effects_ == mark.effects || !earlier.is_scalar() ||
        !build::reads_memory(earlier.expression))
        return;
    const ir::VariableId id = new_variable("value", earlier.expression.type, earlier.at);
    ir::Statement statement;
    statement.act = ir::Act::assign;
    statement.at = earlier.at;
    statement.id = id;
    statement.expressions = {earlier.expression};
    mark.block->insert(mark.block->begin() + static_cast<std::ptrdiff_t>(mark.statements),
                       std::move(statement));
    earlier.expression = build::variable(id, earlier.expression.type, earlier.at);
}

Lowering::Block Lowering::lowered_into_block(Flow &flow, const std::function<void()> &walk) {
    Block block;
    Block *const around = std::exchange(block_, &block);
    std::swap(flow, flow_);
    walk();
    std::swap(flow, flow_);
    block_ = around;
    return block;
}

// Drops unreachable code after a return, break or continue.
void Lowering::lower_block(std::span<const syntax::NodePtr> statements) {
    for (const auto &statement : statements)
        if (flow_.reachable)
            lower_statement(*statement);
}

void Lowering::lower_statement(const Node &node) {
    switch (node.kind) {
    case Kind::assign:
        return lower_assign(node);
    case Kind::augment:
        return lower_augment(node);
    case Kind::annotate:
        return lower_annotate(node);
    case Kind::evaluate:
        return lower_evaluate(node);
    case Kind::if_:
        return lower_if(node);
    case Kind::while_:
        return lower_while(node);
    case Kind::for_:
        return lower_for(node);
    case Kind::break_:
    case Kind::continue_:
        return lower_jump(node);
    case Kind::return_:
        return lower_return(node);
    case Kind::pass:
        return;
    case Kind::assert_:
        return lower_assert(node);
    default:
        refuse_unsupported(node);
    }
}

// If the condition is a constant, the other branch is dropped without being checked.
void Lowering::lower_if(const Node &node) {
    const Value condition = truth_of(*node.operands[0]);
    if (condition.is_constant())
        return lower_block(std::get<bool>(condition.expression.value) ? node.body : node.otherwise);

    Flow then = flow_, otherwise = flow_;
    Block body = lowered_into_block(then, [&] {
        learn(condition.expression, true);
        lower_block(node.body);
    });
    Block other = lowered_into_block(otherwise, [&] {
        learn(condition.expression, false);
        lower_block(node.otherwise);
    });
    flow_ = std::move(then);
    flow_.meet(otherwise);
    if (body.empty() && other.empty())
        return;
    ir::Statement &statement = emit(ir::Act::if_, node.at, {condition.expression});
    statement.body = std::move(body);
    statement.otherwise = std::move(other);
}

void Lowering::lower_jump(const Node &node) {
    const bool ends = node.kind == Kind::break_;
    (ends ? loops_.back()->breaks : loops_.back()->continues).push_back(flow_);
    emit(ends ? ir::Act::break_ : ir::Act::continue_, node.at);
    flow_.reachable = false;
}

void Lowering::lower_return(const Node &node) {
    const Node *const operand = node.operands.empty() ? nullptr : node.operands[0].get();
    const Value value = operand ? value_after_effects(*operand) : Value{};
    flow_.reachable = false;
    if (is_kernel_ && value.kind != Value::Kind::none)
        refuse(operand->at, "a kernel returns nothing; write the result to an element of an array "
                            "that is an argument");
    if (!is_kernel_)
        return return_value(value, node.at);
    emit(ir::Act::return_, node.at);
}

void Lowering::lower_evaluate(const Node &node) {
    const Value value = evaluate(*node.operands[0]);
    if (value.has_effect)
        emit(ir::Act::evaluate, node.at, {value.expression});
}

// Without debug checks the condition is only checked for errors, as by Python's option -O.
void Lowering::lower_assert(const Node &node) {
    std::string message;
    if (const Node *const given = node.operands[1].get()) {
        const bool is_formatted = given->kind == Kind::call &&
                                  given->operands[0]->kind == Kind::builtin &&
                                  given->operands[0]->text == "format";
        const Value text = is_formatted ? Value{} : evaluate(*given);
        if (text.kind != Value::Kind::text)
            refuse(given->at, "the message of an assert is a constant text; print() shows values");
        message = text.text;
    }
    const auto emit_assertion = [&] {
        const Value condition = truth_of(*node.operands[0]);
        ir::Expression assertion = build::of(ir::Op::assertion, scalar_type(dtypes::boolean),
                                             node.at, {condition.expression});
        assertion.text = message;
        emit(ir::Act::evaluate, node.at, {std::move(assertion)});
    };
    if (target_.debug)
        return emit_assertion();
    Flow unchanged = flow_;
    lowered_into_block(unchanged, emit_assertion);
}

void Lowering::refuse_unsupported(const Node &node) const {
    const auto *const row = std::ranges::find(absent, node.text, &Absent::of_ast);
    if (row == std::end(absent))
        refuse(node.at, "a kernel has no such statement or expression (" + node.text +
                            " of Python's ast); kernels have numbers, arrays and tuples, if, while "
                            "and for over range");
    refuse(node.at, sentence_of("a kernel has no ", row->words, "; ", row->instead));
}

}  // namespace entrepot::kernel
