// The compiler: a Python function and the types of its arguments in, source of a C dialect out. It knows no device and no Python.
#pragma once
#include <entrepot/core/error.hpp>
#include <entrepot/kernel/compiler/ir.hpp>
#include <entrepot/kernel/compiler/target.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::kernel {

// One argument of a launch as the compiler sees it: a scalar's or an array's type, local memory sized at launch (an array in
// Space::local without a shape), or a value that is compiled in.
struct ArgumentType {
    Type type;
    bool restrict_ = false;  // an array that no other argument overlaps
};

// A parameter of the compiled function, in its order: from which argument it comes, and what of it.
struct CompiledParameter {
    enum class What : std::uint8_t {
        pointer,      // to the first element (global), or EP_ARG_LOCAL: `argument`'s local memory
        value,        // a scalar, of `dtype`
        extent,       // of `dimension`, int64
        stride,       // of `dimension`, in elements, int64
        local,        // local memory sized at launch
        scratch,      // EP_ARG_LOCAL: `dimension` bytes for each work-item of a group, for group operations
        arrays,       // EP_ARG_LOCAL: `dimension` bytes, for local.array that cannot be declared for their size (CUDA and HIP)
        global_size,  // of `dimension`, work-items, int64: the launch may have more, which do nothing (CUDA and HIP; kernels
                      // that do not tell groups apart)
        report,       // debug builds: a block of report_words int64, zeroed, in global memory
    };
    // Of What, in its order.
    static constexpr std::array<std::string_view, 9> names{"pointer", "value",  "extent",      "stride", "local",
                                                           "scratch", "arrays", "global_size", "report"};
    static_assert(names.size() == static_cast<std::size_t>(What::report) + 1);
    What what = What::pointer;
    std::uint32_t argument = 0;
    std::uint64_t dimension = 0;
    Dtype dtype{};
};

// An index that every work-item uses, constant + by_id[0] * its global id 0 + …, and the axes of arguments that it is used for.
struct Reach {
    struct Axis {
        std::uint32_t argument = 0, axis = 0;
        bool counts_from_end = false;  // where the index is negative; else it never is
        Position at;                   // in the kernel's source

        bool operator==(const Axis &other) const {
            return argument == other.argument && axis == other.axis && counts_from_end == other.counts_from_end;
        }
    };
    std::int64_t constant = 0;
    std::array<std::int64_t, 3> by_id{};
    std::vector<Axis> axes;
};

// A store that loses updates where several work-items of a launch, or of a group, do it.
struct LostUpdate {
    // A condition on the path to the store, of constants, sizes, ids, extents (`id` is the argument's place) and scalar arguments
    // (Op::index with the text `argument`; `number` is the place). Anything else in it is unknown.
    struct Guard {
        ir::Expression condition;
        bool if_unknown = false;  // whether it counts as true where it is unknown: it is the same for all work-items
    };
    static constexpr std::string_view argument = "argument";

    std::string message;
    bool in_group = false;  // among the work-items of one group
    std::vector<Guard> guards;
};

// Words of a report: whether there is one (0 or 1), line, column, index, extent, global id of three dimensions.
inline constexpr std::size_t report_words = 8;

struct Compiled {
    std::string source;  // in the target's dialect
    std::string name;    // of the function in it, as Program::kernel() finds it
    std::vector<CompiledParameter> parameters;
    std::vector<bool> read, written;  // by argument
    bool uses_groups = false, has_barriers = false, prints = false;
    std::uint64_t local_bytes = 0;  // of local.array; that sized at launch comes on top
    std::string options;            // for the dialect's compiler
    std::vector<Reach> reach;       // empty in debug builds, which check every index
    std::vector<LostUpdate> lost_updates;
};

// Syntax to the typed form. Throws CompileError for what has no types.
ir::Module typed(const std::shared_ptr<const syntax::Function> &kernel, const std::vector<ArgumentType> &arguments,
                 const Target &target);
// Front: the same, all checks made. Throws CompileError.
ir::Module lower(const std::shared_ptr<const syntax::Function> &kernel, const std::vector<ArgumentType> &arguments,
                 const Target &target);
// Middle: what pays, in place; the meaning stays.
void optimise(ir::Module &module, const Target &target);
// Back: text.
Compiled emit(const ir::Module &module, const std::vector<ArgumentType> &arguments, const Target &target);

// The three in a row.
Compiled compile(const std::shared_ptr<const syntax::Function> &kernel, const std::vector<ArgumentType> &arguments,
                 const Target &target);

// A program that is refused: an Error of kind kernel whose message is
//     file:line: what is wrong; what to write instead
//         the source line
//         ^^^^^ under what is meant
// and for errors about two places, the second likewise behind it; for errors in a device function, the calls that led there.
class CompileError : public Error {
public:
    CompileError(const syntax::Function &function, Position at, std::string_view message);
    CompileError(const syntax::Function &function, Position at, std::string_view message, Position other,
                 std::string_view about_other);
    // Of the typed form, with the calls that led to what has been put in their place.
    CompileError(const ir::Place &place, std::string_view message);
    CompileError(const ir::Place &place, std::string_view message, const ir::Place &other, std::string_view about_other);
    // The same error, of a function that `caller` calls there.
    CompileError(const CompileError &found, const syntax::Function &caller, Position at);
};

}  // namespace entrepot::kernel
