// Loop interchange for strided loops of a work-group: `for k in range(local_id, n, local_size)`,
// `range(global_id, n, global_size)` and their like. One after another, work-items would each
// access memory at a stride, and their sums would wait for each addition. The host runs one
// iteration of all work-items, then the next one, so that accesses are contiguous and additions
// independent.
//
// The order within a work-item stays. Work-items have no order among each other between two
// barriers, and none may wait for another one, so any alternation of their iterations is valid.
#pragma once
#include "kernel/ir/ir.hpp"

#include <cstdint>

namespace entrepot::kernel {

// The sums of fewer work-items are as fast in registers, one after another.
inline constexpr std::uint64_t smallest_interchanged_group = 8;

// Writes such a loop as a loop of the group with a barrier in it, over iterations that all
// work-items have. An iteration for the work-items that are left follows it.
//
// Requires: a module that uses groups, for launches of one dimension.
void interchange_group_strides(ir::Module &module);

}  // namespace entrepot::kernel
