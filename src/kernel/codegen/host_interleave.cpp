// Host C++: interleaved work-items (unroll-and-jam). A loop that sums floats is bound by the
// latency of the addition, because the order of the additions must not change. Interleaving the
// loops of a few work-items gives independent additions that overlap. The results are the same as
// without interleaving.
#include "kernel/codegen/host.hpp"
#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/loop_carried.hpp"

#include <algorithm>
#include <optional>

namespace entrepot::kernel {

namespace {

// Number of interleaved work-items. Rows of arrays are often a power of two apart, so that
// corresponding elements share a set of the L1 cache. With more work-items, their lines would evict
// each other.
constexpr int lanes = 4;
// In shorter loops a processor overlaps consecutive work-items by itself.
constexpr std::int64_t min_trip_count = 16;
// Compilers unroll a loop over lanes only up to a size. Otherwise the lanes' variables stay in
// memory.
constexpr int max_operations = 40;

using Variables = Declarations::Variables;

bool only_computes(const ir::Module &module, const std::vector<ir::Statement> &list);

// True if the expression has no side effects.
bool is_pure(const ir::Module &module, const ir::Expression &expression) {
    bool pure = true;
    ir::for_each_within(expression, [&](const ir::Expression &each) {
        pure &=
            each.op != ir::Op::atomic && each.op != ir::Op::group && each.op != ir::Op::bound_check;
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
           std::uint64_t{min_trip_count};
}

bool benefits_from_interleaving(const ir::Module &module, const ir::Statement &loop) {
    return loop.act == ir::Act::for_ &&
           module.kernel().variables[loop.id].type.dtype == dtypes::int64 &&
           std::ranges::all_of(loop.expressions,
                               [&](const ir::Expression &each) { return is_pure(module, each); }) &&
           only_computes(module, loop.body) && has_float_recurrence(loop.body) &&
           count_operations(module, loop.body) <= max_operations && !has_short_trip_count(loop);
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

// A kernel divided into the code before its first loop, the loop's body, and the code after it.
struct InterleavePlan {
    ir::Row before, body, after;
    const ir::Statement *loop;
    Variables used_before, used_in_body, used_after;
    // Scalar expansion: variables of more than one part become arrays with an element per lane.
    Variables expanded;
};

// nullopt: the kernel is not interleaved.
std::optional<InterleavePlan> plan_interleaving(const ir::Module &module,
                                                const std::vector<ir::Statement> &body) {
    const ir::Function &kernel = module.kernel();
    bool returns = false;
    ir::for_each_statement(
        body, [&](const ir::Statement &each) { returns |= each.act == ir::Act::return_; });
    const bool has_arrays = std::ranges::any_of(kernel.roots, [](const ir::Root &root) {
        return root.type.space == Space::private_ && !root.parameter && !root.values;
    });
    if (returns || has_arrays || module.checks_bounds || module.prints)
        return std::nullopt;
    const auto loop = std::ranges::find_if(body, ir::is_loop);
    if (loop == body.end() || !benefits_from_interleaving(module, *loop) ||
        !only_computes(module, {body.begin(), loop}))
        return std::nullopt;

    InterleavePlan found{{}, ir::row_of(loop->body), {}, &*loop, {}, {}, {}, {}};
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
    return found;
}

}  // namespace

// Names in the text, and the array in which each lane stores its variables.
struct HostEmitter::Lanes {
    InterleavePlan parts;
    std::string inner, block, lane, starts, rounds, fewest, most, round;
    std::string steps;  // empty if the step is constant
    std::map<ir::VariableId, std::string> expanded;

    const ir::Statement &loop() const { return *parts.loop; }
    std::string own(const std::string &array) const { return array + "[" + lane + "]"; }
    std::string step() const {
        return steps.empty() ? std::to_string(*build::constant_of(loop().expressions[2]))
                             : own(steps);
    }
};

bool HostEmitter::is_interleaved() const {
    // Compilers that may reassociate additions vectorize the loop without interleaving.
    return !target_.fast_math && !grid_stride_ &&
           plan_interleaving(module_, item_body(module_.kernel()));
}

// Writes the work-items from `first` to `last` of the innermost dimension in blocks of `lanes`,
// while all lanes have similar loops. In the written code, `flag` becomes false at a block whose
// loops differ. Returns: the name of the first work-item that has not run.
std::string HostEmitter::write_interleaved(const std::string &flag, const std::string &inner,
                                           const std::string &first, const std::string &last) {
    Lanes given{*plan_interleaving(module_, item_body(module_.kernel())),
                inner,
                unique("block"),
                unique("lane"),
                unique("starts"),
                unique("rounds"),
                unique("fewest"),
                unique("most"),
                unique("round"),
                "",
                {}};
    if (!build::constant_of(given.loop().expressions[2]))
        given.steps = unique("steps");
    for (const ir::VariableId id : given.parts.expanded)
        given.expanded[id] = unique(variables_[id] + "_lanes");

    const std::string width = std::to_string(lanes);
    out_.line("long long " + given.block + " = " + first + ";");
    out_.open("for (; " + flag + " && " + last + " - " + given.block + " >= " + width + "; " +
              given.block + " += " + width + ")");
    for (const auto &[id, array] : given.expanded)
        out_.line(value_type(function_->variables[id].type.dtype) + " " + array + "[" + width +
                  "] = {};");
    for (const std::string &array : {given.starts, given.rounds, given.steps})
        if (!array.empty())
            out_.line("long long " + array + "[" + width + "];");
    write_starts(given);
    write_trip_count_range(given);
    out_.line(flag + " = " + given.fewest + " >= " + std::to_string(min_trip_count) + " && " +
              given.most + " - " + given.fewest + " <= " + given.fewest + " / " +
              std::to_string(min_trip_count) + ";");
    // The block has written to lane arrays only, so its work-items can start over.
    out_.line("if (!" + flag + ") break;");
    write_common_iterations(given);
    write_remainder(given);
    out_.close();
    return given.block;
}

// Opens the loop over lanes and declares the variables that its body names. If `by` is `&`, they
// are references to the lane's variables, else copies, which fit in registers.
void HostEmitter::open_lanes(const Lanes &given, bool asks_id, const char *by,
                             std::initializer_list<const Declarations::Variables *> used) {
    out_.open("for (int " + given.lane + " = 0; " + given.lane + " < " + std::to_string(lanes) +
              "; ++" + given.lane + ")");
    if (asks_id)
        out_.line("const long long " + given.inner + " = " + given.block + " + " + given.lane +
                  ";");
    for (const auto &[id, array] : given.expanded) {
        const auto has = [expanded_id = id](const Variables *each) {
            return each->contains(expanded_id);
        };
        if (std::ranges::any_of(used, has))
            out_.line(value_type(function_->variables[id].type.dtype) + " " + by + variables_[id] +
                      " = " + given.own(array) + ";");
    }
}

void HostEmitter::write_part(const Lanes &given, const ir::Row &row,
                             const Declarations::Variables &used) {
    Variables local = used;
    std::erase_if(local, [&](ir::VariableId id) {
        return given.expanded.contains(id) || id == given.loop().id;
    });
    declarations_.clear();
    declarations_.plan(row, local);
    write(row);
}

bool HostEmitter::asks_for(const std::string &inner, const ir::Row &row) const {
    return indices_of(row).contains({inner.substr(0, inner.size() - 1), dimensions() - 1});
}

void HostEmitter::write_starts(const Lanes &given) {
    ir::Statement head = given.loop();
    head.body.clear();
    open_lanes(given, asks_for(given.inner, given.parts.before) || asks_for(given.inner, {&head}),
               "&", {&given.parts.used_before});
    write_part(given, given.parts.before, given.parts.used_before);
    out_.line(given.own(given.starts) + " = " + text(head.expressions[0]) + ";");
    if (!given.steps.empty())
        out_.line(given.own(given.steps) + " = " + text(head.expressions[2]) + ";");
    out_.line(given.own(given.rounds) + " = " + helper("range_length", dtypes::int64) + "(" +
              given.own(given.starts) + ", " + text(head.expressions[1]) + ", " + given.step() +
              ");");
    out_.close();
}

void HostEmitter::write_trip_count_range(const Lanes &given) {
    const std::string each = given.own(given.rounds);
    out_.line("long long " + given.fewest + " = " + given.rounds + "[0], " + given.most + " = " +
              given.rounds + "[0];");
    out_.open("for (int " + given.lane + " = 1; " + given.lane + " < " + std::to_string(lanes) +
              "; ++" + given.lane + ")");
    out_.line(given.fewest + " = " + each + " < " + given.fewest + " ? " + each + " : " +
              given.fewest + ";");
    out_.line(given.most + " = " + each + " > " + given.most + " ? " + each + " : " + given.most +
              ";");
    out_.close();
}

void HostEmitter::write_iteration(const Lanes &given) {
    if (given.parts.used_in_body.contains(given.loop().id))
        out_.line("const long long " + variables_[given.loop().id] + " = " +
                  given.own(given.starts) + " + " + given.round +
                  (given.step() == "1" ? "" : " * " + given.step()) + ";");
    write_part(given, given.parts.body, given.parts.used_in_body);
}

void HostEmitter::write_common_iterations(const Lanes &given) {
    out_.open("for (long long " + given.round + " = 0; " + given.round + " < " + given.fewest +
              "; ++" + given.round + ")");
    if (carries_several_vectors(module_, *function_, given.loop(), false, lanes))
        suppress_vectorization();
    open_lanes(given, asks_for(given.inner, given.parts.body), "&", {&given.parts.used_in_body});
    write_iteration(given);
    out_.close();
    out_.close();
}

// Remainder loop: iterations that only some lanes have, then the code after the loop, lane by lane.
void HostEmitter::write_remainder(const Lanes &given) {
    open_lanes(given,
               asks_for(given.inner, given.parts.body) || asks_for(given.inner, given.parts.after),
               "", {&given.parts.used_in_body, &given.parts.used_after});
    out_.open("for (long long " + given.round + " = " + given.fewest + "; " + given.round + " < " +
              given.own(given.rounds) + "; ++" + given.round + ")");
    write_iteration(given);
    out_.close();
    write_part(given, given.parts.after, given.parts.used_after);
    out_.close();
}

}  // namespace entrepot::kernel
