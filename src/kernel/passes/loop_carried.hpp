// Detects loop-carried values that GCC's vectorizer handles incorrectly.
#pragma once
#include "kernel/ir/ir.hpp"

namespace entrepot::kernel {

// True, also if unknown, if GCC may keep the values to which the loop adds in two or more vectors.
// These values are variables and array elements, once for each of `copies` work-items.
//
// `reassociates_floats`: the compiler may reassociate additions of floats, so floats count as well.
bool carries_several_vectors(const ir::Module &module, const ir::Function &function,
                             const ir::Statement &loop, bool reassociates_floats,
                             std::size_t copies = 1);

}  // namespace entrepot::kernel
