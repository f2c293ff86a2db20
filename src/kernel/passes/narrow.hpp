// Passes that use the ranges of integers. If the dialect benefits, values that fit 32 bits are
// stored in 32 bits, and values that are never negative are converted as unsigned. Arithmetic that
// stays within its type is marked.
#pragma once
#include "kernel/ir/ir.hpp"

namespace entrepot::kernel {

// Narrows int64 variables that change in loops and do not count elements. Reads still have type
// int64.
void narrow_counters(ir::Module &module);
// Converts int64 values made of ids to float64 as unsigned integers, since they are never negative.
void convert_ids_unsigned(ir::Module &module);
// Sets Expression::no_overflow where the ranges prove it.
void mark_no_overflow(ir::Module &module);

}  // namespace entrepot::kernel
