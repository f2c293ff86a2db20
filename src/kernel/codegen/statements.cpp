// Emitter: statements, common to all dialects.
#include "kernel/codegen/emitter.hpp"
#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"

#include <cstdlib>

namespace entrepot::kernel {

namespace {

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

// Sign of an operation that C can combine with an assignment; empty for the others.
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

}  // namespace

void Emitter::map_to_source(const ir::Statement &statement) {
    inlined_ = statement.inlined.get();
    if (function_->source && statement.at.line > 0)
        out_.set_source_line(ir::Place{function_, inlined_, statement.at}.source().file,
                             statement.at.line);
}

void Emitter::declare_before(const ir::Statement &statement) {
    for (const ir::VariableId id : declarations_.before(statement))
        out_.line(value_type(function_->variables[id].type.dtype) + " " + variables_[id] + ";");
}

void Emitter::write(const ir::Row &row) {
    for (const ir::Statement *statement : row)
        write(*statement);
}

void Emitter::write_assignment(const ir::Statement &statement, ir::VariableId id,
                               const std::string &value) {
    if (declarations_.at(statement))
        out_.line((assigned_once(id) ? "const " : "") +
                  value_type(function_->variables[id].type.dtype) + " " + variables_[id] + " = " +
                  value + ";");
    else
        out_.line(variable(id) + " = " + value + ";");
}

void Emitter::write(const ir::Statement &statement) {
    if (statement.act != ir::Act::if_)
        declare_before(statement);
    map_to_source(statement);
    switch (statement.act) {
    case ir::Act::assign: {
        const ir::Expression &value = statement.expressions[0];
        if (value.op == ir::Op::group)
            return write_group_function(statement);
        const Dtype dtype = value.type.dtype;
        const std::string_view sign =
            is_float(dtype) && miscompiles_negation() ? "" : assignable_sign(value.op);
        if (!sign.empty() && !is_complex(dtype) && !is_small_integer(dtype) &&
            !words(dtype).is_promoted() && !needs_unsigned(value) &&
            value.operands[0].op == ir::Op::variable && value.operands[0].id == statement.id &&
            !declarations_.at(statement))
            return out_.line(variable(statement.id) + " " + std::string(sign) + "= " +
                             text(value.operands[1]) + ";");
        return write_assignment(statement, statement.id, text(value));
    }
    case ir::Act::unpack: {
        const ir::Expression &call = statement.expressions[0];
        const std::string name = unique(function_names_[call.id] + "_items");
        out_.line("const " + std::string(dialect_.dialect == Dialect::opencl_c ? "struct " : "") +
                  function_names_[call.id] + "_result " + name + " = " + text(call) + ";");
        for (std::size_t i = 0; i < statement.ids.size(); ++i)
            out_.line(variable(statement.ids[i]) + " = " + name + ".item" + std::to_string(i) +
                      ";");
        return;
    }
    case ir::Act::store: {
        const ir::Expression &offset = statement.expressions[0], &value = statement.expressions[1];
        const Dtype dtype = value.type.dtype;
        const std::string_view sign =
            is_float(dtype) && miscompiles_negation() ? "" : assignable_sign(value.op);
        if (!sign.empty() && !is_complex(dtype) && !is_small_integer(dtype) &&
            !words(dtype).is_promoted() && !is_boolean(dtype) && !needs_unsigned(value) &&
            value.operands[0].op == ir::Op::load && value.operands[0].id == statement.id &&
            build::same(value.operands[0].operands[0], offset))
            return out_.line(element(statement.id, offset) + " " + std::string(sign) + "= " +
                             text(value.operands[1]) + ";");
        return out_.line(element(statement.id, offset) + " = " + stored(value) + ";");
    }
    case ir::Act::if_:
        return write_if(statement, false);
    case ir::Act::while_:
        out_.open("while (" + text(statement.expressions[0]) + ")");
        begin_iteration(statement);
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
        map_to_source(statement);
    }
    const std::string head = "if (" + text(statement.expressions[0]) + ")";
    within_else ? out_.reopen("else " + head) : out_.open(head);
    write(statement.body);
    const auto &otherwise = statement.otherwise;
    if (otherwise.size() == 1 && otherwise[0].act == ir::Act::if_ &&
        declarations_.before(otherwise[0]).empty())
        return write_if(otherwise[0], true);
    if (!otherwise.empty()) {
        out_.reopen("else");
        write(otherwise);
    }
    out_.close();
}

// Writes `for (type name = start; name < stop; ++name)`. If the last step could overflow the type,
// the loop counts its rounds instead, and the final step wraps. Bounds that may change in the loop
// are copied to constants first.
Emitter::ForHead Emitter::for_head(const ir::Statement &statement) {
    const ir::Expression &start = statement.expressions[0], &stop = statement.expressions[1],
                         &step = statement.expressions[2];
    const ir::Variable &counter = function_->variables[statement.id];
    const std::string type = value_type(counter.type.dtype);
    const std::string name = declarations_.at(statement)
                                 ? variables_[statement.id]
                                 : unique(variables_[statement.id] + "_next");
    const auto stays = [&](const ir::Expression &expression) {
        bool known = true;
        ir::for_each_within(expression, [&](const ir::Expression &each) {
            known &= each.op == ir::Op::constant || each.op == ir::Op::extent ||
                     each.op == ir::Op::stride || each.op == ir::Op::convert ||
                     each.op == ir::Op::add || each.op == ir::Op::subtract ||
                     each.op == ir::Op::multiply ||
                     (each.op == ir::Op::variable && assigned_once(each.id));
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
    const std::string end = kept(stop, "_stop", binds_less + 1),
                      by = kept(step, "_step", binds_unary);
    const auto *known =
        step.op == ir::Op::constant ? std::get_if<std::int64_t>(&step.value) : nullptr;
    if (known == nullptr || *known > INT32_MAX || *known < INT32_MIN ||
        !ranges_->ends_within_type(statement)) {
        const std::string left = unique(variables_[statement.id] + "_left"),
                          cast = unsigned_cast(counter.type.dtype);
        const std::string next =
            needs_unsigned(counter.type.dtype, false)
                ? name + " = (" + type + ")(" + cast + name + " + " + cast + by + ")"
                : name + " += " + by;
        return {"for (" + type + " " + name + " = " + text(start) + ", " + left + " = " +
                    helper("range_length", counter.type.dtype) + "(" + name + ", " + end + ", " +
                    by + "); " + left + " != 0; --" + left + ", " + next + ")",
                name};
    }
    const bool down = *known < 0;
    const std::string until = name + (down ? " > " : " < ") + end;
    ir::Expression distance = step;
    distance.value = std::abs(*known);
    const std::string next = *known == 1 ? "++" + name
                             : *known == -1
                                 ? "--" + name
                                 : name + (down ? " -= " : " += ") + constant(distance, false);
    return {"for (" + type + " " + name + " = " + text(start) + "; " + until + "; " + next + ")",
            name};
}

void Emitter::write_for(const ir::Statement &statement) {
    const ForHead head = for_head(statement);
    map_to_source(statement);
    out_.open(head.text);
    begin_iteration(statement);
    if (!declarations_.at(statement))  // used after the loop, or context-saved
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
    out_.line("const " + std::string(dialect_.dialect == Dialect::opencl_c ? "struct " : "") +
              function_name(*function_) + "_result " + name + " = {" + joined(items) + "};");
    out_.line("return " + name + ";");
}

// On the host, a float is printed with the fewest digits that read back as its value, as in Python.
std::string Emitter::shortest_text(Dtype dtype) {
    const bool wide = dtype.bits == 64;
    const std::string type = wide ? "double" : "float", called = "shortest_" + type;
    add_once("c_text", "extern \"C\" int snprintf(char *, unsigned long, const char *, ...);\n"
                       "extern \"C\" double strtod(const char *, char **);\n"
                       "extern \"C\" float strtof(const char *, char **);\n\n"
                       "struct number_text {\n    char text[48];\n};");
    add_once(
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
            "        snprintf(shown.text, sizeof shown.text, \"%.*f\", digits > exponent ? digits "
            "- exponent : 1, (double)x);\n"
            "    return shown;\n"
            "}");
    return called;
}

void Emitter::write_print(const ir::Statement &statement) {
    const bool is_opencl = dialect_.dialect == Dialect::opencl_c;
    std::string format;
    std::vector<std::string> values{""};
    std::size_t next = 0;
    // CUDA's printf takes 32 arguments. A float needs two, for the .0 at its end.
    constexpr std::size_t most_arguments = 32;
    const auto needs_two = [](const ir::Expression &each) {
        return is_float(each.type.dtype) || is_complex(each.type.dtype);
    };
    const std::size_t arguments =
        statement.expressions.size() +
        static_cast<std::size_t>(std::ranges::count_if(statement.expressions, needs_two));
    const bool shows_whole = dialect_.dialect != Dialect::cuda || arguments <= most_arguments;
    const auto add_float = [&](const std::string &value, Dtype dtype) {
        const bool wide = dtype.bits == 64;
        if (dialect_.dialect == Dialect::cpp) {
            format += "%s";
            values.push_back(shortest_text(dtype) + "(" + value + ").text");
        } else if (!shows_whole) {
            format += wide ? "%.15g" : "%.7g";
            values.push_back("(double)" + value);
        } else {
            // Values without decimal places end in .0, as in Python.
            const bool is_single = is_opencl && !target_.fp64;
            const std::string shown = unique("shown"), suffix = is_single ? "f" : "";
            const std::string most = (wide ? "1e15" : "1e7") + suffix,
                              large = (wide ? "1e14" : "1e6") + suffix;
            out_.line("const " + std::string(is_single ? "float " : "double ") + shown + " = " +
                      value + ";");
            format += wide ? "%.15g%s" : "%.7g%s";
            values.push_back(shown);
            values.push_back(shown + " < " + most + " && " + shown + " > -" + most + " && (" +
                             shown + " >= " + large + " || " + shown + " <= -" + large + " || (" +
                             std::string(words(dtypes::int64).value) + ")" + shown +
                             " == " + shown + ") ? \".0\" : \"\"");
        }
    };
    const auto add = [&](const ir::Expression &value) {
        const Dtype dtype = value.type.dtype;
        if (is_complex(dtype)) {
            format += dtype.bits == 128 ? "(%.15g%+.15gj)" : "(%.7g%+.7gj)";
            values.push_back(text(value, binds_primary) + ".x");
            values.push_back(text(value, binds_primary) + ".y");
        } else if (is_boolean(dtype)) {
            format += "%s";
            values.push_back(text(value, binds_select + 1) + " ? \"True\" : \"False\"");
        } else if (is_integer(dtype)) {
            const bool is_signed = dtype.code == TypeCode::integer;
            format += is_opencl ? (is_signed ? "%ld" : "%lu") : (is_signed ? "%lld" : "%llu");
            const Dtype wide{dtype.code, 64};
            values.push_back(dtype == wide ? exact_text(value, binds_any)
                                           : "(" + std::string(words(wide).value) + ")" +
                                                 text(value, binds_unary));
        } else {
            add_float(text(value, binds_unary), dtype);
        }
    };
    for (std::size_t i = 0; i < statement.text.size(); ++i) {
        const char c = statement.text[i];
        if (c == '{' && i + 1 < statement.text.size() && statement.text[i + 1] == '}' &&
            next < statement.expressions.size()) {
            add(statement.expressions[next++]);
            ++i;
        } else if ((c == '{' || c == '}') && i + 1 < statement.text.size() &&
                   statement.text[i + 1] == c) {
            format += c;
            ++i;
        } else {
            format += c == '%' ? "%%" : std::string(1, c);
        }
    }
    values[0] = literal(format);
    if (dialect_.dialect == Dialect::sycl) {
        const std::string name = unique("format");
        out_.line("static const __attribute__((opencl_constant)) char " + name +
                  "[] = " + values[0] + ";");
        values[0] = name;
        return out_.line("sycl::ext::oneapi::experimental::printf(" + joined(values) + ");");
    }
    out_.line("printf(" + joined(values) + ");");
}

}  // namespace entrepot::kernel
