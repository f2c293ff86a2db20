// Functions that build expressions of the typed form. They simplify offsets and extents (int64), so
// that those of a contiguous array have their shortest form.
#pragma once
#include "kernel/ir/ir.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace entrepot::kernel::build {

ir::Expression integer(std::int64_t value, Position at);
ir::Expression boolean(bool value, Position at);
ir::Expression variable(ir::VariableId id, const Type &type, Position at);
ir::Statement assignment(ir::VariableId id, ir::Expression value);
ir::Expression of(ir::Op op, Type type, Position at,
                  std::initializer_list<ir::Expression> operands);
ir::Expression math(const char *text, Type type, Position at,
                    std::initializer_list<ir::Expression> operands);
// Converts to the type; a no-op if the value already has it.
ir::Expression converted(ir::Expression value, Dtype dtype);

// Arithmetic on operands of int64:
ir::Expression sum(ir::Expression a, ir::Expression b);
ir::Expression difference(ir::Expression a, ir::Expression b);
ir::Expression product(ir::Expression a, ir::Expression b);
ir::Expression smaller(ir::Expression a, ir::Expression b);
ir::Expression greater(ir::Expression a, ir::Expression b);
// Quotient rounded down. Requires: divisor > 0.
ir::Expression quotient(ir::Expression a, std::int64_t divisor);

std::optional<std::int64_t> constant_of(const ir::Expression &expression);
bool same(const ir::Expression &a, const ir::Expression &b);  // ignores positions
bool reads_memory(const ir::Expression &expression);
// True if the expression may be written twice: it is short, reads no memory and calls nothing.
bool is_simple(const ir::Expression &expression);
// True for constants and launch constants: extents and strides of parameters.
bool is_invariant(const ir::Expression &expression);
// Removes outer conversions of an integer to types that hold all its values.
const ir::Expression &without_widening(const ir::Expression &expression);
bool is_comparison(ir::Op op);
// Returns: the comparison for exchanged operands.
ir::Op mirrored(ir::Op comparison);
// Returns: the comparison that holds if this one does not, for integers.
ir::Op opposite(ir::Op comparison);

}  // namespace entrepot::kernel::build
