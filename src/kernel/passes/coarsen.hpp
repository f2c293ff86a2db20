// Thread coarsening for CUDA and HIP: a thread executes several work-items of its group, which lie
// along the first dimension. Their loads are in flight together, and a value that they share is
// loaded once. Results are the same, because nothing orders the work-items of a group between two
// barriers.
#pragma once
#include "kernel/ir/ir.hpp"
#include "kernel/ir/target.hpp"

#include <cstdint>

namespace entrepot::kernel {

// Work-items of a thread: `python -m benchmarks.cuda bandwidth` compares their kernels with a copy
// and with CUDA C++ of 1, 2, 4 and 8 rows for each thread.
inline constexpr std::uint32_t coarsened_items = 4;

// True if coarsening keeps the meaning of the kernel and is likely to make it faster. Such kernels
// are short and have neither loops nor groups, or they load elements of local memory that several
// work-items share.
bool can_coarsen(const ir::Module &module, const Target &target);

// Requires: can_coarsen().
void coarsen(ir::Module &module);

}  // namespace entrepot::kernel
