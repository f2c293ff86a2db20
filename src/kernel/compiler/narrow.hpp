// Narrow: what is known of integers before a program runs. Those that never leave 32 bits are kept in 32, and those that are
// never negative are converted so, where the dialect gains by it; arithmetic that never leaves its type is marked so.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>

namespace entrepot::kernel {

// Variables of int64 that change in loops, and count no elements: each is read as int64 as before.
void narrow_counters(ir::Module &module);
// Those of int64 that are made of ids, and become float64, are converted as unsigned numbers, which they are.
void convert_ids_unsigned(ir::Module &module);
void mark_what_fits(ir::Module &module);

}  // namespace entrepot::kernel
