// Interleaving: selects loops that gain from it, and those that vector instructions can execute.
#include "kernel/passes/interleave.hpp"

#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/passes/definitions.hpp"
#include "kernel/passes/loop_carried.hpp"
#include "kernel/passes/vector_math.hpp"

#include <algorithm>
#include <map>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using Variables = InterleavePlan::Variables;

// Interleaved work-items that each load other elements. Rows of arrays are often a power of two
// apart, so that corresponding elements share a set of the L1 cache. With more work-items, their
// lines would evict each other.
constexpr int scalar_width = 4;
// Compilers unroll a loop over lanes only up to a size. Otherwise the lanes' variables stay in
// memory.
constexpr int max_scalar_operations = 40;

// Bytes of a variable in all lanes of the largest block: enough vectors to hide the latency of an
// addition. Smaller blocks take what remains of a row.
constexpr int vector_bytes = 256;
constexpr int smallest_vector_width = 8;
constexpr int max_vector_operations = 120;

bool only_computes(const ir::Module &module, const std::vector<ir::Statement> &list);

// True if the expression has no side effects.
bool is_pure(const ir::Module &module, const ir::Expression &expression) {
    bool pure = true;
    ir::for_each_within(expression, [&](const ir::Expression &each) {
        pure &= each.op != ir::Op::atomic && each.op != ir::Op::group && !ir::is_check(each);
        if (each.op == ir::Op::call)
            pure &= only_computes(module, module.functions[each.id].body);
    });
    return pure;
}

bool only_computes(const ir::Module &module, const std::vector<ir::Statement> &list) {
    return std::ranges::all_of(list, [&](const ir::Statement &each) {
        const bool computes =
            each.act == ir::Act::assign || each.act == ir::Act::if_ || each.act == ir::Act::return_;
        return computes && only_computes(module, each.body) &&
               only_computes(module, each.otherwise) &&
               std::ranges::all_of(each.expressions, [&](const ir::Expression &value) {
                   return is_pure(module, value);
               });
    });
}

// True if a float of one iteration depends on the previous iteration: a recurrence, whose latency
// bounds the loop.
bool has_float_recurrence(const std::vector<ir::Statement> &body) {
    bool found = false;
    ir::for_each_statement(body, [&](const ir::Statement &statement) {
        if (statement.act != ir::Act::assign)
            return;
        const ir::Expression &value = statement.expressions[0];
        found |= (is_float(value.type.dtype) || is_complex(value.type.dtype)) &&
                 reads(value, statement.id);
    });
    return found;
}

int count_operations(const ir::Module &module, const std::vector<ir::Statement> &body) {
    int count = 0;
    ir::for_each_expression(body, [&](const ir::Expression &each) {
        count +=
            each.op == ir::Op::call ? count_operations(module, module.functions[each.id].body) : 1;
    });
    return count;
}

bool has_short_trip_count(const ir::Statement &loop) {
    const auto start = build::constant_of(loop.expressions[0]),
               stop = build::constant_of(loop.expressions[1]);
    if (!start || !stop)
        return false;
    const auto [least, greatest] = std::minmax(*start, *stop);
    return static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least) <
           std::uint64_t{min_interleaved_trip_count};
}

bool benefits_from_interleaving(const ir::Module &module, const ir::Statement &loop) {
    return loop.act == ir::Act::for_ &&
           module.kernel().variables[loop.id].type.dtype == dtypes::int64 &&
           std::ranges::all_of(loop.expressions,
                               [&](const ir::Expression &each) { return is_pure(module, each); }) &&
           only_computes(module, loop.body) && has_float_recurrence(loop.body) &&
           count_operations(module, loop.body) <= max_vector_operations &&
           !has_short_trip_count(loop);
}

void add_used(const ir::Function &kernel, const ir::Expression &expression, Variables &found) {
    ir::for_each_within(expression, [&](const ir::Expression &each) {
        if (each.op == ir::Op::variable && !kernel.variables[each.id].parameter)
            found.insert(each.id);
    });
}

Variables used_by_row(const ir::Function &kernel, const ir::Row &row) {
    Variables found;
    for (const ir::Statement *statement : row)
        found.merge(ir::used_within(*statement));
    std::erase_if(found,
                  [&](ir::VariableId id) { return kernel.variables[id].parameter.has_value(); });
    return found;
}

// Decides whether vector instructions can execute a loop's body for consecutive work-items. They
// then access consecutive elements of each array, or the same one, and all operations exist for
// vectors.
class VectorCheck {
public:
    VectorCheck(const ir::Function &kernel, std::uint32_t dimension, bool fast_math)
        : kernel_(kernel), dimension_(dimension), fast_math_(fast_math) {
        ir::for_each_statement(kernel.body, [&](const ir::Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                definitions_[id] = definitions_.contains(id) || statement.act != Act::assign
                                       ? nullptr
                                       : &statement.expressions[0];
            if (statement.act == Act::for_)
                counters_.insert(statement.id);
            else
                for (const ir::VariableId id : ir::assigned_by(statement))
                    assigned_.insert(id);
        });
    }

    // `is_conditional`: only some work-items may execute the statements.
    bool can_vectorize(const std::vector<ir::Statement> &list, bool is_conditional = false) const {
        return std::ranges::all_of(list, [&](const ir::Statement &each) {
            return (each.act == Act::assign || each.act == Act::if_) &&
                   can_vectorize(each.expressions[0], is_conditional) &&
                   can_vectorize(each.body, true) && can_vectorize(each.otherwise, true);
        });
    }

private:
    bool can_vectorize(const Expression &value, bool is_conditional) const {
        const bool is_common = step_of(value) == 0;  // computed once for all lanes
        const Dtype dtype = value.type.dtype;
        if (!is_common && !has_lanes(dtype))
            return false;
        const auto operands = [&](std::size_t unconditional = 3) {
            for (std::size_t i = 0; i < value.operands.size(); ++i)
                if (!can_vectorize(value.operands[i], is_conditional || i >= unconditional))
                    return false;
            return true;
        };
        switch (value.op) {
        case Op::constant:
        case Op::variable:
        case Op::extent:
        case Op::stride:
        case Op::index:
            return true;
        case Op::negate:
        case Op::add:
        case Op::subtract:
        case Op::multiply:
            // Few processors multiply vectors of int64.
            return (is_common || is_float(dtype) || dtype == dtypes::int32) && operands();
        case Op::divide:
        case Op::less:
        case Op::less_equal:
        case Op::greater:
        case Op::greater_equal:
        case Op::equal:
        case Op::not_equal:
        case Op::logic_not:
            return operands();
        case Op::logic_and:
        case Op::logic_or:
        case Op::select:
            return operands(1);
        case Op::convert:
            return (is_common || converts_vectors(value.operands[0].type.dtype, dtype)) &&
                   operands();
        case Op::math:
            return is_float(dtype) && has_vector_form(value.text) && operands();
        case Op::load: {
            const std::optional<std::int64_t> step = step_of(value.operands[0]);
            return !is_conditional && has_lanes(dtype) && !is_boolean(dtype) &&
                   (step == 0 || step == 1);
        }
        default:
            return false;
        }
    }

    // True for types that vectors hold. A bool becomes a mask.
    static bool has_lanes(Dtype dtype) {
        return is_boolean(dtype) || dtype == dtypes::float32 || dtype == dtypes::float64 ||
               dtype == dtypes::int32 || dtype == dtypes::int64;
    }

    // Few processors convert vectors between floats and int64.
    static bool converts_vectors(Dtype from, Dtype to) {
        return !is_boolean(from) && !is_boolean(to) &&
               (is_float(from) ? to != dtypes::int64 : from == dtypes::int32);
    }

    bool has_vector_form(const std::string &function) const {
        const VectorMath *const row = fast_math_ ? find_vector_math(function) : nullptr;
        return function == "sqrt" || function == "abs" || function == "min" || function == "max" ||
               (row != nullptr && row->since <= 22);
    }

    // Difference of an integer's values for consecutive work-items. For other types it is 0 if all
    // have the same value.
    // Returns: nullopt if unknown.
    std::optional<std::int64_t> step_of(const Expression &value) const {
        const bool is_int64 = value.type.dtype == dtypes::int64;
        const auto step_of_operand = [&](std::size_t i) { return step_of(value.operands[i]); };
        switch (value.op) {
        case Op::variable: {
            if (kernel_.variables[value.id].parameter)
                return definitions_.contains(value.id) ? std::nullopt : std::optional(0);
            const auto definition = definitions_.find(value.id);
            if (definition == definitions_.end() || definition->second == nullptr)
                return counters_.contains(value.id) && !assigned_.contains(value.id)
                           ? std::optional(0)
                           : std::nullopt;
            if (const auto known = steps_.find(value.id); known != steps_.end())
                return known->second;
            return steps_[value.id] = step_of(*definition->second);
        }
        case Op::index:
            if (is_global_id(value, dimension_))
                return 1;
            return value.text == "global_id" || value.text == "global_size" ? std::optional(0)
                                                                            : std::nullopt;
        case Op::add:
        case Op::subtract:
            if (const auto a = step_of_operand(0), b = step_of_operand(1); is_int64 && a && b)
                return value.op == Op::add ? *a + *b : *a - *b;
            break;
        case Op::convert:
            if (is_int64 && value.operands[0].type.dtype == dtypes::int64)
                return step_of_operand(0);
            break;
        case Op::atomic:
        case Op::call:
        case Op::group:
        case Op::bound_check:
        case Op::assertion:
            return std::nullopt;
        default:
            break;
        }
        const bool is_common = std::ranges::all_of(
            value.operands, [&](const Expression &operand) { return step_of(operand) == 0; });
        return is_common ? std::optional(0) : std::nullopt;
    }

    const ir::Function &kernel_;
    const std::uint32_t dimension_;
    const bool fast_math_;
    // Only definition of each variable; nullptr if it is not assigned exactly once.
    std::map<ir::VariableId, const Expression *> definitions_;
    std::set<ir::VariableId> counters_, assigned_;  // by loops over ranges, and by others
    mutable std::map<ir::VariableId, std::optional<std::int64_t>> steps_;
};

// The loop's start, stop and step, if they are the same for all work-items of a row.
std::optional<std::array<Expression, 3>>
common_range(const ir::Function &kernel, const ir::Statement &loop, std::uint32_t dimension) {
    const Definitions definitions(kernel);
    std::array<Expression, 3> found;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::optional<Expression> resolved = definitions.resolved(loop.expressions[i]);
        if (!resolved || reads_global_id(*resolved, dimension))
            return std::nullopt;
        found[i] = *resolved;
    }
    return found;
}

// Moves variables that the first part defines from `expanded` to `rematerialised`. The first part
// keeps those definitions that it uses itself.
void rematerialise(const ir::Function &kernel, InterleavePlan &plan) {
    const Definitions definitions(kernel);
    for (const ir::Statement *statement : plan.before)
        if (statement->act == Act::assign && definitions.contains(statement->id) &&
            plan.expanded.contains(statement->id))
            if (auto value = definitions.resolved(statement->expressions[0])) {
                plan.rematerialised.emplace(statement->id, *std::move(value));
                plan.expanded.erase(statement->id);
            }
    ir::Row kept;
    // Clang 14 does not compile the views of GCC 12's library.
    for (auto each = plan.before.rbegin(); each != plan.before.rend(); ++each)
        if ((*each)->act != Act::assign || !plan.rematerialised.contains((*each)->id) ||
            used_by_row(kernel, kept).contains((*each)->id))
            kept.push_back(*each);
    plan.before.assign(kept.rbegin(), kept.rend());
    plan.used_before = used_by_row(kernel, plan.before);
}

// Work-items of the largest block of vectors.
int vector_width(const ir::Function &kernel, const Variables &expanded) {
    std::uint32_t bytes = 4;
    for (const ir::VariableId id : expanded)
        if (is_float(kernel.variables[id].type.dtype))
            bytes = std::max<std::uint32_t>(bytes, kernel.variables[id].type.dtype.bits / 8);
    return vector_bytes / static_cast<int>(bytes);
}

}  // namespace

std::optional<InterleavePlan> plan_interleaving(const ir::Module &module,
                                                const std::vector<ir::Statement> &body,
                                                std::uint32_t dimension, bool fast_math) {
    const ir::Function &kernel = module.kernel();
    bool returns = false;
    ir::for_each_statement(
        body, [&](const ir::Statement &each) { returns |= each.act == ir::Act::return_; });
    if (returns || ir::has_private_arrays(kernel) || module.debug || module.prints)
        return std::nullopt;
    const auto loop = std::ranges::find_if(body, ir::is_loop);
    if (loop == body.end() || !benefits_from_interleaving(module, *loop) ||
        !only_computes(module, {body.begin(), loop}))
        return std::nullopt;

    InterleavePlan found{};
    found.body = ir::row_of(loop->body);
    found.loop = &*loop;
    for (auto each = body.begin(); each != loop; ++each)
        found.before.push_back(&*each);
    for (auto each = loop + 1; each != body.end(); ++each)
        found.after.push_back(&*each);
    found.used_before = used_by_row(kernel, found.before);
    for (const ir::Expression &expression : loop->expressions)
        add_used(kernel, expression, found.used_before);
    found.used_in_body = used_by_row(kernel, found.body);
    found.used_after = used_by_row(kernel, found.after);
    for (const Variables *one : {&found.used_before, &found.used_in_body, &found.used_after})
        for (const ir::VariableId id : *one)
            if (found.used_before.contains(id) + found.used_in_body.contains(id) +
                    found.used_after.contains(id) >
                1)
                found.expanded.insert(id);
    if (found.used_before.contains(loop->id) || found.used_after.contains(loop->id))
        return std::nullopt;

    if (VectorCheck(kernel, dimension, fast_math).can_vectorize(loop->body)) {
        found.common_range = common_range(kernel, *loop, dimension);
        const int width = vector_width(kernel, found.expanded);
        if (found.common_range && !carries_several_vectors(module, kernel, *loop, false,
                                                           static_cast<std::size_t>(width))) {
            found.widths = {width, smallest_vector_width};
            rematerialise(kernel, found);
            return found;
        }
        found.common_range.reset();
    }
    // Compilers that may reassociate additions vectorize the loop without interleaving.
    if (fast_math || count_operations(module, loop->body) > max_scalar_operations)
        return std::nullopt;
    found.widths = {scalar_width};
    return found;
}

}  // namespace entrepot::kernel
