// Build: expressions of the typed form, made by short functions. Those of int64, which offsets and extents consist of, are
// simplified as they are made: so a contiguous array's offset comes out as one would write it.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace entrepot::kernel::build {

ir::Expression integer(std::int64_t value, Position at);
ir::Expression boolean(bool value, Position at);
ir::Expression variable(ir::VariableId id, const Type &type, Position at);
ir::Expression of(ir::Op op, Type type, Position at, std::initializer_list<ir::Expression> operands);
ir::Expression math(const char *text, Type type, Position at, std::initializer_list<ir::Expression> operands);
// The same expression where it has that type already.
ir::Expression converted(ir::Expression value, Dtype dtype);

// Of int64.
ir::Expression sum(ir::Expression a, ir::Expression b);
ir::Expression difference(ir::Expression a, ir::Expression b);
ir::Expression product(ir::Expression a, ir::Expression b);
ir::Expression smaller(ir::Expression a, ir::Expression b);
ir::Expression greater(ir::Expression a, ir::Expression b);
// Rounded down; the divisor is positive.
ir::Expression quotient(ir::Expression a, std::int64_t divisor);

std::optional<std::int64_t> constant_of(const ir::Expression &expression);
bool same(const ir::Expression &a, const ir::Expression &b);  // wherever they stand
bool reads_memory(const ir::Expression &expression);
// So short that to write it twice reads better than a variable: no memory is read, nothing is called.
bool is_simple(const ir::Expression &expression);
// Constants and what is the same for the whole launch: extents and strides of parameters.
bool is_invariant(const ir::Expression &expression);
// What an integer was before it was converted to types that hold all its values.
const ir::Expression &without_widening(const ir::Expression &expression);
bool is_comparison(ir::Op op);
// Of the operands the other way round.
ir::Op mirrored(ir::Op comparison);

}  // namespace entrepot::kernel::build
