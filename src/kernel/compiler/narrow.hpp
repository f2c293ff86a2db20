// Narrow: what is known of integers before a program runs. Those that never leave 32 bits are kept in 32, where the dialect gains
// by it, and arithmetic that never leaves its type is marked so.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>

namespace entrepot::kernel {

// Variables of int64 that change in loops, and count no elements: each is read as int64 as before.
void narrow_counters(ir::Module &module);
void mark_what_fits(ir::Module &module);

}  // namespace entrepot::kernel
