// Emitter: expressions, common to all dialects.
#include "kernel/codegen/emitter.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/passes/minus_one.hpp"

#include <cmath>
#include <map>

namespace entrepot::kernel {

namespace {

std::string bracketed(const Spelled &spelled, int binding) {
    return spelled.binding < binding ? "(" + spelled.text + ")" : spelled.text;
}

// True if the expression is a constant integer in which all bits of its type are set.
bool has_all_bits_set(const ir::Expression &expression) {
    const Dtype dtype = expression.type.dtype;
    if (!is_integer(dtype))
        return false;
    if (expression.op == ir::Op::convert)
        return expression.operands[0].type.dtype.code == TypeCode::integer &&
               has_all_bits_set(expression.operands[0]);
    if (expression.op != ir::Op::constant)
        return false;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - dtype.bits);
    if (const auto *const value = std::get_if<std::int64_t>(&expression.value))
        return (static_cast<std::uint64_t>(*value) & all) == all;
    const auto *const value = std::get_if<std::uint64_t>(&expression.value);
    return value && (*value & all) == all;
}

}  // namespace

std::string Emitter::text(const ir::Expression &expression, int binding) {
    return bracketed(spell(expression), binding);
}

std::string Emitter::exact_text(const ir::Expression &expression, int binding) {
    return bracketed(expression.op == ir::Op::constant ? spell_constant(expression, true)
                                                       : spell(expression),
                     binding);
}

std::string Emitter::loaded(const std::string &element, Dtype dtype) {
    if (words(dtype).is_promoted())
        return helper("load_" + name_of(dtype), dtype) + "(" + element + ")";
    return element;
}

std::string Emitter::stored(const ir::Expression &value) {
    const Dtype dtype = value.type.dtype;
    if (words(dtype).is_promoted())
        return helper("bits_" + name_of(dtype), dtype) + "(" + text(value) + ")";
    return text(value);
}

std::string Emitter::float_constant(double value, Dtype dtype) const {
    const bool single = dtype.bits != 64;
    const TypeWords &row = words(dtype);
    const std::string half =
        dtype.bits == 16 && !row.is_promoted() ? "(" + std::string(row.value) + ")" : "";
    if (std::isnan(value))
        return half + std::string(single ? dialect_.nan32 : dialect_.nan64);
    if (std::isinf(value))
        return (value < 0 ? "-" : "") + half +
               std::string(single ? dialect_.infinity32 : dialect_.infinity64);
    std::string digits = digits_of(value, single);
    if (!half.empty() && row.suffix.empty())
        return half + digits + "f";
    return digits + std::string(row.suffix);
}

// `exact`: the literal must have exactly its type.
std::string Emitter::constant(const ir::Expression &expression, bool exact) {
    const Dtype dtype = expression.type.dtype;
    const std::string suffix(words(dtype).suffix);
    const auto real = [&]() -> double {
        return std::visit(
            [](const auto &value) -> double {
                if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
                    return static_cast<double>(value);
                else if constexpr (std::is_same_v<std::decay_t<decltype(value)>,
                                                  std::complex<double>>)
                    return value.real();
                else
                    return 0;
            },
            expression.value);
    };
    if (is_boolean(dtype))
        return real() != 0 ? "true" : "false";
    if (is_complex(dtype)) {
        const auto *value = std::get_if<std::complex<double>>(&expression.value);
        return helper("make", dtype) + "(" + float_constant(real(), part_of(dtype)) + ", " +
               float_constant(value ? value->imag() : 0, part_of(dtype)) + ")";
    }
    if (!is_integer(dtype))
        return float_constant(real(), dtype);
    if (dtype.code == TypeCode::unsigned_integer) {
        const auto *wide = std::get_if<std::uint64_t>(&expression.value);
        const auto *narrow = std::get_if<std::int64_t>(&expression.value);
        const std::uint64_t value = wide     ? *wide
                                    : narrow ? static_cast<std::uint64_t>(*narrow)
                                             : std::uint64_t(real());
        return std::to_string(value) + (exact || value > INT32_MAX ? suffix : "");
    }
    const auto *wide = std::get_if<std::uint64_t>(&expression.value);
    const auto *narrow = std::get_if<std::int64_t>(&expression.value);
    const std::int64_t value = narrow ? *narrow
                               : wide ? static_cast<std::int64_t>(*wide)
                                      : std::int64_t(real());
    if (value == INT64_MIN)
        return "(" + std::to_string(value + 1) + suffix + " - 1)";
    const bool fits = value >= -INT32_MAX && value <= INT32_MAX;
    if (value == INT32_MIN && dtype.bits == 32)
        return "(-2147483647 - 1)";
    return std::to_string(value) + (exact || !fits ? suffix : "");
}

Spelled Emitter::spell_constant(const ir::Expression &expression, bool exact) {
    std::string text = constant(expression, exact);
    const bool negative = text.starts_with('-') || text.starts_with('(');
    return {std::move(text), negative ? binds_unary : binds_primary};
}

Spelled Emitter::narrowed(Spelled spelled, Dtype dtype) {
    if (words(dtype).is_promoted())
        return {helper("round_" + name_of(dtype), dtype) + "(" + spelled.text + ")"};
    if (!is_small_integer(dtype))
        return spelled;
    return {"(" + std::string(words(dtype).value) + ")" +
                (spelled.binding < binds_unary ? "(" + spelled.text + ")" : spelled.text),
            binds_unary};
}

Spelled Emitter::spell_binary(const ir::Expression &expression, std::string_view sign,
                              int binding) {
    const ir::Expression &left = expression.operands[0], &right = expression.operands[1];
    const bool both = left.op == ir::Op::constant && right.op == ir::Op::constant;
    const bool bits =
        // Such an expression is easily misread without parentheses.
        binding <= binds_shift && binding != binds_equal && binding != binds_less;
    const auto operand = [&](const ir::Expression &each, int at_least) {
        const int wanted = bits && each.op != expression.op ? binds_unary : at_least;
        if (expression.op == ir::Op::multiply ||
            (expression.op == ir::Op::divide && &each == &right))
            return both ? exact_text(each, wanted) : factor_text(each, wanted);
        return both ? exact_text(each, wanted) : text(each, wanted);
    };
    return {operand(left, binding) + " " + std::string(sign) + " " + operand(right, binding + 1),
            binding};
}

Spelled Emitter::spell_equality(const ir::Expression &expression, std::string_view sign) {
    if (std::string whole = id_equality(expression); !whole.empty())
        return {std::move(whole)};
    return spell_binary(expression, sign, binds_equal);
}

std::string Emitter::factor_text(const ir::Expression &factor, int binding) {
    const std::string name = opaque_factor_helper(factor);
    return name.empty() ? text(factor, binding) : name + "(" + exact_text(factor, binds_any) + ")";
}

// A difference without C's unary `-`. Compilers negate an operand to compute `a * b - c` or `c - a
// * b` by one instruction, and to compute `-0.0 - x`.
std::optional<Spelled> Emitter::spell_sum_with_negated(const ir::Expression &difference) {
    const ir::Expression &left = difference.operands[0], &right = difference.operands[1];
    const auto is_product = [](const ir::Expression &each) { return each.op == ir::Op::multiply; };
    const ir::Expression &negated = is_product(right) ? right.operands[0] : right;
    const bool is_negative_zero =
        constant_value(left) == 0 && (std::signbit(constant_value(left)) || target_.fast_math);
    if (!is_negative_zero &&
        ((!is_product(left) && !is_product(right)) || negated.op == ir::Op::constant))
        return std::nullopt;
    const std::string name = negation_helper(difference.type.dtype);
    if (name.empty())
        return std::nullopt;
    if (is_negative_zero)
        return Spelled{name + "(" + text(right) + ")"};
    std::string sum = text(left, binds_add) + " + " + name + "(" + text(negated) + ")";
    if (is_product(right))
        sum += " * " + factor_text(right.operands[1], binds_multiply + 1);
    return narrowed({std::move(sum), binds_add}, difference.type.dtype);
}

// Integers wrap as in NumPy. Without an option for that, signed overflow in C is undefined, but
// unsigned integers wrap.
bool Emitter::needs_unsigned(Dtype dtype, bool multiplies) const {
    if (dialect_.integers.wraps)
        return false;
    return (is_signed(dtype) && dtype.bits >= 32) || (dtype == dtypes::uint16 && multiplies);
}

std::string Emitter::unsigned_cast(Dtype dtype) const {
    return "(" +
           std::string(
               words({TypeCode::unsigned_integer, std::max<std::uint8_t>(dtype.bits, 32)}).value) +
           ")";
}

Spelled Emitter::spell_unsigned(const ir::Expression &expression, std::string_view sign) {
    const std::string cast = unsigned_cast(expression.type.dtype);
    const auto operand = [&](const ir::Expression &each) { return cast + text(each, binds_unary); };
    const auto &operands = expression.operands;
    const std::string calculated =
        operands.size() == 1
            ? std::string(sign) + operand(operands[0])
            : operand(operands[0]) + " " + std::string(sign) + " " + operand(operands[1]);
    return {"(" + std::string(words(expression.type.dtype).value) + ")(" + calculated + ")",
            binds_unary};
}

Spelled Emitter::spell_shift(const ir::Expression &expression) {
    const Dtype dtype = expression.type.dtype;
    const ir::Expression &count = expression.operands[1];
    const bool left = expression.op == ir::Op::shift_left;
    if (count.op == ir::Op::constant) {
        const auto *known = std::get_if<std::int64_t>(&count.value);
        const auto *wide = std::get_if<std::uint64_t>(&count.value);
        const std::int64_t value = known                ? *known
                                   : wide && *wide < 64 ? static_cast<std::int64_t>(*wide)
                                                        : -1;
        if (value >= 0 && value < dtype.bits) {
            const ir::Expression &shifted = expression.operands[0];
            if (left && is_signed(dtype) && !dialect_.integers.wraps && !expression.no_overflow)
                return {"(" + std::string(words(dtype).value) + ")(" + unsigned_cast(dtype) +
                            text(shifted, binds_unary) + " << " + std::to_string(value) + ")",
                        binds_unary};
            return narrowed(
                {exact_text(shifted, binds_add) + (left ? " << " : " >> ") + std::to_string(value),
                 binds_shift},
                dtype);
        }
    }
    return {helper(left ? "shift_left" : "shift_right", dtype) + "(" +
            text(expression.operands[0]) + ", " + text(count) + ")"};
}

Spelled Emitter::spell_divide(const ir::Expression &expression) {
    const Dtype dtype = expression.type.dtype;
    switch (expression.op) {
    case ir::Op::truncate_divide:
        return narrowed(spell_binary(expression, "/", binds_multiply), dtype);
    case ir::Op::truncate_modulo:
        return narrowed(spell_binary(expression, "%", binds_multiply), dtype);
    default:
        Spelled spelled{
            helper(expression.op == ir::Op::floor_divide ? "floor_divide" : "floor_modulo", dtype) +
            "(" + text(expression.operands[0]) + ", " + text(expression.operands[1]) + ")"};
        return words(dtype).is_promoted() ? narrowed(std::move(spelled), dtype) : spelled;
    }
}

// With -fno-trapping-math GCC 12 compiles `(float)(int)x` to `trunc(x)`, which gives -0.0 for
// -0.25. GCC 11 does not; later versions were not tried. Adding 0 clears that sign. A function
// adds it, because GCC removes it from `(float)i + 0.0f`. -ftrapping-math avoids this.
// But then GCC 12 does not vectorize conditional arithmetic for AVX2, which takes up to seven times
// as long. GCC finds the inner conversion through variables, arrays and functions, so the addition
// is needed if the program has one anywhere.
Spelled Emitter::converted(const ir::Expression &operand, Dtype to) {
    std::string cast = std::string("(").append(words(to).value) + ")" + text(operand, binds_unary);
    const bool may_truncate = dialect_.dialect == Dialect::cpp && converts_floats_to_integers_ &&
                              is_integer(operand.type.dtype) && is_float(to);
    return may_truncate ? Spelled{helper("plus_zero", to) + "(" + cast + ")"}
                        : Spelled{std::move(cast), binds_unary};
}

Spelled Emitter::spell_convert(const ir::Expression &expression) {
    const ir::Expression &operand = expression.operands[0];
    const Dtype from = operand.type.dtype, to = expression.type.dtype;
    if (from == to)
        return spell(operand);
    if (is_boolean(to)) {
        if (is_complex(from))
            return {"!" + helper("equal", from) + "(" + text(operand) + ", " +
                        helper("make", from) + "(0, 0))",
                    binds_unary};
        return {text(operand, binds_equal + 1) + " != 0", binds_equal};
    }
    if (is_complex(to)) {
        const std::string make = helper("make", to);
        if (!is_complex(from))
            return {make + "(" + converted(operand, part_of(to)).text + ", 0)"};
        helper("type", from);
        const std::string name = name_of(to) + "_of_" + name_of(from);
        const std::string part(words(part_of(to)).value);
        add_once(name, std::string(dialect_.function) + name_of(to) + " " + name + "(" +
                           name_of(from) + " z) {\n    return " + make + "((" + part + ")z.x, (" +
                           part + ")z.y);\n}");
        return {name + "(" + text(operand) + ")"};
    }
    const bool is_twice_narrower = from == dtypes::float64 && is_float(to) && to.bits == 16;
    const std::string in_32_bits =
        is_twice_narrower              ? helper("to_odd", from) + "(" + text(operand) + ")"
        : words(from).value == "float" ? text(operand)
                                       : converted(operand, dtypes::float32).text;
    if (words(to).is_promoted())
        return {helper("round_" + name_of(to), to) + "(" + in_32_bits + ")"};
    if (is_twice_narrower)
        return {"(" + std::string(words(to).value) + ")" + in_32_bits, binds_unary};
    if (words(from).is_promoted() && to.bits == 32 && to.code == TypeCode::floating)
        return spell(operand);
    return converted(operand, to);
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
    if (is_complex(dtype) || name == "min" || name == "max" || name == "minimum" ||
        name == "maximum" || name == "power")
        return name == "power" && !is_complex(dtype) && !is_integer(dtype)
                   ? narrowed({math_function(name, dtype) + listed}, dtype)
                   : Spelled{helper(name, dtype) + listed};
    if (name == "abs" && (dtype.code == TypeCode::unsigned_integer || is_boolean(dtype)))
        return spell(first);
    if ((name == "abs" || name == "fmod") && is_integer(dtype))
        return {helper(name, dtype) + listed};
    if (name == "nextafter" && words(dtype).is_promoted())
        return {helper("nextafter_" + name_of(dtype), dtype) + listed};
    const std::string word = math_function(name, dtype);
    if (word.empty())
        return narrowed({helper(name, dtype) + listed}, expression.type.dtype);
    return is_boolean(expression.type.dtype) ? Spelled{word + listed}
                                             : narrowed({word + listed}, dtype);
}

std::string Emitter::arguments_of(const ir::Expression &call) {
    const ir::Function &callee = module_.functions[call.id];
    std::vector<std::string> places(callee.parameter_count);
    std::size_t next_root = 0, next_value = 0;
    std::map<std::uint32_t, std::pair<bool, std::uint32_t>> order;  // by place; true for roots
    for (std::uint32_t i = 0; i < callee.roots.size(); ++i)
        if (callee.roots[i].parameter)
            order[*callee.roots[i].parameter] = {true, i};
    for (std::uint32_t i = 0; i < callee.variables.size(); ++i)
        if (callee.variables[i].parameter)
            order[*callee.variables[i].parameter] = {false, i};
    std::vector<std::string> parts;
    for (const auto &[place, which] : order)
        parts.push_back(which.first ? root_argument(call.roots[next_root++])
                                    : text(call.operands[next_value++]));
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
        return is_complex(dtype) ? by_helper(name, dtype)
                                 : narrowed(spell_binary(expression, sign, binding), dtype);
    };
    switch (expression.op) {
    case ir::Op::constant:
        return spell_constant(expression, false);
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
        if (const std::string name = negation_helper(dtype); !name.empty())
            return {name + "(" + exact_text(operands[0], binds_any) + ")"};
        return is_complex(dtype)
                   ? by_helper("negate", dtype)
                   : narrowed({"-" + exact_text(operands[0], binds_primary), binds_unary}, dtype);
    case ir::Op::add:
        return arithmetic("add", "+", binds_add);
    case ir::Op::subtract:
        if (std::optional<Spelled> sum = spell_sum_with_negated(expression))
            return *std::move(sum);
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
        return narrowed({math_function("power", dtype) + "(" + text(operands[0]) + ", " +
                         text(operands[1]) + ")"},
                        dtype);
    case ir::Op::shift_left:
    case ir::Op::shift_right:
        return spell_shift(expression);
    case ir::Op::bit_and:
        return spell_binary(expression, "&", binds_bit_and);
    case ir::Op::bit_or:
        return spell_binary(expression, "|", binds_bit_or);
    case ir::Op::bit_xor:
        for (const std::size_t side : {0, 1})
            if (has_all_bits_set(operands[side]))
                if (const std::string name = inversion_helper(dtype); !name.empty())
                    return {name + "(" + text(operands[1 - side]) + ")"};
        return spell_binary(expression, "^", binds_bit_xor);
    case ir::Op::bit_not:
        if (const std::string name = is_boolean(dtype) ? "" : inversion_helper(dtype);
            !name.empty())
            return {name + "(" + text(operands[0]) + ")"};
        return is_boolean(dtype)
                   ? Spelled{"!" + text(operands[0], binds_primary), binds_unary}
                   : narrowed({"~" + exact_text(operands[0], binds_primary), binds_unary}, dtype);
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
                                                  : spell_equality(expression, "==");
    case ir::Op::not_equal:
        return is_complex(operands[0].type.dtype)
                   ? Spelled{"!" + by_helper("equal", operands[0].type.dtype).text, binds_unary}
                   : spell_equality(expression, "!=");
    case ir::Op::logic_and:
        return {text(operands[0], binds_and) + " && " + text(operands[1], binds_and + 1),
                binds_and};
    case ir::Op::logic_or: {
        // Parentheses around `&&` within `||`, as compilers advise.
        const auto side = [&](const ir::Expression &each) {
            return text(each, each.op == ir::Op::logic_or ? binds_or : binds_and + 1);
        };
        return {side(operands[0]) + " || " + side(operands[1]), binds_or};
    }
    case ir::Op::logic_not:
        return {"!" + text(operands[0], binds_unary), binds_unary};
    case ir::Op::select:
        return {text(operands[0], binds_select + 1) + " ? " +
                    exact_text(operands[1], binds_select + 1) + " : " +
                    exact_text(operands[2], binds_select + 1),
                binds_select};
    case ir::Op::convert:
        return spell_convert(expression);
    case ir::Op::bit_cast: {
        const Dtype from = operands[0].type.dtype;
        if (words(from).is_promoted())
            return {helper("bits_" + name_of(from), from) + "(" + text(operands[0]) + ")"};
        if (words(dtype).is_promoted())
            return {helper("load_" + name_of(dtype), dtype) + "(" + text(operands[0]) + ")"};
        if (dialect_.dialect == Dialect::opencl_c)
            return {"as_" + std::string(words(dtype).value) + "(" + text(operands[0]) + ")"};
        return {"__builtin_bit_cast(" + std::string(words(dtype).value) + ", " + text(operands[0]) +
                ")"};
    }
    case ir::Op::math:
        return spell_math(expression);
    case ir::Op::load: {
        std::string at =
            loaded(element(expression.id, operands[0]), function_->roots[expression.id].type.dtype);
        if (is_boolean(dtype))  // stored as a byte of any value
            return {at + " != 0", binds_equal};
        return {std::move(at)};
    }
    case ir::Op::call:
        return {function_names_[expression.id] + arguments_of(expression)};
    case ir::Op::atomic:
        return {atomic(expression)};
    case ir::Op::bound_check:
        return {checked_index(expression)};
    case ir::Op::assertion:
        return {assertion(expression)};
    case ir::Op::group:
        break;
    }
    throw std::logic_error("a group function stands within an expression");
}

std::string Emitter::element(ir::RootId root, const ir::Expression &offset) {
    return roots_[root] + "[" + text(offset) + "]";
}

// ---------------------------------------------------------------- checks of debug builds

// Arguments for a check: its number, and the work-item's ids.
std::string Emitter::check_arguments(const ir::Expression &expression) {
    checks_.push_back({inlined_ ? inlined_->source : function_->source, expression.at,
                       expression.op == ir::Op::assertion, expression.text});
    std::string text = std::to_string(checks_.size() - 1);
    for (std::uint32_t i = 0; i < 3; ++i) {
        ir::Expression id;
        id.op = ir::Op::index;
        id.text = "global_id";
        id.number = i;
        text += ", " + index(id).text;
    }
    return text;
}

// Adds the function that writes the report, unless another work-item has written one.
void Emitter::add_report_failure() {
    const std::string number(words(dtypes::int64).value);
    add_once("report_failure", std::string(dialect_.function) + "void report_failure(" +
                                   std::string(dialect_.spaces[0]) + number +
                                   " *report, int check, " + number + " id0, " + number + " id1, " +
                                   number + " id2, " + number + " index, " + number +
                                   R"( extent) {
    if ()" + claims_report() + R"() {
        report[1] = check;
        report[2] = id0;
        report[3] = id1;
        report[4] = id2;
        report[5] = index;
        report[6] = extent;
    }
})");
}

// Returns the index if it is in bounds, else 0. Negative indices have had the extent added; the
// report shows the original value.
std::string Emitter::checked_index(const ir::Expression &expression) {
    add_report_failure();
    const std::string number(words(dtypes::int64).value);
    add_once("checked_index", std::string(dialect_.function) + number + " checked_index(" +
                                  std::string(dialect_.spaces[0]) + number + " *report, " + number +
                                  " index, " + number + " extent, int check, " + number + " id0, " +
                                  number + " id1, " + number + R"( id2) {
    if (index >= 0 && index < extent)
        return index;
    report_failure(report, check, id0, id1, id2, index < 0 ? index - extent : index, extent);
    return 0;
})");
    return "checked_index(report, " + text(expression.operands[0]) + ", " +
           text(expression.operands[1]) + ", " + check_arguments(expression) + ")";
}

std::string Emitter::assertion(const ir::Expression &expression) {
    add_report_failure();
    return "if (!" + text(expression.operands[0], binds_unary) + ") report_failure(report, " +
           check_arguments(expression) + ", 0, 0)";
}

// ---------------------------------------------------------------- operations of group functions

// Identity element of an operation.
std::string Emitter::identity(const std::string &operation, Dtype dtype) {
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
    if (is_float(dtype))
        return (least ? "-" : "") +
               std::string(dtype.bits == 64 ? dialect_.infinity64 : dialect_.infinity32);
    if (dtype.code == TypeCode::integer) {
        const std::string most = std::to_string((std::uint64_t{1} << (dtype.bits - 1)) - 1) +
                                 (dtype.bits == 64 ? std::string(words(dtype).suffix) : "");
        return least ? "(-" + most + " - 1)" : most;
    }
    return least ? "0" : "(" + type + ")~0";
}

std::string Emitter::combined(const std::string &operation, const std::string &a,
                              const std::string &b, Dtype dtype) {
    if (operation == "min" || operation == "max")
        return helper(is_float(dtype) ? operation + "imum" : operation, dtype) + "(" + a + ", " +
               b + ")";
    if (dtype.code == TypeCode::complex)
        return helper(operation == "mul" ? "multiply" : "add", dtype) + "(" + a + ", " + b + ")";
    const std::string sign = operation == "add"   ? "+"
                             : operation == "mul" ? "*"
                             : operation == "and" ? "&"
                             : operation == "or"  ? "|"
                                                  : "^";
    if ((operation == "add" || operation == "mul") && needs_unsigned(dtype, operation == "mul")) {
        const std::string cast = unsigned_cast(dtype);
        return "(" + value_type(dtype) + ")(" + cast + a + " " + sign + " " + cast + b + ")";
    }
    const std::string text = a + " " + sign + " " + b;
    if (words(dtype).is_promoted())
        return helper("round_" + name_of(dtype), dtype) + "(" + text + ")";
    return dtype.bits < 32 && dtype.code != TypeCode::boolean
               ? "(" + value_type(dtype) + ")(" + text + ")"
               : text;
}

}  // namespace entrepot::kernel
