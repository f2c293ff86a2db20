// Numba's rules for the common type of two numbers, for functions whose language is numba.cuda's.
#pragma once
#include <entrepot/core/dtype.hpp>

namespace entrepot::kernel {

// Type of `a op b`, for operators other than shifts, powers and comparisons. Integers are combined
// as int64, or as uint64 if both are unsigned. An integer that float32 does not hold makes it
// float64. A bool is an int64.
Dtype numba_combined(Dtype a, Dtype b);
// Type of a variable that is assigned both. Integers keep their width.
Dtype numba_unified(Dtype a, Dtype b);

}  // namespace entrepot::kernel
