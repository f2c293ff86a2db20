// Emitter: expressions and statements as all C dialects write them.
#include "kernel/compiler/emit.hpp"
#include "kernel/compiler/walk.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>

namespace entrepot::kernel {

namespace {

bool is_integer(Dtype dtype) { return dtype.code == TypeCode::integer || dtype.code == TypeCode::unsigned_integer; }
bool is_complex(Dtype dtype) { return dtype.code == TypeCode::complex; }
bool is_small_integer(Dtype dtype) { return is_integer(dtype) && dtype.bits < 32; }
Dtype part_of(Dtype dtype) { return {TypeCode::floating, static_cast<std::uint8_t>(dtype.bits / 2)}; }
constexpr Dtype boolean{TypeCode::boolean, 8};

// An identifier of C from one of Python, whose letters may be any.
std::string identifier(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
            text += c;
        else {
            constexpr char digits[] = "0123456789abcdef";
            text += 'x';
            text += digits[static_cast<unsigned char>(c) >> 4];
            text += digits[static_cast<unsigned char>(c) & 15];
        }
    }
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])))
        text.insert(0, "_");
    return is_reserved(text) ? text + "_" : text;
}

std::string digits_of(double value, bool single) {
    char buffer[32];
    const std::to_chars_result end = single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value))
                                            : std::to_chars(buffer, buffer + sizeof buffer, value);
    std::string text(buffer, end.ptr);
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

float float_from_half(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 0    ? std::ldexp(static_cast<float>(fraction), -24)
                       : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                        : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    return bits & 0x8000 ? -size : size;
}

template <class Number> Number element_at(const std::vector<std::byte> &bytes, std::size_t offset) {
    Number value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::string joined(const std::vector<std::string> &parts) {
    std::string text;
    for (const std::string &part : parts)
        text += (text.empty() ? "" : ", ") + part;
    return text;
}

std::string literal(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            quoted += '\\';
        if (c == '\n')
            quoted += "\\n";
        else if (c == '\t')
            quoted += "\\t";
        else
            quoted += c;
    }
    return quoted + '"';
}

bool same(const ir::Expression &a, const ir::Expression &b) {
    return a.op == b.op && a.type == b.type && a.value == b.value && a.text == b.text && a.id == b.id && a.number == b.number &&
           a.roots == b.roots && std::ranges::equal(a.operands, b.operands, same);
}

// The sign of an operation that C can write into an assignment, empty for the others.
std::string_view assignable_sign(ir::Op op) {
    switch (op) {
    case ir::Op::add:
        return "+";
    case ir::Op::subtract:
        return "-";
    case ir::Op::multiply:
        return "*";
    case ir::Op::divide:
        return "/";
    case ir::Op::bit_and:
        return "&";
    case ir::Op::bit_or:
        return "|";
    case ir::Op::bit_xor:
        return "^";
    default:
        return "";
    }
}

void replace(std::string &text, std::string_view what, std::string_view with) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos;) {
        const bool joins = at > 0 && is_word(text[at - 1]) && text[at - 1] != '_';
        const bool goes_on = at + what.size() < text.size() && is_word(text[at + what.size()]);
        if (joins || goes_on) {
            at += what.size();
            continue;
        }
        text.replace(at, what.size(), with);
        at += with.size();
    }
}

}  // namespace

void refuse_at(const ir::Function &function, Position at, const std::string &message) {
    static const syntax::Function nowhere{"kernel", "<kernel>", "", 1, {}, {}};
    throw CompileError(function.source ? *function.source : nowhere, at, message);
}

Emitter::Emitter(const ir::Module &module, const Target &target)
    : module_(module), target_(target), dialect_(dialect_row(target.dialect)) {
    std::set<std::string> taken;
    for (const ir::Function &function : module.functions) {
        std::string name = identifier(function.name);
        for (int i = 2; !taken.insert(name).second; ++i)
            name = identifier(function.name) + "_" + std::to_string(i);
        function_names_.push_back(name);
    }
}

Compiled Emitter::run(const std::vector<ArgumentType> &arguments) {
    for (const ir::Function &function : module_.functions) {
        enter(function);
        if (&function == &module_.kernel())
            write_kernel(function);
        else
            write_function(function);
    }
    Compiled compiled;
    compiled.name = function_names_.back();
    compiled.options = options();
    compiled.source = prologue() + helpers_ + out_.text();
    compiled.parameters = std::move(parameters_);
    compiled.read.assign(arguments.size(), false);
    compiled.written.assign(arguments.size(), false);
    for (const ir::Root &root : module_.kernel().roots) {
        if (root.parameter && *root.parameter < arguments.size()) {
            compiled.read[*root.parameter] = root.read;
            compiled.written[*root.parameter] = root.written;
        }
        if (!root.parameter && root.type.space == Space::local) {
            std::uint64_t bytes = static_cast<std::uint64_t>(root.type.dtype.itemsize());
            for (const std::int64_t extent : root.type.shape)
                bytes *= static_cast<std::uint64_t>(extent);
            compiled.local_bytes += bytes;
        }
    }
    compiled.uses_groups = module_.uses_groups;
    compiled.has_barriers = module_.has_barriers;
    compiled.prints = module_.prints;
    return compiled;
}

// ---------------------------------------------------------------- types and names

std::string Emitter::value_type(Dtype dtype) {
    if (is_complex(dtype))
        helper("type", dtype);
    return std::string(words(dtype).value);
}

std::string Emitter::storage_type(Dtype dtype) {
    if (is_complex(dtype))
        helper("type", dtype);
    return std::string(words(dtype).storage);
}

std::string Emitter::pointer_to(const ir::Root &root, bool restricted) const {
    std::string text(dialect_.spaces[static_cast<std::size_t>(root.type.space)]);
    if (!root.written && root.type.space != Space::constant)
        text += "const ";
    text += std::string(words(root.type.dtype).storage) + " *";
    return restricted ? text + std::string(dialect_.restrict_) : text;
}

std::string Emitter::unique(const std::string &wanted) {
    std::string name = wanted;
    for (int i = 2; !names_.insert(name).second; ++i)
        name = wanted + "_" + std::to_string(i);
    return name;
}

void Emitter::enter(const ir::Function &function) {
    function_ = &function;
    names_.clear();
    names_.insert(function_names_.begin(), function_names_.end());
    variables_.clear();
    roots_.clear();
    for (const ir::Root &root : function.roots)
        roots_.push_back(unique(identifier(root.name)));
    for (const ir::Variable &each : function.variables)
        variables_.push_back(unique(identifier(each.name)));

    assignments_.assign(function.variables.size(), 0);
    for (std::size_t i = 0; i < function.variables.size(); ++i)
        assignments_[i] = function.variables[i].parameter ? 1 : 0;
    ir::for_each_statement(function.body, [&](const ir::Statement &statement) {
        for (const ir::VariableId id : ir::assigned_by(statement))
            ++assignments_[id];
    });

    used_roots_.clear();
    used_dimensions_.clear();
    ir::for_each_statement(function.body, [&](const ir::Statement &statement) {
        if (statement.act == ir::Act::store)
            used_roots_.insert(statement.id);
    });
    ir::for_each_expression(function.body, [&](const ir::Expression &expression) {
        if (expression.op == ir::Op::load || expression.op == ir::Op::atomic)
            used_roots_.insert(expression.id);
        if (expression.op == ir::Op::extent || expression.op == ir::Op::stride)
            used_dimensions_.insert({expression.op, expression.id, expression.number});
        used_roots_.insert(expression.roots.begin(), expression.roots.end());
        if (is_complex(expression.type.dtype) && expression.type.kind == Type::Kind::scalar)
            helper("type", expression.type.dtype);
    });
    for (const ir::Root &root : function.roots)
        if (is_complex(root.type.dtype))
            helper("type", root.type.dtype);
}

std::string Emitter::function_name(const ir::Function &function) const {
    return function_names_[static_cast<std::size_t>(&function - module_.functions.data())];
}

std::string Emitter::filled(std::string_view text, Dtype dtype) {
    std::string filled(text.substr(text.starts_with('\n') ? 1 : 0));
    const bool complex = is_complex(dtype);
    const Dtype part = complex ? part_of(dtype) : dtype;
    for (std::size_t open; (open = filled.find("{")) != filled.npos;) {
        std::size_t close = open + 1;
        while (close < filled.size() && (std::isalnum(static_cast<unsigned char>(filled[close]))))
            ++close;
        if (close == open + 1 || close >= filled.size() || filled[close] != '}') {
            filled[open] = '\1';  // a brace of C
            continue;
        }
        filled.replace(open, close + 1 - open, math_words(dialect_, filled.substr(open + 1, close - open - 1), part));
    }
    std::ranges::replace(filled, '\1', '{');
    for (std::size_t at; (at = filled.find("FUNCTION ")) != filled.npos;)
        filled.replace(at, 9, dialect_.function);
    for (std::size_t at; (at = filled.find("BITCAST(")) != filled.npos;) {
        const std::size_t comma = filled.find(',', at), type = at + 8;
        const std::string to = filled.substr(type, comma - type);
        if (dialect_.dialect == Dialect::opencl_c)
            filled.replace(at, comma + 2 - at, "as_" + (to == "UINT" ? "uint" : to) + "(");
        else
            filled.replace(at, comma + 2 - at, "__builtin_bit_cast(" + (to == "UINT" ? "unsigned" : to) + ", ");
    }
    replace(filled, "UINT", dialect_.dialect == Dialect::opencl_c ? "uint" : "unsigned");
    replace(filled, "NAME", name_of(dtype));
    replace(filled, "P2", std::string(words(part).value) + "2");
    replace(filled, "P", words(part).value);
    if (is_integer(dtype))
        replace(filled, "U", words({TypeCode::unsigned_integer, dtype.bits}).value);
    replace(filled, "BITS", std::to_string(dtype.bits));
    replace(filled, "T", words(dtype).value);
    replace(filled, "S", words(dtype).storage);
    return filled;
}

std::string Emitter::helper(std::string_view name, Dtype dtype) {
    const std::string type_name = name_of(dtype);
    const bool names_its_type = name.ends_with("float16");
    const std::string called = name == "type" ? type_name : std::string(name) + (names_its_type ? "" : "_" + type_name);
    if (helper_keys_.contains(called))
        return called;
    const HelperRow *row = find_helper(name, dialect_.dialect, dtype);
    if (row == nullptr)
        throw std::logic_error("there is no helper \"" + std::string(name) + "\" for " + type_name);
    for (std::string_view needs = row->needs; !needs.empty();) {
        const std::size_t space = std::min(needs.find(' '), needs.size());
        helper(needs.substr(0, space), dtype);
        needs.remove_prefix(std::min(space + 1, needs.size()));
    }
    carry_along(called, filled(row->text, dtype));
    return called;
}

void Emitter::carry_along(const std::string &key, const std::string &text) {
    if (helper_keys_.insert(key).second)
        helpers_ += text + "\n\n";
}

std::string Emitter::dimension_name(ir::Op op, ir::RootId root, std::uint32_t dimension) const {
    return roots_[root] + (op == ir::Op::extent ? "_extent" : "_stride") + std::to_string(dimension);
}

// ---------------------------------------------------------------- expressions

std::string Emitter::text(const ir::Expression &expression, int binding) {
    Spelled spelled = spell(expression);
    return spelled.binding < binding ? "(" + spelled.text + ")" : spelled.text;
}

std::string Emitter::loaded(const std::string &element, Dtype dtype) {
    if (words(dtype).carried())
        return helper("load_" + name_of(dtype), dtype) + "(" + element + ")";
    return element;
}

std::string Emitter::stored(const ir::Expression &value) {
    const Dtype dtype = value.type.dtype;
    if (words(dtype).carried())
        return helper("bits_" + name_of(dtype), dtype) + "(" + text(value) + ")";
    return text(value);
}

// `exact`: the literal is of just its type, where C would calculate with it before it meets a typed operand.
std::string Emitter::constant(const ir::Expression &expression, bool exact) {
    const Dtype dtype = expression.type.dtype;
    const std::string suffix(words(dtype).suffix);
    const auto real = [&]() -> double {
        return std::visit(
            [](const auto &value) -> double {
                if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
                    return static_cast<double>(value);
                else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::complex<double>>)
                    return value.real();
                else
                    return 0;
            },
            expression.value);
    };
    const auto floating = [&](double value, Dtype type) -> std::string {
        const bool single = type.bits != 64;
        if (std::isnan(value))
            return std::string(single ? dialect_.nan32 : dialect_.nan64);
        if (std::isinf(value))
            return (value < 0 ? "-" : "") + std::string(single ? dialect_.infinity32 : dialect_.infinity64);
        const TypeWords &row = words(type);
        std::string digits = digits_of(value, single);
        if (type.bits == 16 && !row.carried() && row.suffix.empty())
            return "(" + std::string(row.value) + ")" + digits + "f";
        return digits + std::string(row.suffix);
    };
    if (dtype == boolean)
        return real() != 0 ? "true" : "false";
    if (is_complex(dtype)) {
        const auto *value = std::get_if<std::complex<double>>(&expression.value);
        return helper("make", dtype) + "(" + floating(real(), part_of(dtype)) + ", " +
               floating(value ? value->imag() : 0, part_of(dtype)) + ")";
    }
    if (!is_integer(dtype))
        return floating(real(), dtype);
    if (dtype.code == TypeCode::unsigned_integer) {
        const auto *wide = std::get_if<std::uint64_t>(&expression.value);
        const auto *narrow = std::get_if<std::int64_t>(&expression.value);
        const std::uint64_t value = wide ? *wide : narrow ? static_cast<std::uint64_t>(*narrow) : std::uint64_t(real());
        return std::to_string(value) + (exact || value > INT32_MAX ? suffix : "");
    }
    const auto *wide = std::get_if<std::uint64_t>(&expression.value);
    const auto *narrow = std::get_if<std::int64_t>(&expression.value);
    const std::int64_t value = narrow ? *narrow : wide ? static_cast<std::int64_t>(*wide) : std::int64_t(real());
    if (value == INT64_MIN)
        return "(" + std::to_string(value + 1) + suffix + " - 1)";
    const bool fits = value >= -INT32_MAX && value <= INT32_MAX;
    if (value == INT32_MIN && dtype.bits == 32)
        return "(-2147483647 - 1)";
    return std::to_string(value) + (exact || !fits ? suffix : "");
}

Spelled Emitter::narrowed(Spelled spelled, Dtype dtype) {
    if (words(dtype).carried())
        return {helper("round_" + name_of(dtype), dtype) + "(" + spelled.text + ")"};
    if (!is_small_integer(dtype))
        return spelled;
    return {"(" + std::string(words(dtype).value) + ")" +
                (spelled.binding < binds_unary ? "(" + spelled.text + ")" : spelled.text),
            binds_unary};
}

Spelled Emitter::spell_binary(const ir::Expression &expression, std::string_view sign, int binding) {
    const ir::Expression &left = expression.operands[0], &right = expression.operands[1];
    const bool both = left.op == ir::Op::constant && right.op == ir::Op::constant;
    const bool bits = binding <= binds_shift && binding != binds_equal && binding != binds_less;  // easily misread: in brackets
    const auto operand = [&](const ir::Expression &each, int at_least) {
        if (each.op == ir::Op::constant && both)
            return constant(each, true);
        return text(each, bits && each.op != expression.op ? binds_unary : at_least);
    };
    return {operand(left, binding) + " " + std::string(sign) + " " + operand(right, binding + 1), binding};
}

// Integers of Python's arrays wrap. Host and SYCL say so by an option; elsewhere C's signed ones may do anything but the unsigned
// wrap. Those of 64 bits stay as they are: they count elements.
bool Emitter::needs_unsigned(const ir::Expression &expression) const {
    if (dialect_.dialect == Dialect::cpp || dialect_.dialect == Dialect::sycl)
        return false;
    const Dtype dtype = expression.type.dtype;
    return dtype == Dtype{TypeCode::integer, 32} ||
           (dtype == Dtype{TypeCode::unsigned_integer, 16} && expression.op == ir::Op::multiply);
}

Spelled Emitter::spell_unsigned(const ir::Expression &expression, std::string_view sign) {
    const std::string cast = "(" + std::string(words({TypeCode::unsigned_integer, 32}).value) + ")";
    const auto operand = [&](const ir::Expression &each) { return cast + text(each, binds_unary); };
    const auto &operands = expression.operands;
    const std::string calculated = operands.size() == 1
                                       ? std::string(sign) + operand(operands[0])
                                       : operand(operands[0]) + " " + std::string(sign) + " " + operand(operands[1]);
    return {"(" + std::string(words(expression.type.dtype).value) + ")(" + calculated + ")", binds_unary};
}

Spelled Emitter::spell_shift(const ir::Expression &expression) {
    const Dtype dtype = expression.type.dtype;
    const ir::Expression &count = expression.operands[1];
    const bool left = expression.op == ir::Op::shift_left;
    if (count.op == ir::Op::constant) {
        const auto *known = std::get_if<std::int64_t>(&count.value);
        const auto *wide = std::get_if<std::uint64_t>(&count.value);
        const std::int64_t value = known ? *known : wide && *wide < 64 ? static_cast<std::int64_t>(*wide) : -1;
        if (value >= 0 && value < dtype.bits) {
            const ir::Expression &shifted = expression.operands[0];
            const std::string operand = shifted.op == ir::Op::constant ? constant(shifted, true) : text(shifted, binds_add);
            return narrowed({operand + (left ? " << " : " >> ") + std::to_string(value), binds_shift}, dtype);
        }
    }
    return {helper(left ? "shift_left" : "shift_right", dtype) + "(" + text(expression.operands[0]) + ", " + text(count) + ")"};
}

Spelled Emitter::spell_divide(const ir::Expression &expression) {
    const Dtype dtype = expression.type.dtype;
    switch (expression.op) {
    case ir::Op::truncate_divide:
        return narrowed(spell_binary(expression, "/", binds_multiply), dtype);
    case ir::Op::truncate_modulo:
        return narrowed(spell_binary(expression, "%", binds_multiply), dtype);
    default:
        Spelled spelled{helper(expression.op == ir::Op::floor_divide ? "floor_divide" : "floor_modulo", dtype) + "(" +
                        text(expression.operands[0]) + ", " + text(expression.operands[1]) + ")"};
        return words(dtype).carried() ? narrowed(std::move(spelled), dtype) : spelled;
    }
}

Spelled Emitter::spell_convert(const ir::Expression &expression) {
    const ir::Expression &operand = expression.operands[0];
    const Dtype from = operand.type.dtype, to = expression.type.dtype;
    if (from == to)
        return spell(operand);
    if (to == boolean) {
        if (is_complex(from))
            return {"!" + helper("equal", from) + "(" + text(operand) + ", " + helper("make", from) + "(0, 0))", binds_unary};
        return {text(operand, binds_equal + 1) + " != 0", binds_equal};
    }
    if (is_complex(to)) {
        const std::string make = helper("make", to);
        if (!is_complex(from))
            return {make + "(" + text(operand) + ", 0)"};
        helper("type", from);
        const std::string name = name_of(to) + "_of_" + name_of(from);
        const std::string part(words(part_of(to)).value);
        carry_along(name, std::string(dialect_.function) + name_of(to) + " " + name + "(" + name_of(from) + " z) {\n    return " +
                              make + "((" + part + ")z.x, (" + part + ")z.y);\n}");
        return {name + "(" + text(operand) + ")"};
    }
    if (words(to).carried()) {
        const bool is_float = words(from).value == "float";
        return {helper("round_" + name_of(to), to) + "(" + (is_float ? text(operand) : "(float)" + text(operand, binds_unary)) +
                ")"};
    }
    if (words(from).carried() && to.bits == 32 && to.code == TypeCode::floating)
        return spell(operand);
    return {"(" + std::string(words(to).value) + ")" + text(operand, binds_unary), binds_unary};
}

Spelled Emitter::spell_math(const ir::Expression &expression) {
    const std::string &name = expression.text;
    const ir::Expression &first = expression.operands[0];
    const Dtype dtype = first.type.dtype;
    if (name == "real" || name == "imag") {
        if (!is_complex(dtype))
            return name == "real" ? spell(first) : Spelled{"0"};
        return {text(first, binds_primary) + (name == "real" ? ".x" : ".y")};
    }
    std::vector<std::string> operands;
    for (const ir::Expression &operand : expression.operands)
        operands.push_back(text(operand));
    const std::string listed = "(" + joined(operands) + ")";
    if (name == "make_complex")
        return {helper("make", expression.type.dtype) + listed};
    if (name == "conj" && !is_complex(dtype))
        return spell(first);
    if (is_complex(dtype) || name == "min" || name == "max" || name == "power")
        return name == "power" && !is_complex(dtype) && !is_integer(dtype)
                   ? narrowed({math_words(dialect_, name, dtype) + listed}, dtype)
                   : Spelled{helper(name, dtype) + listed};
    if (name == "abs" && (dtype.code == TypeCode::unsigned_integer || dtype == boolean))
        return spell(first);
    if (name == "abs" && is_integer(dtype))
        return {helper(name, dtype) + listed};
    const std::string word = math_words(dialect_, name, dtype);
    if (word.empty())
        return narrowed({helper(name, dtype) + listed}, dtype);
    return expression.type.dtype == boolean ? Spelled{word + listed} : narrowed({word + listed}, dtype);
}

std::string Emitter::arguments_of(const ir::Expression &call) {
    const ir::Function &callee = module_.functions[call.id];
    std::vector<std::string> places(callee.parameter_count);
    std::size_t next_root = 0, next_value = 0;
    std::map<std::uint32_t, std::pair<bool, std::uint32_t>> order;  // place: whether a root
    for (std::uint32_t i = 0; i < callee.roots.size(); ++i)
        if (callee.roots[i].parameter)
            order[*callee.roots[i].parameter] = {true, i};
    for (std::uint32_t i = 0; i < callee.variables.size(); ++i)
        if (callee.variables[i].parameter)
            order[*callee.variables[i].parameter] = {false, i};
    std::vector<std::string> parts;
    for (const auto &[place, which] : order)
        parts.push_back(which.first ? root_argument(call.roots[next_root++]) : text(call.operands[next_value++]));
    add_hidden_arguments(parts, callee);
    return "(" + joined(parts) + ")";
}

Spelled Emitter::spell(const ir::Expression &expression) {
    const Dtype dtype = expression.type.dtype;
    const auto &operands = expression.operands;
    const auto by_helper = [&](std::string_view name, Dtype of) {
        std::vector<std::string> parts;
        for (const ir::Expression &operand : operands)
            parts.push_back(text(operand));
        return Spelled{helper(name, of) + "(" + joined(parts) + ")"};
    };
    const auto arithmetic = [&](std::string_view name, std::string_view sign, int binding) {
        if (needs_unsigned(expression))
            return spell_unsigned(expression, sign);
        return is_complex(dtype) ? by_helper(name, dtype) : narrowed(spell_binary(expression, sign, binding), dtype);
    };
    switch (expression.op) {
    case ir::Op::constant: {
        std::string text = constant(expression, false);
        const bool negative = text.starts_with('-') || text.starts_with('(');
        return {std::move(text), negative ? binds_unary : binds_primary};
    }
    case ir::Op::variable:
        return {variable(expression.id)};
    case ir::Op::extent:
    case ir::Op::stride:
        return {dimension_name(expression.op, expression.id, expression.number)};
    case ir::Op::index:
        return index(expression);
    case ir::Op::negate:
        if (needs_unsigned(expression))
            return spell_unsigned(expression, "-");
        return is_complex(dtype) ? by_helper("negate", dtype)
                                 : narrowed({"-" + text(operands[0], binds_primary), binds_unary}, dtype);
    case ir::Op::add:
        return arithmetic("add", "+", binds_add);
    case ir::Op::subtract:
        return arithmetic("subtract", "-", binds_add);
    case ir::Op::multiply:
        return arithmetic("multiply", "*", binds_multiply);
    case ir::Op::divide:
        return arithmetic("divide", "/", binds_multiply);
    case ir::Op::floor_divide:
    case ir::Op::floor_modulo:
    case ir::Op::truncate_divide:
    case ir::Op::truncate_modulo:
        return spell_divide(expression);
    case ir::Op::power:
        if (is_integer(dtype) || is_complex(dtype))
            return by_helper("power", dtype);
        return narrowed({math_words(dialect_, "power", dtype) + "(" + text(operands[0]) + ", " + text(operands[1]) + ")"}, dtype);
    case ir::Op::shift_left:
    case ir::Op::shift_right:
        return spell_shift(expression);
    case ir::Op::bit_and:
        return spell_binary(expression, "&", binds_bit_and);
    case ir::Op::bit_or:
        return spell_binary(expression, "|", binds_bit_or);
    case ir::Op::bit_xor:
        return spell_binary(expression, "^", binds_bit_xor);
    case ir::Op::bit_not:
        return dtype == boolean ? Spelled{"!" + text(operands[0], binds_primary), binds_unary}
                                : narrowed({"~" + text(operands[0], binds_primary), binds_unary}, dtype);
    case ir::Op::less:
        return spell_binary(expression, "<", binds_less);
    case ir::Op::less_equal:
        return spell_binary(expression, "<=", binds_less);
    case ir::Op::greater:
        return spell_binary(expression, ">", binds_less);
    case ir::Op::greater_equal:
        return spell_binary(expression, ">=", binds_less);
    case ir::Op::equal:
        return is_complex(operands[0].type.dtype) ? by_helper("equal", operands[0].type.dtype)
                                                  : spell_binary(expression, "==", binds_equal);
    case ir::Op::not_equal:
        return is_complex(operands[0].type.dtype) ? Spelled{"!" + by_helper("equal", operands[0].type.dtype).text, binds_unary}
                                                  : spell_binary(expression, "!=", binds_equal);
    case ir::Op::logic_and:
        return {text(operands[0], binds_and) + " && " + text(operands[1], binds_and + 1), binds_and};
    case ir::Op::logic_or: {
        const auto side = [&](const ir::Expression &each) {  // `&&` within `||` in brackets, as compilers advise
            return text(each, each.op == ir::Op::logic_or ? binds_or : binds_and + 1);
        };
        return {side(operands[0]) + " || " + side(operands[1]), binds_or};
    }
    case ir::Op::logic_not:
        return {"!" + text(operands[0], binds_unary), binds_unary};
    case ir::Op::select: {
        const auto arm = [&](const ir::Expression &each) {
            return each.op == ir::Op::constant ? constant(each, true) : text(each, binds_select + 1);
        };
        return {text(operands[0], binds_select + 1) + " ? " + arm(operands[1]) + " : " + arm(operands[2]), binds_select};
    }
    case ir::Op::convert:
        return spell_convert(expression);
    case ir::Op::bit_cast: {
        const Dtype from = operands[0].type.dtype;
        if (words(from).carried())
            return {helper("bits_" + name_of(from), from) + "(" + text(operands[0]) + ")"};
        if (words(dtype).carried())
            return {helper("load_" + name_of(dtype), dtype) + "(" + text(operands[0]) + ")"};
        if (dialect_.dialect == Dialect::opencl_c)
            return {"as_" + std::string(words(dtype).value) + "(" + text(operands[0]) + ")"};
        return {"__builtin_bit_cast(" + std::string(words(dtype).value) + ", " + text(operands[0]) + ")"};
    }
    case ir::Op::math:
        return spell_math(expression);
    case ir::Op::load: {
        std::string at = loaded(element(expression.id, operands[0]), function_->roots[expression.id].type.dtype);
        if (dtype == boolean && dialect_.dialect == Dialect::opencl_c)  // a byte there
            return {at + " != 0", binds_equal};
        return {std::move(at)};
    }
    case ir::Op::call:
        return {function_names_[expression.id] + arguments_of(expression)};
    case ir::Op::atomic:
        return {atomic(expression)};
    case ir::Op::bound_check:
        return {report_call(expression)};
    case ir::Op::group:
        break;
    }
    throw std::logic_error("a group function stands within an expression");
}

std::string Emitter::element(ir::RootId root, const ir::Expression &offset) { return roots_[root] + "[" + text(offset) + "]"; }

// ---------------------------------------------------------------- statements

void Emitter::stand_at(Position at) {
    if (function_->source && at.line > 0)
        out_.stands_at(function_->source->file, at.line);
}

void Emitter::declare_before(const ir::Statement &statement) {
    for (const ir::VariableId id : declarations_.before(statement))
        out_.line(value_type(function_->variables[id].type.dtype) + " " + variables_[id] + ";");
}

void Emitter::write(const Row &row) {
    for (const ir::Statement *statement : row)
        write(*statement);
}

void Emitter::write_assignment(const ir::Statement &statement, ir::VariableId id, const std::string &value) {
    if (declarations_.at(statement))
        out_.line((assigned_once(id) ? "const " : "") + value_type(function_->variables[id].type.dtype) + " " + variables_[id] +
                  " = " + value + ";");
    else
        out_.line(variable(id) + " = " + value + ";");
}

void Emitter::write(const ir::Statement &statement) {
    if (statement.act != ir::Act::if_)
        declare_before(statement);
    stand_at(statement.at);
    switch (statement.act) {
    case ir::Act::assign: {
        const ir::Expression &value = statement.expressions[0];
        if (value.op == ir::Op::group)
            return write_group_function(statement);
        const std::string_view sign = assignable_sign(value.op);
        const Dtype dtype = value.type.dtype;
        if (!sign.empty() && !is_complex(dtype) && !is_small_integer(dtype) && !words(dtype).carried() &&
            !needs_unsigned(value) && value.operands[0].op == ir::Op::variable && value.operands[0].id == statement.id &&
            !declarations_.at(statement))
            return out_.line(variable(statement.id) + " " + std::string(sign) + "= " + text(value.operands[1]) + ";");
        return write_assignment(statement, statement.id, text(value));
    }
    case ir::Act::unpack: {
        const ir::Expression &call = statement.expressions[0];
        const std::string name = unique(function_names_[call.id] + "_items");
        out_.line("const " + std::string(dialect_.dialect == Dialect::opencl_c ? "struct " : "") + function_names_[call.id] +
                  "_result " + name + " = " + text(call) + ";");
        for (std::size_t i = 0; i < statement.ids.size(); ++i)
            out_.line(variable(statement.ids[i]) + " = " + name + ".item" + std::to_string(i) + ";");
        return;
    }
    case ir::Act::store: {
        const ir::Expression &offset = statement.expressions[0], &value = statement.expressions[1];
        const Dtype dtype = value.type.dtype;
        const std::string_view sign = assignable_sign(value.op);
        if (!sign.empty() && !is_complex(dtype) && !is_small_integer(dtype) && !words(dtype).carried() && dtype != boolean &&
            !needs_unsigned(value) && value.operands[0].op == ir::Op::load && value.operands[0].id == statement.id &&
            same(value.operands[0].operands[0], offset))
            return out_.line(element(statement.id, offset) + " " + std::string(sign) + "= " + text(value.operands[1]) + ";");
        return out_.line(element(statement.id, offset) + " = " + stored(value) + ";");
    }
    case ir::Act::if_:
        return write_if(statement, false);
    case ir::Act::while_:
        out_.open("while (" + text(statement.expressions[0]) + ")");
        write(statement.body);
        return out_.close();
    case ir::Act::for_:
        return write_for(statement);
    case ir::Act::break_:
        return out_.line("break;");
    case ir::Act::continue_:
        return out_.line("continue;");
    case ir::Act::return_:
        return write_return(statement);
    case ir::Act::evaluate:
        if (is_group_function(statement))
            return write_group_function(statement);
        return out_.line(text(statement.expressions[0]) + ";");
    case ir::Act::barrier:
        return write_barrier(statement);
    case ir::Act::fence:
        return write_fence(statement);
    case ir::Act::print:
        return write_print(statement);
    }
}

void Emitter::write_if(const ir::Statement &statement, bool within_else) {
    if (!within_else) {
        declare_before(statement);
        stand_at(statement.at);
    }
    const std::string head = "if (" + text(statement.expressions[0]) + ")";
    within_else ? out_.reopen("else " + head) : out_.open(head);
    write(statement.body);
    const auto &otherwise = statement.otherwise;
    if (otherwise.size() == 1 && otherwise[0].act == ir::Act::if_ && declarations_.before(otherwise[0]).empty())
        return write_if(otherwise[0], true);
    if (!otherwise.empty()) {
        out_.reopen("else");
        write(otherwise);
    }
    out_.close();
}

// `for (type name = start; name < stop; ++name)`. What is not sure to stay is kept aside before.
Emitter::ForHead Emitter::for_head(const ir::Statement &statement) {
    const ir::Expression &start = statement.expressions[0], &stop = statement.expressions[1], &step = statement.expressions[2];
    const ir::Variable &counter = function_->variables[statement.id];
    const std::string type = value_type(counter.type.dtype);
    const std::string name = declarations_.at(statement) ? variables_[statement.id] : unique(variables_[statement.id] + "_next");
    const auto stays = [&](const ir::Expression &expression) {
        bool known = true;
        ir::for_each_within(expression, [&](const ir::Expression &each) {
            known &= each.op == ir::Op::constant || each.op == ir::Op::extent || each.op == ir::Op::stride ||
                     each.op == ir::Op::convert || each.op == ir::Op::add || each.op == ir::Op::subtract ||
                     each.op == ir::Op::multiply || (each.op == ir::Op::variable && assigned_once(each.id));
        });
        return known;
    };
    const auto kept = [&](const ir::Expression &expression, const char *as, int binding) {
        if (stays(expression))
            return text(expression, binding);
        const std::string aside = unique(variables_[statement.id] + as);
        out_.line("const " + type + " " + aside + " = " + text(expression) + ";");
        return aside;
    };
    const std::string end = kept(stop, "_stop", binds_less + 1), by = kept(step, "_step", binds_unary);
    const auto *known = step.op == ir::Op::constant ? std::get_if<std::int64_t>(&step.value) : nullptr;
    if (known == nullptr || *known > INT32_MAX || *known < INT32_MIN) {  // a far step could pass over the end of all numbers
        const std::string left = unique(variables_[statement.id] + "_left");
        return {"for (" + type + " " + name + " = " + text(start) + ", " + left + " = " +
                    helper("range_length", counter.type.dtype) + "(" + name + ", " + end + ", " + by + "); " + left +
                    " != 0; --" + left + ", " + name + " += " + by + ")",
                name};
    }
    const bool down = *known < 0;
    const std::string until = name + (down ? " > " : " < ") + end;
    const std::string next = *known == 1    ? "++" + name
                             : *known == -1 ? "--" + name
                             : down         ? name + " -= " + by.substr(1)
                                            : name + " += " + by;
    return {"for (" + type + " " + name + " = " + text(start) + "; " + until + "; " + next + ")", name};
}

void Emitter::write_for(const ir::Statement &statement) {
    const ForHead head = for_head(statement);
    out_.open(head.text);
    if (!declarations_.at(statement))  // asked for beyond the loop, or kept for each work-item
        out_.line(variable(statement.id) + " = " + head.counter + ";");
    write(statement.body);
    out_.close();
}

void Emitter::write_return(const ir::Statement &statement) {
    if (statement.expressions.empty())
        return out_.line("return;");
    if (statement.expressions.size() == 1 && function_->returns.kind != Type::Kind::tuple)
        return out_.line("return " + text(statement.expressions[0]) + ";");
    std::vector<std::string> items;
    for (const ir::Expression &item : statement.expressions)
        items.push_back(text(item));
    const std::string name = unique("result");
    out_.line("const " + std::string(dialect_.dialect == Dialect::opencl_c ? "struct " : "") + function_name(*function_) +
              "_result " + name + " = {" + joined(items) + "};");
    out_.line("return " + name + ";");
}

// On the host, a float is shown by the fewest digits that read back as it, as Python shows it.
std::string Emitter::shortest_text(Dtype dtype) {
    const bool wide = dtype.bits == 64;
    const std::string type = wide ? "double" : "float", called = "shortest_" + type;
    carry_along("c_text", "extern \"C\" int snprintf(char *, unsigned long, const char *, ...);\n"
                          "extern \"C\" double strtod(const char *, char **);\n"
                          "extern \"C\" float strtof(const char *, char **);\n\n"
                          "struct number_text {\n    char text[48];\n};");
    carry_along(
        called,
        "static number_text " + called + "(" + type +
            " x) {\n"
            "    number_text shown;\n"
            "    if (x - x != 0) {  // not finite\n"
            "        snprintf(shown.text, sizeof shown.text, \"%g\", (double)x);\n"
            "        return shown;\n"
            "    }\n"
            "    int digits = 0;\n"
            "    do\n"
            "        snprintf(shown.text, sizeof shown.text, \"%.*e\", digits, (double)x);\n"
            "    while (" +
            std::string(wide ? "strtod" : "strtof") +
            "(shown.text, nullptr) != x && ++digits < 17);\n"
            "    const char *end = shown.text;\n"
            "    while (*end != 'e')\n"
            "        ++end;\n"
            "    const int exponent = (int)strtod(end + 1, nullptr);\n"
            "    if (exponent >= -4 && exponent < 16)\n"
            "        snprintf(shown.text, sizeof shown.text, \"%.*f\", digits > exponent ? digits - exponent : 1, (double)x);\n"
            "    return shown;\n"
            "}");
    return called;
}

void Emitter::write_print(const ir::Statement &statement) {
    const bool is_opencl = dialect_.dialect == Dialect::opencl_c;
    std::string format;
    std::vector<std::string> values{""};
    std::size_t next = 0;
    const auto add_float = [&](const std::string &value, Dtype dtype) {
        const bool wide = dtype.bits == 64;
        if (dialect_.dialect == Dialect::cpp) {
            format += "%s";
            values.push_back(shortest_text(dtype) + "(" + value + ").text");
        } else {
            format += wide ? "%.15g" : "%.7g";
            values.push_back(wide || (is_opencl && !target_.fp64) ? value : "(double)" + value);
        }
    };
    const auto add = [&](const ir::Expression &value) {
        const Dtype dtype = value.type.dtype;
        if (is_complex(dtype)) {
            format += dtype.bits == 128 ? "(%.15g%+.15gj)" : "(%.7g%+.7gj)";
            values.push_back(text(value, binds_primary) + ".x");
            values.push_back(text(value, binds_primary) + ".y");
        } else if (dtype == boolean) {
            format += "%s";
            values.push_back(text(value, binds_select + 1) + " ? \"True\" : \"False\"");
        } else if (is_integer(dtype)) {
            const bool is_signed = dtype.code == TypeCode::integer;
            format += is_opencl ? (is_signed ? "%ld" : "%lu") : (is_signed ? "%lld" : "%llu");
            const Dtype wide{dtype.code, 64};
            values.push_back(value.op == ir::Op::constant && dtype == wide ? constant(value, true)
                             : dtype == wide                               ? text(value)
                                             : "(" + std::string(words(wide).value) + ")" + text(value, binds_unary));
        } else {
            add_float(text(value, binds_unary), dtype);
        }
    };
    for (std::size_t i = 0; i < statement.text.size(); ++i) {
        const char c = statement.text[i];
        if (c == '{' && i + 1 < statement.text.size() && statement.text[i + 1] == '}' && next < statement.expressions.size()) {
            add(statement.expressions[next++]);
            ++i;
        } else if ((c == '{' || c == '}') && i + 1 < statement.text.size() && statement.text[i + 1] == c) {
            format += c;
            ++i;
        } else {
            format += c == '%' ? "%%" : std::string(1, c);
        }
    }
    values[0] = literal(format);
    if (dialect_.dialect == Dialect::sycl) {
        const std::string name = unique("format");
        out_.line("static const __attribute__((opencl_constant)) char " + name + "[] = " + values[0] + ";");
        values[0] = name;
        return out_.line("sycl::ext::oneapi::experimental::printf(" + joined(values) + ");");
    }
    out_.line("printf(" + joined(values) + ");");
}

// ---------------------------------------------------------------- what group functions combine

// What an operation leaves the other operand as it is with.
std::string Emitter::identity(const std::string &operation, Dtype dtype) {
    const bool is_float = dtype.code == TypeCode::floating || dtype.code == TypeCode::bfloat;
    const std::string type = value_type(dtype);
    if (dtype.code == TypeCode::complex)
        return helper("make", dtype) + (operation == "mul" ? "(1, 0)" : "(0, 0)");
    if (operation == "mul")
        return "1";
    if (operation == "and")
        return dtype.code == TypeCode::boolean ? "true" : "(" + type + ")~0";
    if (operation != "min" && operation != "max")
        return "0";
    const bool least = operation == "max";
    if (is_float)
        return (least ? "-" : "") + std::string(dtype.bits == 64 ? dialect_.infinity64 : dialect_.infinity32);
    if (dtype.code == TypeCode::integer) {
        const std::string most = std::to_string((std::uint64_t{1} << (dtype.bits - 1)) - 1) +
                                 (dtype.bits == 64 ? std::string(words(dtype).suffix) : "");
        return least ? "(-" + most + " - 1)" : most;
    }
    return least ? "0" : "(" + type + ")~0";
}

std::string Emitter::combined(const std::string &operation, const std::string &a, const std::string &b, Dtype dtype) {
    if (operation == "min" || operation == "max")
        return helper(operation, dtype) + "(" + a + ", " + b + ")";
    if (dtype.code == TypeCode::complex)
        return helper(operation == "mul" ? "multiply" : "add", dtype) + "(" + a + ", " + b + ")";
    const std::string sign = operation == "add"   ? "+"
                             : operation == "mul" ? "*"
                             : operation == "and" ? "&"
                             : operation == "or"  ? "|"
                                                  : "^";
    const std::string text = a + " " + sign + " " + b;
    if (words(dtype).carried())
        return helper("round_" + name_of(dtype), dtype) + "(" + text + ")";
    return dtype.bits < 32 && dtype.code != TypeCode::boolean ? "(" + value_type(dtype) + ")(" + text + ")" : text;
}

// ---------------------------------------------------------------- functions and arrays

std::string Emitter::constant_array(const ir::Function &function, ir::RootId root) {
    const syntax::ConstantArray &array = *function.roots[root].values;
    const auto size = static_cast<std::size_t>(array.dtype.itemsize());
    std::vector<std::string> items;
    ir::Expression item;
    item.type.kind = Type::Kind::scalar;
    item.type.dtype = array.dtype;
    const bool bits = words(array.dtype).carried();
    for (std::size_t at = 0; at + size <= array.bytes.size(); at += size) {
        if (bits) {
            items.push_back(std::to_string(element_at<std::uint16_t>(array.bytes, at)));
            continue;
        }
        const auto part = [&](std::size_t offset, std::size_t bytes) {
            return bytes == 8 ? element_at<double>(array.bytes, at + offset)
                              : static_cast<double>(element_at<float>(array.bytes, at + offset));
        };
        switch (array.dtype.code) {
        case TypeCode::boolean:
            item.value = element_at<std::uint8_t>(array.bytes, at) != 0;
            break;
        case TypeCode::integer: {
            std::int64_t value = 0;
            std::memcpy(&value, array.bytes.data() + at, size);
            const unsigned above = 64 - array.dtype.bits;
            item.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << above) >> above;
            break;
        }
        case TypeCode::unsigned_integer: {
            std::uint64_t value = 0;
            std::memcpy(&value, array.bytes.data() + at, size);
            item.value = value;
            break;
        }
        case TypeCode::complex:
            items.push_back((dialect_.dialect == Dialect::opencl_c ? "(" + name_of(array.dtype) + ")(" : "{") +
                            digits_of(part(0, size / 2), size == 8) + (size == 8 ? "f, " : ", ") +
                            digits_of(part(size / 2, size / 2), size == 8) + (size == 8 ? "f" : "") +
                            (dialect_.dialect == Dialect::opencl_c ? ")" : "}"));
            continue;
        default:
            item.value =
                size == 2 ? static_cast<double>(float_from_half(element_at<std::uint16_t>(array.bytes, at))) : part(0, size);
        }
        items.push_back(constant(item, false));
    }
    if (items.size() <= 16)
        return joined(items);
    std::string lines;
    for (std::size_t i = 0; i < items.size(); i += 16) {
        lines += "\n    ";
        for (std::size_t j = i; j < std::min(i + 16, items.size()); ++j)
            lines += items[j] + (j + 1 < items.size() ? j + 1 < std::min(i + 16, items.size()) ? ", " : "," : "");
    }
    return lines + "\n";
}

void Emitter::write_constant_arrays(const ir::Function &function) {
    for (ir::RootId i = 0; i < function.roots.size(); ++i) {
        const ir::Root &root = function.roots[i];
        if (!root.values || !uses_root(i))
            continue;
        roots_[i] = function_name(function) + "_" + roots_[i];
        const bool beyond_constant_memory =
            root.values->bytes.size() > 65536 && (dialect_.dialect == Dialect::cuda || dialect_.dialect == Dialect::hip);
        const auto count = root.values->bytes.size() / static_cast<std::size_t>(root.values->dtype.itemsize());
        carry_along(roots_[i], std::string(beyond_constant_memory ? "static __device__ const " : dialect_.constant_array) +
                                   storage_type(root.type.dtype) + " " + roots_[i] + "[" +
                                   std::to_string(std::max<std::size_t>(count, 1)) + "] = {" + constant_array(function, i) +
                                   "};");
    }
}

namespace {

std::int64_t size_of(const Type &array) {
    std::int64_t size = 1;
    for (const std::int64_t extent : array.shape)
        size *= extent;
    return std::max<std::int64_t>(size, 1);
}

}  // namespace

void Emitter::write_private_arrays(const ir::Function &function, const std::set<ir::RootId> &wanted) {
    for (ir::RootId i = 0; i < function.roots.size(); ++i) {
        const ir::Root &root = function.roots[i];
        if (root.type.space == Space::private_ && !root.parameter && !root.values && wanted.contains(i))
            out_.line(storage_type(root.type.dtype) + " " + roots_[i] + "[" + std::to_string(size_of(root.type)) + "];");
    }
}

void Emitter::write_function(const ir::Function &function) {
    write_constant_arrays(function);
    std::map<std::uint32_t, std::string> places;
    for (ir::RootId i = 0; i < function.roots.size(); ++i)
        if (function.roots[i].parameter)
            places[*function.roots[i].parameter] = pointer_to(function.roots[i], false) + roots_[i];
    for (ir::VariableId i = 0; i < function.variables.size(); ++i)
        if (function.variables[i].parameter)
            places[*function.variables[i].parameter] = value_type(function.variables[i].type.dtype) + " " + variables_[i];
    std::vector<std::string> parameters;
    for (const auto &[place, parameter] : places)
        parameters.push_back(parameter);
    add_hidden_parameters(parameters);

    const std::string name = function_name(function);
    std::string returns = "void";
    if (function.returns.kind == Type::Kind::scalar)
        returns = value_type(function.returns.dtype);
    if (function.returns.kind == Type::Kind::tuple) {
        returns = (dialect_.dialect == Dialect::opencl_c ? "struct " : "") + name + "_result";
        out_.open("struct " + name + "_result");
        for (std::size_t i = 0; i < function.returns.items.size(); ++i)
            out_.line(value_type(function.returns.items[i].dtype) + " item" + std::to_string(i) + ";");
        out_.close("};");
        out_.line("");
    }
    Declarations::Variables local;
    for (ir::VariableId i = 0; i < function.variables.size(); ++i)
        if (!function.variables[i].parameter)
            local.insert(i);
    declarations_.clear();
    declarations_.plan(row_of(function.body), local);
    out_.open(std::string(dialect_.function) + returns + " " + name + "(" + joined(parameters) + ")");
    write_private_arrays(function, used_roots_);
    write(function.body);
    out_.close();
    out_.line("");
}

Compiled emit(const ir::Module &module, const std::vector<ArgumentType> &arguments, const Target &target) {
    return target.dialect == Dialect::cpp ? emit_host(module, arguments, target) : emit_device(module, arguments, target);
}

}  // namespace entrepot::kernel
