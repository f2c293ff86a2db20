// Detects loop-carried values that GCC's vectoriser handles incorrectly.
#pragma once
#include <entrepot/kernel/ir/ir.hpp>

namespace entrepot::kernel {

// True if GCC may keep values that the loop adds to each round in two vectors or more. Such values
// are variables, and array elements that the loop changes, of each of `copies` work-items.
// Conservative: true if unknown.
//
// `reassociates_floats`: the compiler may reassociate additions of floats, so floats count as well.
bool carries_several_vectors(const ir::Module &module, const ir::Function &function,
                             const ir::Statement &loop, bool reassociates_floats,
                             std::size_t copies = 1);

}  // namespace entrepot::kernel
