// Narrow: 32-bit variables, unsigned conversions, and arithmetic that fits its type.
#include "kernel/passes/narrow.hpp"

#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/ranges.hpp"
#include "kernel/ir/walk.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;
using Variables = std::set<ir::VariableId>;

bool is_address_arithmetic(const Expression &expression) {
    return expression.op == Op::add || expression.op == Op::subtract ||
           expression.op == Op::multiply;
}

// Finds the expressions that lead to elements: offsets of loads, stores and atomics, and the sums
// and products within them. Variables that are read only for offsets belong to them.
class Offsets {
public:
    explicit Offsets(ir::Module &module) {
        for (ir::Function &function : module.functions) {
            Function &found = functions_.emplace_back();
            found.parameters = ir::parameters_in_order(function.variables);
            find_variables(function, found);
        }
    }

    // Calls `visit` for every expression of a function; the flag tells whether it leads to an
    // element.
    template <class Visit>
    void for_each(ir::Function &function, std::size_t number, Visit &&visit) const {
        ir::for_each_statement(function.body, [&](Statement &statement) {
            for (std::size_t i = 0; i < statement.expressions.size(); ++i) {
                const bool is_address = (statement.act == Act::store && i == 0) ||
                                        (statement.act == Act::assign &&
                                         functions_[number].address_only.contains(statement.id));
                walk(statement.expressions[i], is_address, visit);
            }
        });
    }

private:
    struct Function {
        Variables address_only;                  // variables read only for offsets
        std::vector<ir::VariableId> parameters;  // parameters in the order of a call's operands
    };

    // Finds the variables that are read for offsets only. All int64 variables are, except those
    // read elsewhere and those from which such a variable is computed.
    void find_variables(ir::Function &function, Function &found) {
        std::vector<ir::VariableId> others;
        std::map<ir::VariableId, std::vector<ir::VariableId>> made_of;
        const auto read_by_others = [&](Expression &expression, bool is_address,
                                        std::vector<ir::VariableId> &into) {
            const auto visit = [&](const Expression &each, bool each_is_address) {
                if (each.op == Op::variable && !each_is_address)
                    into.push_back(each.id);
            };
            walk(expression, is_address, visit);
        };
        for (ir::VariableId id = 0; id < function.variables.size(); ++id)
            if (function.variables[id].type.dtype == dtypes::int64)
                found.address_only.insert(id);
        ir::for_each_statement(function.body, [&](Statement &statement) {
            const bool assigns = statement.act == Act::assign;
            for (std::size_t i = 0; i < statement.expressions.size(); ++i) {
                read_by_others(statement.expressions[i],
                               assigns || (statement.act == Act::store && i == 0), others);
                if (assigns)
                    read_by_others(statement.expressions[i], false, made_of[statement.id]);
            }
            if (assigns && !found.address_only.contains(statement.id))
                others.push_back(statement.id);
        });
        while (!others.empty()) {
            const ir::VariableId id = others.back();
            others.pop_back();
            found.address_only.erase(id);
            for (const ir::VariableId each : std::exchange(made_of[id], {}))
                others.push_back(each);
        }
    }

    template <class Visit> void walk(Expression &expression, bool is_address, Visit &visit) const {
        for (std::size_t i = 0; i < expression.operands.size(); ++i) {
            bool operand_is_address = is_address && is_address_arithmetic(expression);
            if (expression.op == Op::load || expression.op == Op::atomic)
                operand_is_address = i == 0;
            else if (expression.op == Op::call)
                operand_is_address = functions_[expression.id].address_only.contains(
                    functions_[expression.id].parameters[i]);
            walk(expression.operands[i], operand_is_address, visit);
        }
        visit(expression, is_address);
    }

    std::vector<Function> functions_;  // callees before callers, as in the module
};

// True if overflow is undefined in C. For `<<` a negative operand is undefined, too.
bool has_undefined_overflow(const Expression &expression) {
    const bool calculates = expression.op == Op::negate || expression.op == Op::add ||
                            expression.op == Op::subtract || expression.op == Op::multiply ||
                            expression.op == Op::shift_left;
    return calculates && expression.type.kind == Type::Kind::scalar &&
           full_range(expression.type.dtype);
}

bool is_narrow(const std::optional<Range> &range) {
    return range && range->is_within(*full_range(dtypes::int32));
}

// True if the expression is available in 32 bits at no cost.
bool is_free_in_32_bits(const Expression &expression) {
    const auto value = build::constant_of(expression);
    return value ? is_narrow(Range{*value, *value})
                 : build::without_widening(expression).type == scalar_type(dtypes::int32);
}

class Narrowing {
public:
    Narrowing(ir::Function &function, const Variables &used_in_addresses)
        : function_(function), ranges_(function) {
        Variables wide = used_in_addresses;
        find(function.body, false, wide);
        std::erase_if(narrow_, [&](ir::VariableId id) {
            return wide.contains(id) || !is_narrow(ranges_.of(id));
        });
    }

    void run() {
        if (narrow_.empty())
            return;
        ir::for_each_statement(function_.body, [&](Statement &statement) {
            for (Expression &expression : statement.expressions)
                widen_reads(expression);
            const bool changes = statement.act == Act::for_ || statement.act == Act::assign;
            if (changes && narrow_.contains(statement.id))
                for (Expression &expression : statement.expressions)
                    expression = narrowed(expression);
        });
        for (const ir::VariableId id : narrow_)
            function_.variables[id].type = scalar_type(dtypes::int32);
    }

private:
    // Finds the variables that change in a loop. `wide`: counters whose final step may exceed 32
    // bits.
    void find(const std::vector<Statement> &statements, bool in_loop, Variables &wide) {
        for (const Statement &statement : statements) {
            const bool is_loop = ir::is_loop(statement);
            for (const ir::VariableId id : ir::assigned_by(statement))
                if (function_.variables[id].type.dtype == dtypes::int64 &&
                    !function_.variables[id].parameter && (in_loop || is_loop))
                    narrow_.insert(id);
            if (statement.act == Act::for_ && !ends_narrow(statement))
                wide.insert(statement.id);
            find(statement.body, in_loop || is_loop, wide);
            find(statement.otherwise, in_loop, wide);
        }
    }

    // True if the final value of the counter fits as well.
    bool ends_narrow(const Statement &loop) {
        const std::optional<Range> start = ranges_.of(loop.expressions[0]),
                                   stop = ranges_.of(loop.expressions[1]);
        const auto step = build::constant_of(loop.expressions[2]);
        if (!is_narrow(start) || !is_narrow(stop) || !step || !is_narrow(Range{*step, *step}))
            return false;
        const std::int64_t beyond = *step > 0 ? stop->most - 1 + *step : stop->least + 1 + *step;
        return is_narrow(Range{beyond, beyond});
    }

    bool reads_narrow(const Expression &expression) const {
        const Expression &read = build::without_widening(expression);
        return &read != &expression && read.op == Op::variable && narrow_.contains(read.id);
    }

    // Reads narrowed variables as int64, except where 32 bits suffice.
    void widen_reads(Expression &expression) {
        for (Expression &operand : expression.operands)
            widen_reads(operand);
        const auto &operands = expression.operands;
        if (expression.op == Op::variable && narrow_.contains(expression.id)) {
            expression.type = scalar_type(dtypes::int32);
            expression = build::converted(expression, dtypes::int64);
        } else if (expression.op == Op::convert && reads_narrow(operands[0])) {
            expression =
                build::converted(build::without_widening(operands[0]), expression.type.dtype);
        } else if (build::is_comparison(expression.op) &&
                   std::ranges::all_of(operands, is_free_in_32_bits) &&
                   std::ranges::any_of(
                       operands, [this](const Expression &each) { return reads_narrow(each); })) {
            for (Expression &operand : expression.operands)
                operand = narrowed(operand);
        }
    }

    // Requires: the value fits 32 bits.
    Expression narrowed(const Expression &expression) {
        Expression result = expression;
        const bool is_sum = expression.op == Op::add || expression.op == Op::subtract;
        if (is_sum && std::ranges::all_of(expression.operands, is_free_in_32_bits)) {
            for (Expression &operand : result.operands)
                operand = narrowed(operand);
            result.no_overflow = true;
        } else if (expression.op != Op::constant) {
            return build::converted(build::without_widening(expression), dtypes::int32);
        }
        result.type = scalar_type(dtypes::int32);
        return result;
    }

    ir::Function &function_;
    RangeAnalysis ranges_;
    Variables narrow_;
};

// `is_offset`: the expression is part of the offset of an access. An offset is evaluated only for
// an access, and a wrapped offset would be outside any array. A variable or argument is computed
// earlier, possibly without an access, so it may wrap.
void mark(Expression &expression, bool is_offset, RangeAnalysis &ranges) {
    const bool accesses = expression.op == Op::load || expression.op == Op::atomic;
    for (std::size_t i = 0; i < expression.operands.size(); ++i)
        mark(expression.operands[i],
             (accesses && i == 0) || (is_offset && is_address_arithmetic(expression)), ranges);
    if (!has_undefined_overflow(expression) ||
        (expression.op == Op::shift_left && !ranges.of(expression.operands[0])->is_non_negative()))
        return;
    const std::optional<Range> range = is_offset ? std::nullopt : ranges.unwrapped(expression);
    expression.no_overflow |=
        is_offset || (range && range->is_within(*full_range(expression.type.dtype)));
}

}  // namespace

void narrow_counters(ir::Module &module) {
    const Offsets offsets(module);
    for (std::size_t i = 0; i < module.functions.size(); ++i) {
        Variables used_in_addresses;
        offsets.for_each(module.functions[i], i, [&](const Expression &each, bool is_address) {
            if (each.op == Op::variable && is_address)
                used_in_addresses.insert(each.id);
        });
        Narrowing(module.functions[i], used_in_addresses).run();
    }
}

void convert_ids_unsigned(ir::Module &module) {
    for (ir::Function &function : module.functions) {
        Variables made_of_ids;
        const auto reads_id = [&](const Expression &expression) {
            bool found = false;
            ir::for_each_within(expression, [&](const Expression &each) {
                found |= (each.op == Op::index &&
                          (each.text == "global_id" || each.text == "local_id")) ||
                         (each.op == Op::variable && made_of_ids.contains(each.id));
            });
            return found;
        };
        RangeAnalysis ranges(function);
        ir::for_each_statement(function.body, [&](Statement &statement) {
            for (Expression &expression : statement.expressions)
                ir::for_each_within(expression, [&](Expression &each) {
                    if (each.op != Op::convert || each.type.dtype != dtypes::float64)
                        return;
                    Expression &operand = each.operands[0];
                    if (operand.type.dtype == dtypes::int64 && reads_id(operand) &&
                        ranges.of(operand)->is_non_negative())
                        operand = build::converted(operand, dtypes::uint64);
                });
            if (statement.act == Act::assign && reads_id(statement.expressions[0]))
                made_of_ids.insert(statement.id);
        });
    }
}

void mark_no_overflow(ir::Module &module) {
    for (ir::Function &function : module.functions) {
        RangeAnalysis ranges(function);
        ir::for_each_statement(function.body, [&](Statement &statement) {
            for (std::size_t i = 0; i < statement.expressions.size(); ++i)
                mark(statement.expressions[i], statement.act == Act::store && i == 0, ranges);
            if (statement.act == Act::assign && increment_of(statement, statement.id) &&
                ranges.increments_fit(statement.id))
                statement.expressions[0].no_overflow = true;
        });
    }
}

}  // namespace entrepot::kernel
