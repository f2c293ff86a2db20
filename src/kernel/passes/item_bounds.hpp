// Index set splitting: a condition on a work-item's id around a kernel's body, such as `if i < n`.
// It becomes a bound of the host's loop over that id. Compilers vectorize the loop that remains.
#pragma once
#include "kernel/ir/ir.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace entrepot::kernel {

// A term of the condition under which a work-item does anything. Its value depends on arguments,
// sizes and the ids of slower dimensions only, so it is the same along the fastest one.
struct ItemCondition {
    enum class Kind : std::uint8_t {
        bound,      // the id of the dimension satisfies `id op value`
        exclusion,  // that id differs from the value; at most one
        condition,  // the value, a bool, is true
    };
    Kind kind;
    ir::Op op;  // of a bound: less, less_equal, greater or greater_equal
    ir::Expression value;
};

struct GuardedItems {
    // In the order of the source. The value of a term may be undefined, such as a quotient by 0, if
    // a term before it does not hold.
    std::vector<ItemCondition> conditions;
    std::vector<ir::Statement> body;  // without these conditions
};

// `dimension` is the fastest one.
// Returns: nullopt if no condition guards the body.
std::optional<GuardedItems> guarded_items(const ir::Module &module, std::uint32_t dimension);

}  // namespace entrepot::kernel
