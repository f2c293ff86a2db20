// Host C++: interleaved work-items, as passes/interleave.hpp plans them.
#include "kernel/codegen/host.hpp"
#include "kernel/ir/build.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/definitions.hpp"
#include "kernel/passes/interleave.hpp"
#include "kernel/passes/loop_carried.hpp"

#include <algorithm>

namespace entrepot::kernel {

namespace {

using Variables = InterleavePlan::Variables;

}  // namespace

// Names in the text, and the array in which each lane stores its variables.
struct HostEmitter::Lanes {
    InterleavePlan parts;
    int width = 0;  // work-items of a block
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

std::optional<InterleavePlan> HostEmitter::interleaving() const {
    return module_.uses_groups || grid_stride_
               ? std::nullopt
               : plan_interleaving(module_, item_body(module_.kernel()), dimensions() - 1,
                                   target_.fast_math);
}

// Writes the work-items from `first` to `last` of the innermost dimension in blocks. Blocks of
// vectors have a loop in common. Those of other lanes have similar loops: in the written code,
// `flag` becomes false at a block whose loops differ.
// Returns: the name of the first work-item that has not run.
std::string HostEmitter::write_interleaved(const InterleavePlan &plan, const std::string &flag,
                                           const std::string &inner, const std::string &first,
                                           const std::string &last) {
    Lanes given{plan, 0, inner, unique("block"), unique("lane"), "", "", "", "", "", "", {}};
    for (const ir::VariableId id : plan.expanded)
        given.expanded[id] = unique(variables_[id] + "_lanes");
    out_.line("long long " + given.block + " = " + first + ";");
    for (const int width : plan.widths) {
        given.width = width;
        map_to_items();
        const std::string count = std::to_string(width);
        out_.open("for (; " + (flag.empty() ? "" : flag + " && ") + last + " - " + given.block +
                  " >= " + count + "; " + given.block + " += " + count + ")");
        for (const auto &[id, array] : given.expanded)
            out_.line(value_type(function_->variables[id].type.dtype) + " " + array + "[" + count +
                      "] = {};");
        plan.common_range ? write_vectors(given) : write_scalars(given, flag);
        out_.close();
    }
    return given.block;
}

// The lanes execute each iteration together.
void HostEmitter::write_vectors(const Lanes &given) {
    const InterleavePlan &plan = given.parts;
    const auto asks_id = [&](const ir::Row &row, const Variables &used) {
        return asks_for(given.inner, row) ||
               std::ranges::any_of(plan.rematerialised, [&](const auto &each) {
                   return used.contains(each.first) &&
                          reads_global_id(each.second, dimensions() - 1);
               });
    };
    open_lanes(given, asks_id(plan.before, {}), "&", {&plan.used_before});
    write_part(given, plan.before, plan.used_before);
    out_.close();

    ir::Statement loop = given.loop();
    std::ranges::copy(*plan.common_range, loop.expressions.begin());
    loop.body.clear();
    declarations_.clear();
    declarations_.plan({&loop}, {loop.id});
    const ForHead head = for_head(loop);
    map_to_source(loop);
    out_.open(head.text);
    // Clang would warn of a loop that it does not vectorize.
    add_once("pass_failed", "#ifdef __clang__\n"
                            "#pragma clang diagnostic ignored \"-Wpass-failed\"\n"
                            "#endif");
    map_to_source(loop);
    out_.line("#pragma omp simd");
    map_to_source(loop);
    open_lanes(given, asks_id(plan.body, plan.used_in_body), "", {&plan.used_in_body});
    write_part(given, plan.body, plan.used_in_body);
    Variables assigned;
    ir::for_each_statement(given.loop().body, [&](const ir::Statement &each) {
        for (const ir::VariableId id : ir::assigned_by(each))
            assigned.insert(id);
    });
    for (const auto &[id, array] : given.expanded)
        if (assigned.contains(id))
            out_.line(given.own(array) + " = " + variables_[id] + ";");
    out_.close();
    out_.close();

    map_to_items();
    open_lanes(given, asks_id(plan.after, plan.used_after), "", {&plan.used_after});
    lanes_ = static_cast<std::size_t>(given.width);
    write_part(given, plan.after, plan.used_after);
    lanes_ = 1;
    out_.close();
}

void HostEmitter::write_scalars(Lanes &given, const std::string &flag) {
    given.starts = unique("starts");
    given.rounds = unique("rounds");
    given.fewest = unique("fewest");
    given.most = unique("most");
    given.round = unique("round");
    if (!build::constant_of(given.loop().expressions[2]))
        given.steps = unique("steps");
    const std::string shortest = std::to_string(min_interleaved_trip_count);
    for (const std::string &array : {given.starts, given.rounds, given.steps})
        if (!array.empty())
            out_.line("long long " + array + "[" + std::to_string(given.width) + "];");
    write_starts(given);
    write_trip_count_range(given);
    out_.line(flag + " = " + given.fewest + " >= " + shortest + " && " + given.most + " - " +
              given.fewest + " <= " + given.fewest + " / " + shortest + ";");
    // The block has written to lane arrays only, so its work-items can start over.
    out_.line("if (!" + flag + ") break;");
    write_common_iterations(given);
    write_remainder(given);
}

// Opens the loop over lanes and declares the variables that its body names. If `by` is `&`, they
// are references to the lane's variables, else copies, which fit in registers.
void HostEmitter::open_lanes(const Lanes &given, bool asks_id, const char *by,
                             std::initializer_list<const Declarations::Variables *> used) {
    out_.open("for (int " + given.lane + " = 0; " + given.lane + " < " +
              std::to_string(given.width) + "; ++" + given.lane + ")");
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
    for (const auto &[id, value] : given.parts.rematerialised) {
        const auto has = [rematerialised_id = id](const Variables *each) {
            return each->contains(rematerialised_id);
        };
        if (*by == '\0' && std::ranges::any_of(used, has))
            out_.line("const " + value_type(value.type.dtype) + " " + variables_[id] + " = " +
                      text(value) + ";");
    }
}

void HostEmitter::write_part(const Lanes &given, const ir::Row &row,
                             const Declarations::Variables &used) {
    Variables local = used;
    std::erase_if(local, [&](ir::VariableId id) {
        return given.expanded.contains(id) || id == given.loop().id ||
               (&used != &given.parts.used_before && given.parts.rematerialised.contains(id));
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
    out_.open("for (int " + given.lane + " = 1; " + given.lane + " < " +
              std::to_string(given.width) + "; ++" + given.lane + ")");
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
    if (carries_several_vectors(module_, *function_, given.loop(), false,
                                static_cast<std::size_t>(given.width)))
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
