// Compiler from a Python function and its arguments' types to source in a C dialect. It depends on
// neither devices nor Python.
#pragma once
#include <entrepot/core/error.hpp>
#include <entrepot/kernel/compiler/ir.hpp>
#include <entrepot/kernel/compiler/target.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::kernel {

// Type of one argument of a launch: a scalar, an array, or a value that is compiled in. Local
// memory sized at launch is an array in Space::local without a shape.
struct ArgumentType {
    Type type;
    bool restrict_ = false;  // no other argument overlaps this array
};

// One parameter of the compiled function: the argument that it comes from and the part of it that
// is passed.
struct CompiledParameter {
    enum class What : std::uint8_t {
        pointer,  // to the first element (global), or EP_ARG_LOCAL: `argument`'s local memory
        value,    // a scalar, of `dtype`
        extent,   // of `dimension`, int64
        stride,   // of `dimension`, in elements, int64
        local,    // local memory sized at launch
        scratch,  // EP_ARG_LOCAL: `dimension` bytes for each work-item of a group, for group
                  // operations
        arrays,   // EP_ARG_LOCAL: `dimension` bytes, for local.array that cannot be declared for
                  // their size (CUDA and HIP)
        global_size,  // of `dimension`, work-items, int64: the launch may have more, which do
                      // nothing (CUDA and HIP; kernels that do not tell groups apart)
        report,       // debug builds: a block of report_words int64, zeroed, in global memory
    };
    // Names of the enumerators of `What`, in declaration order.
    static constexpr std::array<std::string_view, 9> names{"pointer", "value",       "extent",
                                                           "stride",  "local",       "scratch",
                                                           "arrays",  "global_size", "report"};
    static_assert(names.size() == static_cast<std::size_t>(What::report) + 1);
    What what = What::pointer;
    std::uint32_t argument = 0;
    std::uint64_t dimension = 0;
    Dtype dtype{};
};

// An index that every work-item uses: constant + by_id[0] * global id 0 + …. `axes` lists the array
// axes that it indexes.
struct Reach {
    struct Axis {
        std::uint32_t argument = 0, axis = 0;
        bool counts_from_end = false;  // true: the index is negative; false: it is never negative
        Position at;                   // in the kernel's source

        bool operator==(const Axis &other) const {
            return argument == other.argument && axis == other.axis &&
                   counts_from_end == other.counts_from_end;
        }
    };
    std::int64_t constant = 0;
    std::array<std::int64_t, 3> by_id{};
    std::vector<Axis> axes;
};

// An index that every work-item uses and that no Reach describes. It consists of constants, sizes,
// ids, extents and strides, where `id` of an extent or stride is the argument's place.
struct CertainAccess {
    // An argument, or an array of fixed shape that the kernel makes.
    struct Array {
        std::string name;
        Space space = Space::global;
        std::optional<std::uint32_t> argument;  // its place
        std::vector<std::int64_t> shape;        // of an array that the kernel makes
    };
    Array array;
    std::optional<std::uint32_t> axis;  // nullopt: `index` is an offset in elements from the first
    bool counts_from_end = false;       // with an axis: a negative index counts from its end
    ir::Expression index;
    std::shared_ptr<const syntax::Function> source;  // has the access at `at`
    Position at;
};

// A store that loses updates if several work-items of a launch, or of a group, execute it.
struct LostUpdate {
    // Condition on the path to the store. It consists of constants, sizes, ids, extents (`id` is
    // the argument's place) and scalar arguments (Op::index with the text `argument`; `number` is
    // the place). Any other subexpression is unknown.
    struct Guard {
        ir::Expression condition;
        // an unknown value counts as this; true: it may hold for several work-items
        bool if_unknown = false;
        bool differs = false;  // it may differ between work-items
    };
    static constexpr std::string_view argument = "argument";

    std::string message;
    bool in_group = false;  // between work-items of one group only
    std::vector<Guard> guards;
};

// Number of int64 words in a report: flag (0 or 1), line, column, index, extent, three global ids.
inline constexpr std::size_t report_words = 8;

struct Compiled {
    std::string source;  // in the target's dialect
    std::string name;    // of the function in it, as Program::kernel() finds it
    std::vector<CompiledParameter> parameters;
    std::vector<bool> read, written;  // by argument
    bool uses_groups = false, has_barriers = false, prints = false;
    std::uint64_t local_bytes = 0;        // of local.array, without local memory sized at launch
    std::string options;                  // for the dialect's compiler
    std::vector<Reach> reach;             // empty in debug builds, which check every index
    std::vector<CertainAccess> accesses;  // likewise
    std::vector<LostUpdate> lost_updates;
};

// Builds the typed form.
// Throws: CompileError if the types cannot be determined.
ir::Module typed(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target);
// Front end: typed() followed by all checks.
// Throws: CompileError
ir::Module lower(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target);
// Middle: optimises in place and preserves the meaning.
void optimise(ir::Module &module, const Target &target);
// Back end: writes the source text.
Compiled emit(const ir::Module &module, const std::vector<ArgumentType> &arguments,
              const Target &target);

// Calls lower(), optimise() and emit().
Compiled compile(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target);

// Error in a kernel, of kind `kernel`, with this message:
//
//     file:line: what is wrong; what to write instead
//         the source line
//         ^^^^^ under the relevant part
//
// An error about two places shows the second one afterwards. An error in a device function lists
// the calls that led to it.
class CompileError : public Error {
public:
    CompileError(const syntax::Function &function, Position at, std::string_view message);
    CompileError(const syntax::Function &function, Position at, std::string_view message,
                 Position other, std::string_view about_other);
    // For a place in the typed form. Lists the calls that were inlined to reach it.
    CompileError(const ir::Place &place, std::string_view message);
    CompileError(const ir::Place &place, std::string_view message, const ir::Place &other,
                 std::string_view about_other);
    // Copy of `found` that adds the call at `at` in `caller`.
    CompileError(const CompileError &found, const syntax::Function &caller, Position at);
};

}  // namespace entrepot::kernel
