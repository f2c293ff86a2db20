// Host C++: fences, atomics, bounds checks and group functions.
#include "kernel/codegen/host.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"

#include <functional>

namespace entrepot::kernel {

// ---------------------------------------------------------------- fences, atomics, bounds

constexpr const char *order_words[] = {"__ATOMIC_RELAXED", "__ATOMIC_ACQUIRE", "__ATOMIC_RELEASE",
                                       "__ATOMIC_ACQ_REL", "__ATOMIC_SEQ_CST"};

void HostEmitter::write_fence(const ir::Statement &statement) {
    out_.line("__atomic_thread_fence(" +
              std::string(order_words[static_cast<std::size_t>(statement.order)]) + ");");
}

// One thread runs a whole group, so that memory seen only by the group needs no atomic instruction.
// Floats are exchanged by their bits.
std::string HostEmitter::atomic(const ir::Expression &expression) {
    const ir::Root &root = function_->roots[expression.id];
    const Dtype dtype = root.type.dtype;
    if (dtype.code == TypeCode::complex || dtype.code == TypeCode::boolean ||
        words(dtype).is_promoted())
        refuse_here(expression.at, "an atomic of " + name_of(dtype) +
                                       " is not supported; use an integer, float32 or float64");
    const std::string &name = expression.text;
    const std::string T = storage_type(dtype),
                      order = order_words[static_cast<std::size_t>(expression.order)];
    const std::string at = std::string("&").append(element(expression.id, expression.operands[0]));
    std::vector<std::string> values{at};
    for (std::size_t i = 1; i < expression.operands.size(); ++i)
        values.push_back(text(expression.operands[i]));
    const std::string listed = joined(values);
    if (root.type.space != Space::global) {
        const std::string called = "group_" + name + "_" + name_of(dtype);
        std::string given = ", " + T + " value",
                    change = "    *at = (" + T + ")(" + operation_text(name) + ");\n";
        if (name == "load")
            given = change = "";
        if (name == "compare_exchange") {
            given = ", " + T + " expected, " + T + " desired";
            const std::string bits(words({TypeCode::unsigned_integer, dtype.bits}).value);
            change = "    if (__builtin_bit_cast(" + bits + ", old) == __builtin_bit_cast(" + bits +
                     ", expected))\n        *at = desired;\n";
        }
        const std::string pointer = name == "load" ? "const " + T + " *at" : T + " *at";
        add_once(called, "static inline " + T + " " + called + "(" + pointer + given + ") {\n    " +
                             T + " old = *at;\n" + change + "    return old;\n}");
        return called + "(" + listed + ")";
    }
    const bool is_integer =
        dtype.code == TypeCode::integer || dtype.code == TypeCode::unsigned_integer;
    const std::string failing = expression.order == ir::Order::release   ? order_words[0]
                                : expression.order == ir::Order::acq_rel ? order_words[1]
                                                                         : order;
    if (is_integer && name != "min" && name != "max") {
        if (name == "load")
            return "__atomic_load_n(" + at + ", " +
                   (expression.order == ir::Order::release || expression.order == ir::Order::acq_rel
                        ? order_words[4]
                        : order) +
                   ")";
        if (name == "exchange" || name == "store")
            return "__atomic_exchange_n(" + listed + ", " + order + ")";
        if (name != "compare_exchange")
            return "__atomic_fetch_" + name + "(" + listed + ", " + order + ")";
    }
    const std::string B(words({TypeCode::unsigned_integer, dtype.bits}).value);
    const std::string called =
        "atomic_" + name + "_" + name_of(dtype) +
        (expression.order == ir::Order::relaxed
             ? std::string()
             : std::string("_").append(std::to_string(static_cast<int>(expression.order))));
    const auto as = [](const std::string &to, const std::string &what) {
        return "__builtin_bit_cast(" + to + ", " + what + ")";
    };
    std::string body;
    if (name == "load")
        body = "(const " + T + " *at) {\n    return " +
               as(T, "__atomic_load_n((const " + B + " *)at, " + failing + ")") + ";\n}";
    else if (name == "compare_exchange")
        body = "(" + T + " *at, " + T + " expected, " + T + " desired) {\n    " + B +
               " bits = " + as(B, "expected") + ";\n    __atomic_compare_exchange_n((" + B +
               " *)at, &bits, " + as(B, "desired") + ", false, " + order + ", " + failing +
               ");\n    return " + as(T, "bits") + ";\n}";
    else
        body = "(" + T + " *at, " + T + " value) {\n    " + B + " bits = __atomic_load_n((" + B +
               " *)at, __ATOMIC_RELAXED);\n    for (;;) {\n        const " + T +
               " old = " + as(T, "bits") + ";\n        if (__atomic_compare_exchange_n((" + B +
               " *)at, &bits, " + as(B, "(" + T + ")(" + operation_text(name) + ")") + ", true, " +
               order + ", " + failing + "))\n            return old;\n    }\n}";
    add_once(called, "static inline " + T + " " + called + body);
    return called + "(" + listed + ")";
}

std::string HostEmitter::claims_report() const {
    return "__atomic_exchange_n(report, 1, __ATOMIC_RELAXED) == 0";
}

// ---------------------------------------------------------------- group functions

// All work-items have stored their values in memory. A sub-group function reads those of its own
// sub-group.
void HostEmitter::write_group_function(const ir::Statement &statement) {
    const ir::Expression &call = statement.expressions[0];
    const std::string &name = call.text;
    const Dtype dtype = call.operands[0].type.dtype, result_type = call.type.dtype;
    const std::string given = context_variables_.at(call.operands[0].id).name;
    const bool has_result = statement.act == ir::Act::assign;
    if (!has_result)
        return;
    const bool shared = split_->is_shared(statement.id);
    const std::string to =
        shared ? variables_[statement.id] : context_variables_.at(statement.id).name;
    const std::string T = value_type(result_type);
    const bool in_sub_group = call.scope == ir::Scope::sub_group;
    const std::string width = std::to_string(sub_group());
    const std::string operation = name == "any" ? "or" : name == "all" ? "and" : call.operation;
    const auto for_items = [&](const std::string &first, const std::string &last,
                               const std::function<void()> &body) {
        map_to_items();
        out_.open("for (long long item = " + first + "; item < " + last + "; ++item)");
        body();
        out_.close();
    };
    const bool moves = name == "broadcast" || name.starts_with("shuffle");
    const bool outer = in_sub_group;
    std::string first = "0", last = "items";
    out_.open("");
    if (outer) {
        out_.open("for (long long first = 0; first < items; first += " + width + ")");
        out_.line("const long long last = first + " + width + " < items ? first + " + width +
                  " : items;");
        first = "first";
        last = "last";
    }
    if (moves) {
        const ir::Expression *where = call.operands.size() > 1 ? &call.operands[1] : nullptr;
        if (name == "broadcast") {
            const std::string source =
                ir::per_item_operands(call) == 2
                    ? context_variables_.at(where->id).name + "[" + first + "]"
                : where ? text(*where)
                        : "0";
            std::string place = first;
            if (source != "0") {
                // An index outside the group selects the first work-item.
                out_.line("const long long other = " + source + ";");
                place =
                    first + " + (other >= 0 && other < " + last + " - " + first + " ? other : 0)";
            }
            const std::string value = given + "[" + place + "]";
            if (shared)
                out_.line(to + " = " + value + ";");
            else {
                out_.line("const " + T + " value = " + value + ";");
                for_items(first, last, [&] { out_.line(to + "[item] = value;"); });
            }
        } else {
            // The source work-item is given by an operand of each work-item, which may be a
            // context-saved variable.
            out_.open("for (long long item = " + first + "; item < " + last + "; ++item)");
            const std::string by = context_variables_.at(where->id).name + "[item]";
            std::string other = name == "shuffle" ? first + " + " + by
                                : name == "shuffle_xor"
                                    ? first + " + ((item - " + first + ") ^ (" + by + "))"
                                : name == "shuffle_up" ? "item - (" + by + ")"
                                                       : "item + (" + by + ")";
            out_.line("const long long other = " + other + ";");
            out_.line(to + "[item] = " + given + "[other >= " + first + " && other < " + last +
                      " ? other : item];");
            out_.close();
        }
    } else {
        const bool scans = name.ends_with("scan");
        out_.line(T + " all = " + identity(operation, dtype) + ";");
        for_items(first, last, [&] {
            if (name == "exclusive_scan")
                out_.line(to + "[item] = all;");
            out_.line("all = " + combined(operation, "all", given + "[item]", result_type) + ";");
            if (name == "inclusive_scan")
                out_.line(to + "[item] = all;");
        });
        if (!scans && shared)
            out_.line(to + " = all;");
        if (!scans && !shared)
            for_items(first, last, [&] { out_.line(to + "[item] = all;"); });
    }
    if (outer)
        out_.close();
    out_.close();
}

}  // namespace entrepot::kernel
