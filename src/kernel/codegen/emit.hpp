// Source text of a compiled kernel, and the parameters that a launch passes to it.
#pragma once
#include "kernel/ir/ir.hpp"
#include "kernel/ir/target.hpp"
#include "kernel/ir/types.hpp"
#include "kernel/passes/accesses.hpp"
#include <entrepot/core/dtype.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::kernel {

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
        arrivals,     // kernels with grid barriers: a uint64 in global memory, zeroed for each
                      // launch, that counts the groups which arrive (CUDA, HIP and the host)
    };
    // Names of the enumerators of `What`, in declaration order.
    static constexpr std::array<std::string_view, 10> names{
        "pointer", "value",  "extent",      "stride", "local",
        "scratch", "arrays", "global_size", "report", "arrivals"};
    static_assert(names.size() == static_cast<std::size_t>(What::arrivals) + 1);
    What what = What::pointer;
    std::uint32_t argument = 0;
    std::uint64_t dimension = 0;
    Dtype dtype{};
};

// A check of a debug build: of an index, or an assertion.
struct Check {
    std::shared_ptr<const Source> source;  // of the function that contains it; may be null
    Position at;
    bool is_assertion = false;
    std::string message;  // of the assertion; may be empty
};

// Number of int64 words in a report: flag (0 or 1), number of the check, three global ids, index,
// extent. The last two are 0 for an assertion.
inline constexpr std::size_t report_words = 7;

struct Compiled {
    std::string source;  // in the target's dialect
    std::string name;    // of the function in it, as Program::kernel() finds it
    std::vector<CompiledParameter> parameters;
    std::vector<Check> checks;
    std::vector<bool> read, written;  // by argument
    bool uses_groups = false, has_barriers = false, prints = false;
    bool is_cooperative = false;  // its groups wait for each other, so all must run at once
    // True if the code depends on Target::coarsens.
    bool can_coarsen = false;
    std::uint32_t items_per_thread = 1;   // work-items along the first dimension
    bool has_tiles = false;               // true: the code is for one local size
    std::uint64_t local_bytes = 0;        // of local.array, without local memory sized at launch
    std::string options;                  // for the dialect's compiler
    std::vector<Reach> reach;             // empty in debug builds, which check every index
    std::vector<CertainAccess> accesses;  // likewise
    std::vector<LostUpdate> lost_updates;
};

// Writes the source text. `reach`, `accesses` and `lost_updates` stay empty.
Compiled emit(const ir::Module &module, const std::vector<ArgumentType> &arguments,
              const Target &target);

}  // namespace entrepot::kernel
