// Host C++: a kernel is a function that runs a part of a launch's work-groups.
// src/backends/host/programs.cpp defines its signature. A kernel that does not tell groups apart is
// one loop nest over its work-items. Any other kernel is a loop over groups around loops over the
// work-items between its barriers.
#include "kernel/codegen/host.hpp"
#include "kernel/ir/build.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/group_stride.hpp"
#include "kernel/passes/loop_carried.hpp"
#include "kernel/passes/vector_math.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

namespace entrepot::kernel {

namespace {

// Work-items that run an interchanged loop together. One iteration of all then reads and writes
// long runs of memory, which processors prefetch.
constexpr std::uint64_t grid_stride_chunk = 65536;

bool returns_within_loop(const std::vector<ir::Statement> &list, bool in_loop) {
    return std::ranges::any_of(list, [&](const ir::Statement &statement) {
        return (statement.act == ir::Act::return_ && in_loop) ||
               returns_within_loop(statement.body, in_loop || ir::is_loop(statement)) ||
               returns_within_loop(statement.otherwise, in_loop);
    });
}

bool returns_within_loop(const ir::Row &row) {
    return std::ranges::any_of(row, [](const ir::Statement *statement) {
        return returns_within_loop(statement->body, ir::is_loop(*statement)) ||
               returns_within_loop(statement->otherwise, false);
    });
}

// True if the first of these statements that uses the variable assigns it.
bool begins_with_assignment(const ir::Row &row, ir::VariableId id) {
    for (const ir::Statement *statement : row) {
        bool touches = false;
        ir::for_each_statement(std::span(statement, 1), [&](const ir::Statement &each) {
            for (const ir::VariableId assigned : ir::assigned_by(each))
                touches |= assigned == id;
        });
        if (touches)
            return statement->act == ir::Act::assign;
    }
    return false;
}

// Prepares the kernel for the host's emitter: copies parameters that are assigned, stores operands
// of group functions in variables, and interchanges strided loops of groups.
ir::Module prepared(const ir::Module &given, const Target &target) {
    ir::Module module = given;
    ir::Function &kernel = module.kernel();
    std::set<ir::VariableId> written;
    ir::for_each_statement(kernel.body, [&](const ir::Statement &statement) {
        for (const ir::VariableId id : ir::assigned_by(statement))
            written.insert(id);
    });
    const auto read = [&](ir::VariableId id, Position at) {
        return build::variable(id, kernel.variables[id].type, at);
    };
    std::vector<ir::Statement> first;
    for (const ir::VariableId id : written) {
        if (!kernel.variables[id].parameter)
            continue;
        const auto given_as = static_cast<ir::VariableId>(kernel.variables.size());
        kernel.variables.push_back(kernel.variables[id]);
        kernel.variables.back().name += "_given";
        kernel.variables[id].parameter.reset();
        first.push_back(build::assignment(id, read(given_as, {})));
    }
    kernel.body.insert(kernel.body.begin(), first.begin(), first.end());

    const std::function<void(std::vector<ir::Statement> &)> unnest =
        [&](std::vector<ir::Statement> &list) {
            for (std::size_t i = 0; i < list.size(); ++i) {
                unnest(list[i].body);
                unnest(list[i].otherwise);
                if (!ir::is_group_function(list[i]))
                    continue;
                const Position at = list[i].at;
                const std::size_t operands = ir::per_item_operands(list[i].expressions[0]);
                for (std::size_t place = 0; place < operands; ++place) {
                    ir::Expression operand = list[i].expressions[0].operands[place];
                    const auto id = static_cast<ir::VariableId>(kernel.variables.size());
                    kernel.variables.push_back({place == 0 ? "given" : "by", operand.type, at, {}});
                    operand.at = at;
                    list[i].expressions[0].operands[place] = read(id, at);
                    list.insert(list.begin() + static_cast<std::ptrdiff_t>(i),
                                build::assignment(id, std::move(operand)));
                    ++i;
                }
            }
        };
    unnest(kernel.body);
    if (module.uses_groups && target.dimensions == 1 &&
        (target.local_size[0] == 0 || target.local_size[0] >= smallest_interchanged_group))
        interchange_group_strides(module);
    return module;
}

}  // namespace

// ---------------------------------------------------------------- the program

// Keeps GCC 11 to 14 from vectorizing the loop that was opened. GCC miscompiles loops that add an
// invariant to several values each round. If the values fill two or more vectors, it adds the
// invariants of one vector to all. GCC 11.3, 12.2, 12.4, 13.3 and 14.2 do; 15.3 and 16.2 do not.
// GCC does not vectorize a loop that contains an asm statement. Clang defines __GNUC__ as 4.
void HostEmitter::suppress_vectorization() {
    add_once("NO_VECTORS", "#if __GNUC__ >= 11 && 100 * __GNUC__ + __GNUC_MINOR__ < 1503\n"
                           "#define NO_VECTORS asm(\"\");\n"
                           "#else\n"
                           "#define NO_VECTORS\n"
                           "#endif");
    out_.line("NO_VECTORS");
}

// With `simd`, GCC calls the function of libmvec for the elements of a vector. Their results differ
// by up to 4 units in the last place. The host's backend gives Clang an option for them.
//
// <climits> includes the header that defines __GLIBC_PREREQ.
void HostEmitter::declare_math_function(const std::string &name) {
    if (!target_.fast_math || !name.starts_with(dialect_.math_prefix))
        return;
    const std::string called = name.substr(dialect_.math_prefix.size());
    const VectorMath *row = find_vector_math(called);
    const bool is_single = row == nullptr && called.ends_with('f');
    if (is_single)
        row = find_vector_math(called.substr(0, called.size() - 1));
    if (row == nullptr)
        return;
    add_once("LIBMVEC", "#include <climits>\n"
                        "#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)\n"
                        "#define LIBMVEC(minor) LIBMVEC_##minor\n"
                        "#define LIBMVEC_22 __attribute__((simd(\"notinbranch\")))\n"
                        "#if __GLIBC_PREREQ(2, 35)\n"
                        "#define LIBMVEC_35 LIBMVEC_22\n"
                        "#else\n"
                        "#define LIBMVEC_35\n"
                        "#endif\n"
                        "#else\n"
                        "#define LIBMVEC(minor)\n"
                        "#endif");
    const std::string type = is_single ? "float" : "double";
    add_once("libmvec " + called, "extern \"C\" LIBMVEC(" + std::to_string(row->since) + ") " +
                                      type + " " + called + "(" + type +
                                      (row->operands == 2 ? ", " + type : "") + ");");
}

void HostEmitter::begin_iteration(const ir::Statement &loop) {
    const bool of_group = split_ && function_ == &module_.kernel() && by_group_;
    const auto copies = of_group ? std::size_t{default_sub_group_size} : lanes_;
    if (carries_several_vectors(module_, *function_, loop, target_.fast_math, copies))
        suppress_vectorization();
}

std::string HostEmitter::prologue() {
    return module_.prints ? "extern \"C\" int printf(const char *format, ...);\n\n" : "";
}

// Options of the compiler: integers wrap, and floating-point operations do not trap, so that
// conditions can become masks.
std::string HostEmitter::options() const {
    // GCC could contract different products in the two versions of an interleaved kernel.
    const bool has_vectors = interleaved_ && interleaved_->common_range;
    std::string options = "-fwrapv -fno-trapping-math";
    if (interleaved_ && !target_.fast_math)
        options += " -ffp-contract=off";
    if (has_vectors)
        options += " -fopenmp-simd";
    if (target_.fast_math)
        options += " -fno-signed-zeros -freciprocal-math";
    // Sums of several lanes need no other order, and plan_interleaving() counts on that.
    if (target_.fast_math && !has_vectors)
        options += " -fassociative-math";
    return options;
}

std::vector<std::string> HostEmitter::parameters_of(const ir::Function &kernel,
                                                    std::vector<std::string> &arguments) {
    std::vector<std::string> parameters;
    std::set<ir::VariableId> used;
    ir::for_each_expression(kernel.body, [&](const ir::Expression &each) {
        if (each.op == ir::Op::variable)
            used.insert(each.id);
    });
    const auto add = [&](CompiledParameter parameter, const std::string &type,
                         const std::string &name, bool by_value) {
        const std::string slot = "arguments[" + std::to_string(parameters_.size()) + "]";
        parameters_.push_back(parameter);
        parameters.push_back(type + (type.ends_with('*') || type.ends_with(' ') ? "" : " ") + name);
        arguments.push_back(by_value ? "*(const " + type + " *)" + slot
                                     : "(" + type.substr(0, type.find('*') + 1) + ")" + slot);
    };
    for (std::uint32_t place = 0; place < kernel.parameter_count; ++place) {
        for (ir::RootId i = 0; i < kernel.roots.size(); ++i) {
            const ir::Root &root = kernel.roots[i];
            if (root.parameter != place)
                continue;
            const bool is_local = root.type.space == Space::local;
            if (uses_root(i))
                add({is_local ? CompiledParameter::What::local : CompiledParameter::What::pointer,
                     place, 0, root.type.dtype},
                    pointer_to(root, root.restrict_ || is_local), roots_[i], false);
            for (const ir::Op op : {ir::Op::extent, ir::Op::stride})
                for (std::uint32_t d = 0; d < root.type.ndim; ++d)
                    if (uses_dimension(op, i, d))
                        add({op == ir::Op::extent ? CompiledParameter::What::extent
                                                  : CompiledParameter::What::stride,
                             place, d, dtypes::int64},
                            int64_name, dimension_name(op, i, d), true);
        }
        for (ir::VariableId i = 0; i < kernel.variables.size(); ++i) {
            const ir::Variable &variable = kernel.variables[i];
            if (variable.parameter != place || !used.contains(i))
                continue;
            const bool is_promoted = words(variable.type.dtype).is_promoted();
            add({CompiledParameter::What::value, place, 0, variable.type.dtype},
                storage_type(variable.type.dtype), variables_[i] + (is_promoted ? "_bits" : ""),
                true);
        }
    }
    if (module_.has_grid_barriers)
        add({CompiledParameter::What::arrivals, 0, 0, dtypes::uint64}, "unsigned long long *",
            "arrivals", false);
    if (module_.debug)
        add({CompiledParameter::What::report, 0, 0, dtypes::int64}, "long long *", "report", false);
    return parameters;
}

void HostEmitter::write_kernel(const ir::Function &kernel) {
    write_constant_arrays(kernel);
    std::vector<std::string> arguments;
    std::vector<std::string> parameters = parameters_of(kernel, arguments);
    parameters.insert(parameters.begin(), "const long long *range");
    arguments.insert(arguments.begin(), "range");
    const std::string called =
        unique(function_name(kernel) + (module_.uses_groups ? "_groups" : "_items"));
    if (module_.uses_groups) {
        split_.emplace(kernel);
        plan_context(kernel);
        if (private_bytes_ != 0) {
            parameters.push_back("char *kept");
            arguments.push_back("(char *)arguments[" + std::to_string(arguments.size() - 1) + "]");
        }
    }
    out_.open(std::string(dialect_.kernel) + called + "(" + joined(parameters) + ")");
    for (ir::VariableId i = 0; i < kernel.variables.size(); ++i)
        if (kernel.variables[i].parameter && words(kernel.variables[i].type.dtype).is_promoted())
            out_.line("const float " + variables_[i] + " = " +
                      loaded(variables_[i] + "_bits", kernel.variables[i].type.dtype) + ";");
    module_.uses_groups ? write_groups(kernel) : write_items(kernel);
    out_.close();
    out_.line("");
    write_wrapper(kernel, arguments, called);
}

void HostEmitter::write_wrapper(const ir::Function &kernel,
                                const std::vector<std::string> &arguments,
                                const std::string &called) {
    const std::string name = function_name(kernel);
    out_.set_source_line("what the host calls", 1);
    out_.line("extern \"C\" const int " + name +
              "_arguments = " + std::to_string(parameters_.size()) + ";");
    if (private_bytes_ != 0)
        out_.line("extern \"C\" const long long " + name +
                  "_private = " + std::to_string(private_bytes_) + ";");
    std::uint64_t local = 0;
    for (const ir::Root &root : kernel.roots)
        if (root.type.space == Space::local && !root.parameter)
            local += bytes_of(root.type);
    if (local != 0)
        out_.line("extern \"C\" const long long " + name + "_local = " + std::to_string(local) +
                  ";");
    if (grid_stride_ && !runs_neighboring_iterations())
        out_.line("extern \"C\" const long long " + name +
                  "_chunk = " + std::to_string(grid_stride_chunk) + ";");
    out_.line("");
    out_.open("extern \"C\" void " + name + "(const long long *range, void *const *arguments)");
    out_.line(called + "(" + joined(arguments) + ");");
    out_.close();
}

// ---------------------------------------------------------------- ids

const std::set<Index> &HostEmitter::indices_of(const ir::Function &function) const {
    if (const auto known = indices_.find(&function); known != indices_.end())
        return known->second;
    std::set<Index> found;
    ir::for_each_expression(function.body, [&](const ir::Expression &each) {
        if (each.op == ir::Op::index || each.op == ir::Op::call || ir::is_check(each)) {
            ir::Expression alone = each;
            alone.operands.clear();
            collect_indices(alone, found);
        }
    });
    return indices_[&function] = std::move(found);
}

void HostEmitter::collect_indices(const ir::Expression &expression, std::set<Index> &found) const {
    ir::for_each_within(expression, [&](const ir::Expression &each) {
        if (each.op == ir::Op::index && each.text != "work_dim" &&
            (each.number < dimensions() || each.text.find("sub_") != each.text.npos))
            found.insert({each.text, each.number});
        if (ir::is_check(each))
            for (std::uint32_t i = 0; i < dimensions(); ++i)
                found.insert({"global_id", i});
        if (each.op == ir::Op::call) {
            const std::set<Index> &of_callee = indices_of(module_.functions[each.id]);
            found.insert(of_callee.begin(), of_callee.end());
        }
        if (each.op == ir::Op::variable && split_ && function_ == &module_.kernel() &&
            split_->is_rematerialised(each.id))
            collect_indices(split_->definition(each.id), found);
    });
}

std::set<Index> HostEmitter::indices_of(const ir::Row &row) const {
    std::set<Index> found;
    const auto look = [&](const ir::Statement &statement) {
        for (const ir::Expression &expression : statement.expressions)
            collect_indices(expression, found);
    };
    for (const ir::Statement *statement : row) {
        look(*statement);
        ir::for_each_statement(statement->body, look);
        ir::for_each_statement(statement->otherwise, look);
    }
    return found;
}

Spelled HostEmitter::index(const ir::Expression &expression) {
    if (expression.text == "work_dim")
        return {std::to_string(dimensions())};
    if (expression.text == "max_sub_group_size")
        return {std::to_string(sub_group())};
    const bool is_sub_group = expression.text.find("sub_group") != std::string::npos;
    if (!is_sub_group && expression.number >= dimensions())
        return {expression.text.ends_with("_id") ? "0" : "1"};
    const std::string d = std::to_string(expression.number);
    if (by_group_) {
        if (expression.text == "global_id")
            return {"group_id" + d + " * local_size" + d, binds_multiply};
        if (expression.text == "local_id" || expression.text == "sub_group_id" ||
            expression.text == "sub_group_local_id")
            return {"0"};
        if (expression.text == "sub_group_size")
            return {"items < " + std::to_string(sub_group()) +
                        " ? items : " + std::to_string(sub_group()),
                    binds_select};
    }
    return {name_of_index({expression.text, expression.number})};
}

void HostEmitter::add_hidden_parameters(std::vector<std::string> &parameters) {
    for (const Index &index : indices_of(*function_))
        parameters.push_back(std::string(int64_name) + " " + name_of_index(index));
    if (module_.debug)
        parameters.push_back("long long *report");
}

void HostEmitter::add_hidden_arguments(std::vector<std::string> &arguments,
                                       const ir::Function &callee) {
    for (const Index &each : indices_of(callee)) {
        ir::Expression expression;
        expression.op = ir::Op::index;
        expression.text = each.first;
        expression.number = each.second;
        arguments.push_back(index(expression).text);
    }
    if (module_.debug)
        arguments.push_back("report");
}

// Product of the sizes of the dimensions from `from` on: `name1 * name2`.
std::string HostEmitter::product(const char *name, std::uint32_t from) const {
    std::vector<std::string> factors;
    for (std::uint32_t i = from; i < dimensions(); ++i)
        factors.push_back(name + std::to_string(i));
    return joined(factors, " * ");
}

// ---------------------------------------------------------------- loops without groups

void HostEmitter::write_item_body(const ir::Row &row, const Declarations::Variables &local,
                                  std::set<ir::RootId> private_arrays) {
    for (const auto &[root, each] : context_arrays_)
        private_arrays.erase(root);
    declarations_.clear();
    declarations_.plan(row, local);
    write_private_arrays(*function_, private_arrays);
    const bool labeled = returns_within_loop(row);
    if (!labeled) {
        return_ = "continue;";
        return write(row);
    }
    const std::string end = unique("next_item");
    return_ = "goto " + end + ";";
    out_.open("");
    write(row);
    out_.close();
    out_.line(end + ":;");
}

void HostEmitter::write_items(const ir::Function &kernel) {
    const ir::Row row = ir::row_of(kernel.body);
    const std::set<Index> used = indices_of(row);
    map_to_items();
    for (std::uint32_t i = 0; i < dimensions(); ++i)
        if (i > 0 || used.contains({"global_size", i}))
            out_.line("const long long global_size" + std::to_string(i) + " = range[" +
                      std::to_string(1 + i) + "];");
    const bool compares_loops = interleaved_ && !interleaved_->common_range;
    const std::string flag = compares_loops ? unique("interleave") : "";
    if (!flag.empty())
        out_.line("bool " + flag + " = true;");
    if (dimensions() == 1)
        return write_innermost_items(kernel, flag, "range[10]", "range[11]");
    const std::string fastest = "global_size" + std::to_string(dimensions() - 1);
    out_.open("for (long long item = range[10]; item < range[11];)");
    out_.line("const long long first = item % " + fastest + ", left = range[11] - item;");
    out_.line("const long long last = left < " + fastest + " - first ? first + left : " + fastest +
              ";");
    if (dimensions() == 2) {
        out_.line("const long long global_id0 = item / global_size1;");
    } else {
        out_.line("const long long global_id0 = item / (global_size1 * global_size2);");
        out_.line("const long long global_id1 = item / global_size2 % global_size1;");
    }
    write_innermost_items(kernel, flag, "first", "last");
    out_.line("item += last - first;");
    out_.close();
}

void HostEmitter::write_innermost_items(const ir::Function &kernel, const std::string &flag,
                                        const std::string &first, const std::string &last) {
    Declarations::Variables local;
    for (ir::VariableId i = 0; i < kernel.variables.size(); ++i)
        if (!kernel.variables[i].parameter)
            local.insert(i);
    const std::string inner = "global_id" + std::to_string(dimensions() - 1);
    const auto write_loop = [&](const std::string &begin, const std::string &end) {
        if (runs_neighboring_iterations())
            return write_iterations(begin, end, local);
        if (grid_stride_)
            return write_grid_stride(inner, begin, end, local);
        const std::string from =
            interleaved_ ? write_interleaved(*interleaved_, flag, inner, begin, end) : begin;
        map_to_items();
        out_.open("for (long long " + inner + " = " + from + "; " + inner + " < " + end + "; ++" +
                  inner + ")");
        write_item_body(ir::row_of(item_body(kernel)), local, used_roots_);
        out_.close();
    };
    if (!guarded_)
        return write_loop(first, last);

    const std::string begin = unique("begin"), end = unique("end");
    std::string excluded;
    out_.line("long long " + begin + " = " + first + ", " + end + " = " + last + ";");
    for (const ItemCondition &each : guarded_->conditions)
        if (each.kind == ItemCondition::Kind::exclusion)
            out_.line("long long " + (excluded = unique("excluded")) + " = -1;");  // no id
    // A term is evaluated only if those before it hold for some work-item.
    for (const ItemCondition &each : guarded_->conditions) {
        out_.open("if (" + begin + " < " + end + ")");
        if (each.kind == ItemCondition::Kind::bound)
            write_bound(each, begin, end);
        else if (each.kind == ItemCondition::Kind::exclusion)
            out_.line(excluded + " = " + text(each.value) + ";");
        else
            out_.line("if (!(" + text(each.value) + ")) " + end + " = " + begin + ";");
        out_.close();
    }
    if (excluded.empty())
        return write_loop(begin, end);

    // Twice: up to the excluded work-item, and after it.
    const std::string stop = unique("stop");
    out_.open("for (long long " + stop + "; " + begin + " < " + end + "; " + begin + " = " + stop +
              " + 1)");
    out_.line(stop + " = " + begin + " <= " + excluded + " && " + excluded + " < " + end + " ? " +
              excluded + " : " + end + ";");
    write_loop(begin, stop);
    out_.close();
}

// True if the work-items have a share of neighboring iterations each. A bound would exclude the
// iterations of certain work-items.
bool HostEmitter::runs_neighboring_iterations() const {
    return grid_stride_ && grid_stride_->has_free_order &&
           (!guarded_ || std::ranges::all_of(guarded_->conditions, [](const ItemCondition &each) {
               return each.kind == ItemCondition::Kind::condition;
           }));
}

// Writes the iterations below `stop` that are the share of the work-items from `begin` to `end`.
void HostEmitter::write_iterations(const std::string &begin, const std::string &end,
                                   const Declarations::Variables &local) {
    const ir::Statement &loop = *grid_stride_->loop;
    const std::string stop = unique("stop"), size = unique("size");
    add_once("share_begin", "// The first iteration of a work-item\n"
                            "static long long share_begin(long long item, long long items, "
                            "long long iterations) {\n"
                            "    const long long longer = iterations % items;\n"
                            "    return iterations / items * item + (item < longer ? item : "
                            "longer);\n"
                            "}");
    out_.open("if (" + begin + " < " + end + ")");  // else `stop` may be undefined
    out_.line("const long long " + stop + " = " + text(grid_stride_->stop) + ", " + size + " = " +
              text(grid_stride_->step) + ";");
    const auto share = [&](const std::string &item) {
        return "share_begin(" + item + ", " + size + ", " + stop + ")";
    };
    const std::string counter = variables_[loop.id], last = unique("last");
    out_.line("const long long " + last + " = " + stop + " > 0 ? " + share(end) + " : 0;");
    out_.open("for (long long " + counter + " = " + stop + " > 0 ? " + share(begin) + " : 0; " +
              counter + " < " + last + "; ++" + counter + ")");
    write_iteration_body("", local);
    out_.close();
    out_.close();
}

// Writes iteration after iteration of the loop, each for the work-items from `begin` to `end`. The
// base runs over the multiples of the step below `stop`.
void HostEmitter::write_grid_stride(const std::string &inner, const std::string &begin,
                                    const std::string &end, const Declarations::Variables &local) {
    const std::string stop = unique("stop"), base = unique("base"), left = unique("left");
    out_.open("if (" + begin + " < " + end + ")");  // else `stop` may be undefined
    out_.line("const long long " + stop + " = " + text(grid_stride_->stop) + ";");
    const std::string step = text(grid_stride_->step);
    out_.open("for (long long " + base + " = 0; " + base + " < " + stop + "; " + base + " = " +
              step + " < " + stop + " - " + base + " ? " + base + " + " + step + " : " + stop +
              ")");
    out_.line("const long long " + left + " = " + stop + " - " + base + " < " + end + " ? " + stop +
              " - " + base + " : " + end + ";");
    out_.line("if (" + left + " <= " + begin + ") break;");
    out_.open("for (long long " + inner + " = " + begin + "; " + inner + " < " + left + "; ++" +
              inner + ")");
    write_iteration_body(inner + " + " + base, local);
    out_.close();
    out_.close();
    out_.close();
}

// `counter`: the value of the loop's variable; empty if the variable exists.
void HostEmitter::write_iteration_body(const std::string &counter, Declarations::Variables local) {
    const ir::Statement &loop = *grid_stride_->loop;
    begin_iteration(loop);
    if (!counter.empty())
        out_.line("const long long " + variables_[loop.id] + " = " + counter + ";");
    ir::Row row = grid_stride_->before;
    for (const ir::Statement &statement : loop.body)
        row.push_back(&statement);
    local.erase(loop.id);
    write_item_body(row, local, used_roots_);
}

std::optional<GridStride> HostEmitter::item_stride(const ir::Module &module,
                                                   const Target &target) const {
    if (module.uses_groups)
        return std::nullopt;
    return grid_stride(module, ir::row_of(item_body(module.kernel())), target.dimensions - 1);
}

// Narrows the range from `begin` to `end`, and keeps `begin` at most `end`. The value is compared
// before one is added to it, so that the addition cannot overflow.
void HostEmitter::write_bound(const ItemCondition &bound, const std::string &begin,
                              const std::string &end) {
    const std::string value = unique("bound");
    const auto narrow = [&](const std::string &changed, const char *comparison,
                            const std::string &other, const char *within, const char *more) {
        out_.line("if (" + value + comparison + changed + ") " + changed + " = " + value + within +
                  other + " ? " + value + more + " : " + other + ";");
    };
    out_.line("const long long " + value + " = " + text(bound.value) + ";");
    switch (bound.op) {
    case ir::Op::less:
        return narrow(end, " < ", begin, " > ", "");
    case ir::Op::less_equal:
        return narrow(end, " < ", begin, " >= ", " + 1");
    case ir::Op::greater_equal:
        return narrow(begin, " > ", end, " < ", "");
    case ir::Op::greater:
        return narrow(begin, " >= ", end, " < ", " + 1");
    default:
        throw std::logic_error("a bound of work-items that is not an inequality");
    }
}

// ---------------------------------------------------------------- groups

void HostEmitter::plan_context(const ir::Function &kernel) {
    std::vector<ContextArray *> all;
    for (const ir::VariableId id : split_->context_saved()) {
        const Dtype dtype = kernel.variables[id].type.dtype;
        const std::string type = value_type(dtype);
        const std::uint64_t size =
            words(dtype).is_promoted() ? 4 : static_cast<std::uint64_t>(dtype.itemsize());
        all.push_back(
            &(context_variables_[id] = {unique(variables_[id] + "_kept"), type, size, 1}));
    }
    for (ir::RootId id = 0; id < kernel.roots.size(); ++id) {
        const ir::Root &root = kernel.roots[id];
        if (!split_->is_array_context_saved(id))
            continue;
        std::uint64_t count = 1;
        for (const std::int64_t extent : root.type.shape)
            count *= static_cast<std::uint64_t>(extent);
        all.push_back(&(
            context_arrays_[id] = {roots_[id], storage_type(root.type.dtype),
                                   static_cast<std::uint64_t>(root.type.dtype.itemsize()), count}));
    }
    for (const ContextArray *each : all)
        private_bytes_ += each->size * each->count;
    if (split_->returns_early())
        private_bytes_ += 1;
}

void HostEmitter::write_groups(const ir::Function &kernel) {
    map_to_items();
    std::set<Index> used = indices_of(ir::row_of(kernel.body));
    for (std::uint32_t i = 0; i < dimensions(); ++i) {
        const std::string d = std::to_string(i);
        if (used.contains({"global_size", i}))
            out_.line("const long long global_size" + d + " = range[" + std::to_string(1 + i) +
                      "];");
        const std::uint64_t known = target_.local_size[i];
        out_.line("const long long local_size" + d + " = " +
                  (known != 0 ? std::to_string(known) : "range[" + std::to_string(4 + i) + "]") +
                  ";");
        if (i > 0 || used.contains({"num_groups", i}))
            out_.line("const long long num_groups" + d + " = range[" + std::to_string(7 + i) +
                      "];");
    }
    bool counts_items = context_variables_.size() > 1 || !context_arrays_.empty() ||
                        split_->returns_early() ||
                        std::ranges::any_of(used, [](const Index &index) {
                            return index.first.find("sub_group") != std::string::npos;
                        });
    ir::for_each_statement(kernel.body, [&](const ir::Statement &statement) {
        counts_items |= ir::is_group_function(statement);
    });
    if (counts_items)
        out_.line("const long long items = " + product("local_size", 0) + ";");
    if (used.contains({"num_sub_groups", 0}))
        out_.line("const long long num_sub_groups = (items + " + std::to_string(sub_group() - 1) +
                  ") / " + std::to_string(sub_group()) + ";");

    std::vector<const ContextArray *> all;  // largest elements first: aligned for any group size
    for (const auto &[id, each] : context_variables_)
        all.push_back(&each);
    for (const auto &[id, each] : context_arrays_)
        all.push_back(&each);
    std::ranges::stable_sort(all, std::ranges::greater{},
                             [](const ContextArray *each) { return each->size; });
    std::uint64_t offset = 0;
    for (const ContextArray *each : all) {
        out_.line(each->type + " *__restrict " + each->name + " = (" + each->type + " *)" +
                  (offset == 0 ? "kept" : "(kept + " + std::to_string(offset) + " * items)") + ";");
        offset += each->size * each->count;
    }
    if (split_->returns_early())
        out_.line("bool *__restrict returned = (bool *)(kept + " + std::to_string(offset) +
                  " * items);");

    for (ir::RootId i = 0; i < kernel.roots.size(); ++i) {
        const ir::Root &root = kernel.roots[i];
        if (root.type.space != Space::local || root.parameter || !uses_root(i))
            continue;
        out_.line(std::string(dialect_.local_array) + storage_type(root.type.dtype) + " " +
                  roots_[i] + "[" + std::to_string(elements_of(root.type)) + "];");
    }

    out_.open("for (long long group = range[10]; group < range[11]; ++group)");
    if (dimensions() == 1)
        out_.line("const long long group_id0 = group;");
    if (dimensions() == 2)
        out_.line(
            "const long long group_id0 = group / num_groups1, group_id1 = group % num_groups1;");
    if (dimensions() == 3)
        out_.line("const long long group_id0 = group / (num_groups1 * num_groups2), group_id1 = "
                  "group / num_groups2 % num_groups1, "
                  "group_id2 = group % num_groups2;");
    if (split_->returns_early()) {
        out_.open("for (long long item = 0; item < items; ++item)");
        out_.line("returned[item] = false;");
        out_.close();
    }
    std::vector<const ir::Statement *> of_group;
    for (const BarrierSplit::Piece &piece : split_->pieces(kernel.body))
        if (piece.statement != nullptr)
            of_group.push_back(piece.statement);
    const bool labeled = returns_within_loop(of_group);
    const std::string end = labeled ? unique("next_group") : "";
    if (labeled)
        out_.open("");
    for (const ir::VariableId id : split_->shared()) {
        const auto &definition = kernel.variables[id];
        bool is_definition = assigned_once(id);
        if (is_definition)
            is_definition = std::ranges::any_of(of_group, [&](const ir::Statement *statement) {
                return statement->act == ir::Act::assign && statement->id == id &&
                       statement->expressions[0].op != ir::Op::group;
            });
        bool is_counter = false;
        ir::for_each_statement(kernel.body, [&](const ir::Statement &statement) {
            is_counter |= statement.act == ir::Act::for_ && statement.id == id;
        });
        if (!is_definition && !(is_counter && assigned_once(id)))
            out_.line(value_type(definition.type.dtype) + " " + variables_[id] + ";");
    }
    group_return_ = labeled ? "goto " + end + ";" : "continue;";
    write_pieces(kernel.body);
    if (labeled) {
        out_.close();
        out_.line(end + ":;");
    }
    out_.close();
}

void HostEmitter::write_pieces(const std::vector<ir::Statement> &list) {
    if (list.empty())
        return;
    for (const BarrierSplit::Piece &piece : split_->pieces(list)) {
        by_group_ = piece.statement != nullptr;
        if (by_group_) {
            declarations_.clear();
            write_group_statement(*piece.statement);
        } else {
            write_region(split_->region(piece.region));
        }
    }
}

// Opens the loops over the work-items of a group and defines the ids that their body uses.
void HostEmitter::open_items(const std::set<Index> &used, bool needs_item) {
    for (std::uint32_t i = 0; i < dimensions(); ++i) {
        const std::string d = std::to_string(i);
        out_.open("for (long long local_id" + d + " = 0; local_id" + d + " < local_size" + d +
                  "; ++local_id" + d + ")");
    }
    const bool in_sub_group = used.contains({"sub_group_id", 0}) ||
                              used.contains({"sub_group_local_id", 0}) ||
                              used.contains({"sub_group_size", 0});
    if (needs_item || in_sub_group) {
        std::string item = "local_id0";
        for (std::uint32_t i = 1; i < dimensions(); ++i)
            item = (i > 1 ? "(" + item + ")" : item) + " * local_size" + std::to_string(i) +
                   " + local_id" + std::to_string(i);
        out_.line("const long long item = " + item + ";");
    }
    const std::string width = std::to_string(sub_group());
    if (used.contains({"sub_group_id", 0}))
        out_.line("const long long sub_group_id = item / " + width + ";");
    if (used.contains({"sub_group_local_id", 0}))
        out_.line("const long long sub_group_local_id = item % " + width + ";");
    if (used.contains({"sub_group_size", 0}))
        out_.line("const long long sub_group_size = items - item / " + width + " * " + width +
                  " < " + width + " ? items - item / " + width + " * " + width + " : " + width +
                  ";");
    for (std::uint32_t i = 0; i < dimensions(); ++i)
        if (used.contains({"global_id", i})) {
            const std::string d = std::to_string(i);
            out_.line("const long long global_id" + d + " = group_id" + d + " * local_size" + d +
                      " + local_id" + d + ";");
        }
}

void HostEmitter::close_items() {
    for (std::uint32_t i = 0; i < dimensions(); ++i)
        out_.close();
}

void HostEmitter::collect_rematerialised(ir::VariableId id,
                                         std::vector<ir::VariableId> &order) const {
    if (!split_->is_rematerialised(id) || std::ranges::find(order, id) != order.end())
        return;
    ir::for_each_within(split_->definition(id), [&](const ir::Expression &each) {
        if (each.op == ir::Op::variable)
            collect_rematerialised(each.id, order);
    });
    order.push_back(id);
}

void HostEmitter::write_rematerialised(const BarrierSplit::Region &region) {
    std::vector<ir::VariableId> order;
    for (const ir::VariableId id : region.upward_exposed)
        collect_rematerialised(id, order);
    for (const ir::VariableId id : order)
        out_.line("const " + value_type(function_->variables[id].type.dtype) + " " +
                  variables_[id] + " = " + text(split_->definition(id)) + ";");
}

void HostEmitter::write_region(const BarrierSplit::Region &region) {
    std::vector<ir::VariableId> rematerialised;
    for (const ir::VariableId id : region.upward_exposed)
        collect_rematerialised(id, rematerialised);
    std::vector<ir::VariableId> context_saved;
    Declarations::Variables local;
    for (const ir::VariableId id : region.used) {
        if (split_->is_context_saved(id)) {
            context_saved.push_back(id);
            if (!region.upward_exposed.contains(id) && !region.partially_assigned.contains(id) &&
                begins_with_assignment(region.row, id))
                local.insert(id);
        } else if (!split_->is_shared(id) && !function_->variables[id].parameter &&
                   std::ranges::find(rematerialised, id) == rematerialised.end())
            local.insert(id);
    }
    // For an interchanged loop, this is the loop that the source has.
    region.in_loop ? map_to_source(*region.row.front()) : map_to_items();
    open_items(indices_of(region.row),
               !context_saved.empty() || !context_arrays_.empty() || split_->returns_early());
    if (split_->returns_early())
        out_.line("if (returned[item]) continue;");
    write_rematerialised(region);
    for (const ir::VariableId id : context_saved) {
        const ContextArray &memory = context_variables_.at(id);
        const bool reads =
            region.upward_exposed.contains(id) || region.partially_assigned.contains(id);
        const bool writes = region.written.contains(id);
        if (local.contains(id))
            continue;
        out_.line((writes ? "" : "const ") + memory.type + " " + variables_[id] +
                  (reads ? " = " + memory.name + "[item]" : "") + ";");
    }
    write_item_body(region.row, local, region.private_arrays);
    for (const ir::VariableId id : context_saved)
        if (region.written.contains(id))
            out_.line(context_variables_.at(id).name + "[item] = " + variables_[id] + ";");
    close_items();
}

// Barrier of all groups: the thread of a group counts its arrival and waits for those of the
// others.
//
// Invariants:
// - The launch is cooperative, so each group has a thread of its own. A group that waits does not
//   keep another one from arriving.
// - `arrivals` is a multiple of the number of groups before a barrier, and each group adds 1. The
//   barrier is passed once the next multiple is reached.
// - An arrival releases the writes of its group, and the last load acquires those of all.
void HostEmitter::write_grid_barrier() {
    add_once("grid_barrier",
             "extern \"C\" int sched_yield() noexcept;\n"
             "static void grid_barrier(unsigned long long *arrivals, unsigned long long groups) {\n"
             "    const unsigned long long end =\n"
             "        (__atomic_fetch_add(arrivals, 1, __ATOMIC_ACQ_REL) / groups + 1) * groups;\n"
             "    while (__atomic_load_n(arrivals, __ATOMIC_ACQUIRE) < end)\n"
             "        sched_yield();\n"
             "}");
    out_.line("grid_barrier(arrivals, range[7] * range[8] * range[9]);");
}

void HostEmitter::write_group_statement(const ir::Statement &statement) {
    map_to_source(statement);
    switch (statement.act) {
    case ir::Act::barrier:
        return ir::is_grid_barrier(statement) ? write_grid_barrier() : void();
    case ir::Act::assign:
        if (statement.expressions[0].op == ir::Op::group)
            return write_group_function(statement);
        {
            bool is_definition = false;
            if (assigned_once(statement.id))
                for (const BarrierSplit::Piece &piece : split_->pieces(function_->body))
                    is_definition |= piece.statement == &statement;
            return out_.line(
                (is_definition
                     ? "const " + value_type(function_->variables[statement.id].type.dtype) + " "
                     : "") +
                variables_[statement.id] + " = " + text(statement.expressions[0]) + ";");
        }
    case ir::Act::evaluate:
        return write_group_function(statement);
    case ir::Act::if_:
        out_.open("if (" + text(statement.expressions[0]) + ")");
        write_pieces(statement.body);
        if (!statement.otherwise.empty()) {
            out_.reopen("else");
            write_pieces(statement.otherwise);
        }
        return out_.close();
    case ir::Act::while_:
        out_.open("while (" + text(statement.expressions[0]) + ")");
        begin_iteration(statement);
        write_pieces(statement.body);
        return out_.close();
    case ir::Act::for_: {
        const bool owns = split_->is_shared(statement.id) && assigned_once(statement.id);
        if (owns)
            declarations_.own(statement);
        const ForHead head = for_head(statement);
        map_to_source(statement);
        out_.open(head.text);
        begin_iteration(statement);
        if (!owns && split_->is_shared(statement.id))
            out_.line(variables_[statement.id] + " = " + head.counter + ";");
        if (!owns && split_->is_context_saved(statement.id)) {
            out_.open("for (long long item = 0; item < items; ++item)");
            out_.line(context_variables_.at(statement.id).name + "[item] = " + head.counter + ";");
            out_.close();
        }
        write_pieces(statement.body);
        return out_.close();
    }
    case ir::Act::break_:
        return out_.line("break;");
    case ir::Act::continue_:
        return out_.line("continue;");
    case ir::Act::return_:
        return out_.line(group_return_);
    default:
        throw std::logic_error("a statement that is no group's stands between the regions");
    }
}

void HostEmitter::write_return(const ir::Statement &statement) {
    if (function_ != &module_.kernel())
        return Emitter::write_return(statement);
    if (split_ && split_->returns_early())
        out_.line("returned[item] = true;");
    out_.line(return_);
}

std::string HostEmitter::variable(ir::VariableId id) {
    if (!by_group_ || function_ != &module_.kernel())
        return variables_[id];
    if (split_->is_rematerialised(id))
        return "(" + text(split_->definition(id)) + ")";
    return split_->is_context_saved(id) ? context_variables_.at(id).name + "[0]" : variables_[id];
}

// Context-saved arrays are stored element by element in the order of the work-items, so that
// neighbors access neighboring memory. The elements of an accumulator's block stay together,
// because its functions take the block.
std::string HostEmitter::element(ir::RootId root, const ir::Expression &offset) {
    if (function_ == &module_.kernel() && context_arrays_.contains(root) &&
        !function_->roots[root].type.tile.empty())
        return "(" + root_argument(root) + ")[" + text(offset) + "]";
    if (function_ == &module_.kernel() && context_arrays_.contains(root))
        return roots_[root] + "[" + text(offset, binds_multiply) + " * items + " +
               (by_group_ ? "0" : "item") + "]";
    return Emitter::element(root, offset);
}

std::string HostEmitter::root_argument(ir::RootId root) {
    const ir::Root &array = function_->roots[root];
    const bool is_saved = function_ == &module_.kernel() && context_arrays_.contains(root);
    if (is_saved && !array.type.tile.empty())
        return roots_[root] + " + " + std::to_string(elements_of(array.type)) + " * " +
               (by_group_ ? "0" : "item");
    if (is_saved)
        throw CompileError({function_, array.inlined.get(), array.at},
                           "the private array " + array.name +
                               " is used on both sides of a barrier and given to a function; the "
                               "host cannot do both: give its elements");
    return roots_[root];
}

Compiled emit_host(const ir::Module &module, const std::vector<ArgumentType> &arguments,
                   const Target &target) {
    const ir::Module ready = prepared(module, target);
    return HostEmitter(ready, target).run(arguments);
}

}  // namespace entrepot::kernel
