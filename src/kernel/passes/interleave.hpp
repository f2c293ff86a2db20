// Interleaving of work-items (unroll-and-jam) for the host. A loop that sums floats is bound by the
// latency of the addition, because the order of the additions must not change. The loops of several
// work-items at once give independent additions, which overlap or are the lanes of a vector. The
// results are the same as without interleaving.
//
// Lifetime: a plan points into the statements that it was made of.
#pragma once
#include "kernel/ir/ir.hpp"
#include "kernel/ir/walk.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace entrepot::kernel {

// In shorter loops a processor overlaps consecutive work-items by itself.
inline constexpr std::int64_t min_interleaved_trip_count = 16;

// A kernel divided into the code before its first loop, the loop's body, and the code after it.
struct InterleavePlan {
    using Variables = std::set<ir::VariableId>;

    ir::Row before, body, after;
    const ir::Statement *loop = nullptr;
    Variables used_before, used_in_body, used_after;
    // Scalar expansion: variables of more than one part become arrays with an element per lane.
    Variables expanded;
    // Variables in blocks of vectors whose value every part computes anew from ids and arguments.
    // Compilers then know that consecutive work-items access consecutive elements.
    std::map<ir::VariableId, ir::Expression> rematerialised;
    // Set if vector instructions can execute the loop for several work-items: its start, stop and
    // step, which are the same for all.
    std::optional<std::array<ir::Expression, 3>> common_range;
    std::vector<int> widths;  // work-items of a block, for blocks from the largest to the smallest
};

// `body`: that of the kernel, without conditions that bound the ids. `dimension`: the fastest one.
// Returns: nullopt if the kernel is not interleaved.
std::optional<InterleavePlan> plan_interleaving(const ir::Module &module,
                                                const std::vector<ir::Statement> &body,
                                                std::uint32_t dimension, bool fast_math);

}  // namespace entrepot::kernel
