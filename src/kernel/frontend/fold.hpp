// Constant folding with Python's arithmetic.
#pragma once
#include "kernel/ir/ir.hpp"

#include <optional>
#include <string_view>

namespace entrepot::kernel {

using Number = decltype(ir::Expression::value);

// Result as Python computes it. `sign` is an arithmetic, bitwise or comparison operator.
// Returns: nullopt if int64 and uint64 do not hold the result, the divisor is 0, or the numbers are
//   complex.
std::optional<Number> folded(std::string_view sign, const Number &a, const Number &b);
std::optional<Number> folded(std::string_view sign, const Number &a);

}  // namespace entrepot::kernel
