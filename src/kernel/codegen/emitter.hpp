// Emitter: the common part of all dialects that turns the typed form into text. Subclasses write
// the start and end of a kernel, ids, barriers and group functions.
#pragma once
#include "kernel/codegen/emit.hpp"
#include "kernel/ir/error.hpp"
#include "kernel/ir/ir.hpp"
#include "kernel/ir/target.hpp"

#include "kernel/codegen/dialects.hpp"
#include "kernel/codegen/writer.hpp"
#include "kernel/ir/ranges.hpp"
#include "kernel/ir/walk.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace entrepot::kernel {

std::string joined(const std::vector<std::string> &parts, std::string_view between = ", ");
// Replaces the first string of each pair by the second.
std::string
substituted(std::string text,
            std::initializer_list<std::pair<std::string_view, std::string>> replacements);
// Shortest text that reads back as the value, with a decimal point or an exponent.
std::string digits_of(double value, bool single);

// Offset of the next array in a block of arrays of any types.
constexpr std::uint64_t aligned_to_16(std::uint64_t bytes) { return (bytes + 15) / 16 * 16; }

// Expression for the new value of an atomic, from `old` and `value`.
std::string operation_text(const std::string &name);

// Precedence of C's operators.
enum Binding : int {
    binds_any = 0,
    binds_select = 3,
    binds_or,
    binds_and,
    binds_bit_or,
    binds_bit_xor,
    binds_bit_and,
    binds_equal,
    binds_less,
    binds_shift,
    binds_add,
    binds_multiply,
    binds_unary,
    binds_primary,
};

struct Spelled {
    std::string text;
    int binding = binds_primary;
};

// Chooses where variables are declared: at the first statement, in the innermost block, that uses
// them.
class Declarations {
public:
    using Variables = std::set<ir::VariableId>;

    // `wanted`: the variables to be declared within `row`.
    void plan(const ir::Row &row, const Variables &wanted);

    const std::vector<ir::VariableId> &before(const ir::Statement &statement) const;
    bool at(const ir::Statement &statement) const { return at_.contains(&statement); }
    // Makes the statement declare the variable that it assigns, regardless of the plan.
    void own(const ir::Statement &statement) { at_.insert(&statement); }
    void clear();

private:
    const Variables &touched(const ir::Statement &statement);

    std::map<const ir::Statement *, Variables> touched_;
    std::map<const ir::Statement *, std::vector<ir::VariableId>> before_;
    std::set<const ir::Statement *> at_;
};

class Emitter {
public:
    Emitter(const ir::Module &module, const Target &target);
    virtual ~Emitter() = default;
    Emitter(const Emitter &) = delete;

    Compiled run(const std::vector<ArgumentType> &arguments);

protected:
    // ------------------------------------------------------------ specific to each dialect
    virtual void write_kernel(const ir::Function &kernel) = 0;
    virtual std::string prologue() = 0;
    virtual std::string options() const { return ""; }
    virtual Spelled index(const ir::Expression &expression) = 0;
    virtual std::string atomic(const ir::Expression &expression) = 0;
    // Condition that is true for exactly one work-item, which may write the block `report`.
    virtual std::string claims_report() const = 0;
    // Statements that call a group function, barriers, fences.
    virtual void write_group_function(const ir::Statement &statement) = 0;
    virtual void write_barrier(const ir::Statement &statement) = 0;
    virtual void write_fence(const ir::Statement &statement) = 0;
    virtual bool has_own_text(const ir::Function &) const { return false; }
    virtual void write_return(const ir::Statement &statement);
    virtual std::string element(ir::RootId root, const ir::Expression &offset);
    virtual std::string variable(ir::VariableId id) { return variables_[id]; }
    virtual std::string root_argument(ir::RootId root) { return roots_[root]; }
    // True if the compiler is known to confuse the negated floats of different work-items.
    // Expressions are then written in a form that it cannot turn into a negation.
    virtual bool miscompiles_negation() const { return false; }
    // Name of a function that negates floats of the type if miscompiles_negation(); else empty.
    virtual std::string negation_helper(Dtype) { return ""; }
    // Name of a function that returns the factor but hides from the compiler that it is -1; empty
    // if not needed.
    virtual std::string opaque_factor_helper(const ir::Expression &) { return ""; }
    // Name of a function that inverts the bits of integers of the type if C's operator is unusable;
    // else empty.
    virtual std::string inversion_helper(Dtype) { return ""; }
    // Text in parentheses for an equality of an id that the compiler would get wrong; empty if it
    // would not.
    virtual std::string id_equality(const ir::Expression &) { return ""; }
    // Line that prevents contraction of a function's products and sums; empty if they may be
    // contracted.
    virtual std::string no_contraction_line() const { return ""; }
    // Parameters that every function gets in addition to its own: in its definition, and in a call.
    virtual void add_hidden_parameters(std::vector<std::string> &) {}
    virtual void add_hidden_arguments(std::vector<std::string> &, const ir::Function &) {}

    // ------------------------------------------------------------ types and names
    const TypeWords &words(Dtype dtype) const { return type_words(dialect_, dtype); }
    std::string value_type(Dtype dtype);
    std::string storage_type(Dtype dtype);
    std::string pointer_to(const ir::Root &root, bool restricted) const;
    std::string unique(const std::string &wanted);
    // Chooses names for the variables and roots of the function.
    void begin_function(const ir::Function &function);
    std::string function_name(const ir::Function &function) const;
    // Name of a helper function for `dtype`; adds the helper to the program.
    std::string helper(std::string_view name, Dtype dtype);
    // Name of a mathematical function for `dtype`; empty if a helper computes it.
    std::string math_function(std::string_view name, Dtype dtype);
    // Declares a function of that name, if calls need a declaration.
    virtual void declare_math_function(const std::string &) {}
    // Adds text that is not in the table to the program, once per key. False if the key was
    // present.
    bool add_once(const std::string &key, const std::string &text);
    std::string filled(std::string_view text, Dtype dtype);

    // ------------------------------------------------------------ expressions
    std::string text(const ir::Expression &expression, int binding = binds_any);
    // Text whose literals have exactly their type. C evaluates such a value before it combines the
    // result with a typed operand.
    std::string exact_text(const ir::Expression &expression, int binding);
    std::string loaded(const std::string &element, Dtype dtype);
    std::string stored(const ir::Expression &value);
    std::string constant(const ir::Expression &expression, bool exact);
    std::string float_constant(double value, Dtype dtype) const;
    std::string arguments_of(const ir::Expression &call);

    // ------------------------------------------------------------ statements
    void write(const ir::Row &row);
    void write(const std::vector<ir::Statement> &statements) { write(ir::row_of(statements)); }
    virtual void write(const ir::Statement &statement);
    void write_function(const ir::Function &function);
    void declare_before(const ir::Statement &statement);
    void map_to_source(const ir::Statement &statement);
    // Refuses part of the current statement.
    [[noreturn]] void refuse_here(Position at, const std::string &message) const;
    // `name = value;`, preceded by the type if the variable is declared here.
    void write_assignment(const ir::Statement &statement, ir::VariableId id,
                          const std::string &value);
    void write_if(const ir::Statement &statement, bool within_else);
    struct ForHead {
        std::string text, counter;
    };
    ForHead for_head(const ir::Statement &statement);
    void write_for(const ir::Statement &statement);
    // Writes code at the start of a loop's body.
    virtual void begin_iteration(const ir::Statement &) {}
    void write_private_arrays(const ir::Function &function, const std::set<ir::RootId> &wanted);
    // Qualifier for the element type of a private array.
    virtual std::string private_qualifier(const ir::Root &) const { return ""; }
    void write_constant_arrays(const ir::Function &function);

    // ------------------------------------------------------------ operations of group functions
    std::string identity(const std::string &operation, Dtype dtype);
    std::string combined(const std::string &operation, const std::string &a, const std::string &b,
                         Dtype dtype);

    // ------------------------------------------------------------ facts about a function
    bool uses_root(ir::RootId root) const { return used_roots_.contains(root); }
    bool uses_dimension(ir::Op op, ir::RootId root, std::uint32_t dimension) const {
        return used_dimensions_.contains({op, root, dimension});
    }
    std::string dimension_name(ir::Op op, ir::RootId root, std::uint32_t dimension) const;
    bool assigned_once(ir::VariableId id) const { return assignments_[id] == 1; }

    const ir::Module &module_;
    const Target &target_;
    const DialectRow &dialect_;
    Writer out_;
    std::string helpers_;  // added to the program before out_
    std::vector<CompiledParameter> parameters_;
    std::vector<Check> checks_;  // of debug builds
    // State of the function that is being written:
    const ir::Function *function_ = nullptr;
    std::vector<std::string> variables_, roots_;
    std::vector<int> assignments_;
    std::set<std::string> names_;
    std::set<ir::RootId> used_roots_;
    std::set<std::tuple<ir::Op, ir::RootId, std::uint32_t>> used_dimensions_;
    Declarations declarations_;
    std::optional<RangeAnalysis> ranges_;
    const ir::Inlined *inlined_ = nullptr;  // call chain of the current statement

private:
    Spelled spell(const ir::Expression &expression);
    Spelled spell_constant(const ir::Expression &expression, bool exact);
    Spelled spell_binary(const ir::Expression &expression, std::string_view sign, int binding);
    Spelled spell_equality(const ir::Expression &expression, std::string_view sign);
    bool needs_unsigned(Dtype dtype, bool multiplies) const;
    bool needs_unsigned(const ir::Expression &value) const {
        return !value.no_overflow && needs_unsigned(value.type.dtype, value.op == ir::Op::multiply);
    }
    std::string unsigned_cast(Dtype dtype) const;
    Spelled spell_unsigned(const ir::Expression &expression, std::string_view sign);
    std::string factor_text(const ir::Expression &factor, int binding);
    std::optional<Spelled> spell_sum_with_negated(const ir::Expression &difference);
    Spelled spell_divide(const ir::Expression &expression);
    Spelled spell_shift(const ir::Expression &expression);
    Spelled spell_convert(const ir::Expression &expression);
    // Converts `operand` to the real type `to`.
    Spelled converted(const ir::Expression &operand, Dtype to);
    Spelled spell_math(const ir::Expression &expression);
    std::string check_arguments(const ir::Expression &expression);
    void add_report_failure();
    std::string checked_index(const ir::Expression &expression);
    // A statement without its semicolon.
    std::string assertion(const ir::Expression &expression);
    // Converts the result of C's arithmetic back to a small type: wraps or rounds it.
    Spelled narrowed(Spelled spelled, Dtype dtype);
    void write_print(const ir::Statement &statement);
    std::string shortest_text(Dtype dtype);
    std::string constant_array(const ir::Function &function, ir::RootId root);
    bool fits_constant_memory(std::size_t bytes);

    const bool converts_floats_to_integers_;  // true: the program has such a conversion
    std::vector<std::string> function_names_;
    std::set<std::string> helper_keys_;
    std::size_t functions_named_ = 0;
    std::size_t constant_bytes_ = 0;  // bytes used in CUDA's constant memory
};

Compiled emit_host(const ir::Module &module, const std::vector<ArgumentType> &arguments,
                   const Target &target);
Compiled emit_device(const ir::Module &module, const std::vector<ArgumentType> &arguments,
                     const Target &target);

}  // namespace entrepot::kernel
