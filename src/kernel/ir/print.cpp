// text_of(): prints the typed form for tests and debugging, one statement a line, with all
// conversions and types.
#include "kernel/ir/ir.hpp"

#include "kernel/ir/numbers.hpp"

#include <array>

namespace entrepot::kernel::ir {

namespace {

constexpr std::string_view sign_of(Op op) {
    switch (op) {
    case Op::add:
        return " + ";
    case Op::subtract:
        return " - ";
    case Op::multiply:
        return " * ";
    case Op::divide:
        return " / ";
    case Op::floor_divide:
        return " // ";
    case Op::floor_modulo:
        return " % ";
    case Op::truncate_divide:
        return " c/ ";
    case Op::truncate_modulo:
        return " c% ";
    case Op::power:
        return " ** ";
    case Op::shift_left:
        return " << ";
    case Op::shift_right:
        return " >> ";
    case Op::bit_and:
        return " & ";
    case Op::bit_or:
        return " | ";
    case Op::bit_xor:
        return " ^ ";
    case Op::less:
        return " < ";
    case Op::less_equal:
        return " <= ";
    case Op::greater:
        return " > ";
    case Op::greater_equal:
        return " >= ";
    case Op::equal:
        return " == ";
    case Op::not_equal:
        return " != ";
    case Op::logic_and:
        return " and ";
    case Op::logic_or:
        return " or ";
    default:
        return {};
    }
}

constexpr std::array scope_names{"work_item", "sub_group", "work_group", "device", "system"};
constexpr std::array order_names{"relaxed", "acquire", "release", "acq_rel", "seq_cst"};

class Printer {
public:
    Printer(const Module &module, const Function &function)
        : module_(module), function_(function) {}

    std::string print() {
        text_ = (&function_ == &module_.kernel() ? "kernel " : "function ") + function_.name + "(" +
                parameters() + ")";
        if (function_.returns.kind != Type::Kind::nothing)
            text_ += " -> " + name_of(function_.returns);
        text_ += "\n";
        for (const Root &root : function_.roots)
            if (!root.parameter)
                text_ += "  " + root.name + ": " + name_of(root.type) + "\n";
        for (const Variable &variable : function_.variables)
            if (!variable.parameter)
                text_ += "  " + variable.name + ": " + name_of(variable.type) + "\n";
        block(function_.body, 1);
        return std::move(text_);
    }

private:
    std::string parameters() const {
        std::vector<std::string> texts(function_.parameter_count);
        for (const Variable &variable : function_.variables)
            if (variable.parameter)
                texts.at(*variable.parameter) = variable.name + ": " + name_of(variable.type);
        for (const Root &root : function_.roots)
            if (root.parameter)
                texts.at(*root.parameter) = root.name + ": " + name_of(root.type);
        return list(texts);
    }

    static std::string list(const std::vector<std::string> &texts) {
        std::string joined;
        for (const std::string &text : texts)
            joined += (joined.empty() ? "" : ", ") + text;
        return joined;
    }

    std::string list(const std::vector<Expression> &expressions) const {
        std::vector<std::string> texts;
        for (const Expression &expression : expressions)
            texts.push_back(outer(expression));
        return list(texts);
    }

    // ---------------------------------------------------------------- statements

    void line(int depth, const std::string &text) {
        text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n";
    }

    void block(const std::vector<Statement> &statements, int depth) {
        for (const Statement &statement : statements)
            print(statement, depth);
    }

    void print(const Statement &statement, int depth) {
        line(depth, head(statement));
        block(statement.body, depth + 1);
        if (!statement.otherwise.empty()) {
            line(depth, "else");
            block(statement.otherwise, depth + 1);
        }
    }

    std::string head(const Statement &statement) const {
        const auto &expressions = statement.expressions;
        switch (statement.act) {
        case Act::assign:
            return function_.variables[statement.id].name + " = " + outer(expressions[0]);
        case Act::unpack: {
            std::vector<std::string> names;
            for (const VariableId id : statement.ids)
                names.push_back(function_.variables[id].name);
            return list(names) + " = " + outer(expressions[0]);
        }
        case Act::store:
            return function_.roots[statement.id].name + "[" + outer(expressions[0]) +
                   "] = " + outer(expressions[1]);
        case Act::if_:
            return "if " + outer(expressions[0]);
        case Act::while_:
            return "while " + outer(expressions[0]);
        case Act::for_:
            return "for " + function_.variables[statement.id].name + " in " + list(expressions);
        case Act::break_:
            return "break";
        case Act::continue_:
            return "continue";
        case Act::return_:
            return expressions.empty() ? "return" : "return " + list(expressions);
        case Act::evaluate:
            return outer(expressions[0]);
        case Act::barrier:
            return "barrier(" +
                   std::string(scope_names[static_cast<std::size_t>(statement.scope)]) +
                   fences(statement) + ")";
        case Act::fence:
            return "fence(" + std::string(scope_names[static_cast<std::size_t>(statement.scope)]) +
                   ", " + order_names[static_cast<std::size_t>(statement.order)] +
                   fences(statement) + ")";
        case Act::print:
            return "print(" + quoted(statement.text) + (expressions.empty() ? "" : ", ") +
                   list(expressions) + ")";
        }
        return "";
    }

    static std::string fences(const Statement &statement) {
        return std::string(statement.fences & local_fence ? ", local" : "") +
               (statement.fences & global_fence ? ", global" : "");
    }

    static std::string quoted(const std::string &text) {
        std::string result = "\"";
        for (const char each : text)
            result += each == '\n' ? "\\n" : std::string(1, each);
        return result + "\"";
    }

    // ---------------------------------------------------------------- expressions

    std::string inner(const Expression &expression) const {
        const bool is_binary = !sign_of(expression.op).empty() || expression.op == Op::select;
        return is_binary ? "(" + outer(expression) + ")" : outer(expression);
    }

    std::string outer(const Expression &expression) const {
        const auto &operands = expression.operands;
        switch (expression.op) {
        case Op::constant:
            return constant(expression);
        case Op::variable:
            return function_.variables[expression.id].name;
        case Op::extent:
            return function_.roots[expression.id].name + ".extent" +
                   std::to_string(expression.number);
        case Op::stride:
            return function_.roots[expression.id].name + ".stride" +
                   std::to_string(expression.number);
        case Op::index:
            return expression.text + std::to_string(expression.number);
        case Op::negate:
            return "-" + inner(operands[0]);
        case Op::bit_not:
            return "~" + inner(operands[0]);
        case Op::logic_not:
            return "not " + inner(operands[0]);
        case Op::select:
            return inner(operands[0]) + " ? " + inner(operands[1]) + " : " + inner(operands[2]);
        case Op::convert:
            return name_of(expression.type) + "(" + outer(operands[0]) + ")";
        case Op::bit_cast:
            return "bits_as_" + name_of(expression.type) + "(" + outer(operands[0]) + ")";
        case Op::math:
            return expression.text + "(" + list(operands) + ")";
        case Op::load:
            return function_.roots[expression.id].name + "[" + outer(operands[0]) + "]";
        case Op::call:
            return call(expression);
        case Op::atomic:
            return "atomic." + expression.text + "<" +
                   order_names[static_cast<std::size_t>(expression.order)] + ", " +
                   scope_names[static_cast<std::size_t>(expression.scope)] + ">(" +
                   function_.roots[expression.id].name + ", " + list(operands) + ")";
        case Op::group:
            return std::string(scope_names[static_cast<std::size_t>(expression.scope)]) + "." +
                   expression.text +
                   (expression.operation.empty() ? "" : "<" + expression.operation + ">") + "(" +
                   list(operands) + ")";
        case Op::bound_check:
            return "checked(" + list(operands) + ")";
        case Op::assertion:
            return "assert(" + list(operands) + ", " + quoted(expression.text) + ")";
        default:
            return inner(operands[0]) + std::string(sign_of(expression.op)) + inner(operands[1]);
        }
    }

    // A constant shows its type if Python's literal would have another one.
    static std::string constant(const Expression &expression) {
        const Dtype dtype = expression.type.dtype;
        const bool is_plain =
            dtype == dtypes::int64 || dtype == dtypes::float64 || is_boolean(dtype);
        return text_of_constant(expression) + (is_plain ? "" : ":" + name_of(dtype));
    }

    std::string call(const Expression &expression) const {
        std::vector<std::string> texts;
        for (const RootId root : expression.roots)
            texts.push_back(function_.roots[root].name);
        for (const Expression &operand : expression.operands)
            texts.push_back(outer(operand));
        return module_.functions[expression.id].name + "(" + list(texts) + ")";
    }

    const Module &module_;
    const Function &function_;
    std::string text_;
};

}  // namespace

std::string text_of(const Module &module) {
    std::string text;
    for (const Function &function : module.functions)
        text += Printer(module, function).print();
    return text;
}

}  // namespace entrepot::kernel::ir
