// Carried: what a loop takes from one round to the next, as far as GCC's vectoriser gets it wrong.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>

namespace entrepot::kernel {

// True if GCC may keep so many of the values that the loop adds to, each round, that they fill two vectors: elements of arrays
// that the loop changes, and variables, of each of `copies` work-items. Errs on the side of true.
//
// `of_floats`: the compiler may change the order of additions of floats, so those count too.
bool carries_vectors(const ir::Module &module, const ir::Function &function, const ir::Statement &loop, bool of_floats,
                     std::size_t copies = 1);

}  // namespace entrepot::kernel
