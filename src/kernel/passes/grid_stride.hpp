// Loop interchange for grid-stride loops: `for k in range(global_id, n, global_size)` at the end of
// a kernel. One after another, work-items would each access memory at a stride. The host runs one
// iteration of all work-items, then the next one, so that accesses are contiguous.
//
// The order within a work-item stays. Work-items have no order among each other between two
// barriers, and none may wait for another one, so any alternation of their iterations is valid.
//
// If no iteration uses what another one writes, the order within a work-item is free as well, and
// any work-item may run any iteration. The host then runs neighboring iterations together.
//
// Lifetime: the result points into the statements that it was found in.
#pragma once
#include "kernel/ir/ir.hpp"
#include "kernel/ir/walk.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace entrepot::kernel {

struct GridStride {
    ir::Row before;             // definitions that the loop uses, which read no memory
    const ir::Statement *loop;  // its counter is the id plus a multiple of the step
    ir::Expression stop, step;  // the same for all work-items
    bool has_free_order;        // any work-item may run any iteration, at any time
};

// `row`: the body of a kernel without groups. `dimension`: the fastest one.
// Returns: nullopt if the row does not end with such a loop, or if an iteration uses a value of the
//   iteration before it.
std::optional<GridStride> grid_stride(const ir::Module &module, const ir::Row &row,
                                      std::uint32_t dimension);

}  // namespace entrepot::kernel
