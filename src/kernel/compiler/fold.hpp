// Fold: Python's arithmetic on its own numbers, done when a kernel is compiled.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>

#include <optional>
#include <string_view>

namespace entrepot::kernel {

using Number = decltype(ir::Expression::value);

// The number that Python computes; `sign` is an operator, a comparison included. nullopt: it has no value here, because an int
// would not fit int64, the divisor is 0, or the numbers are complex.
std::optional<Number> folded(std::string_view sign, const Number &a, const Number &b);
std::optional<Number> folded(std::string_view sign, const Number &a);

}  // namespace entrepot::kernel
