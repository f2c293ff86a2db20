// Index set splitting: a condition on a work-item's id around a kernel's body, such as `if i < n`.
// It becomes a bound of the host's loop over that id. Compilers vectorize the loop that remains.
#pragma once
#include "kernel/ir/ir.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace entrepot::kernel {

// The id of one dimension satisfies `id op value`.
struct ItemBound {
    ir::Op op;  // less, less_equal, greater or greater_equal
    ir::Expression value;
};

// Conditions under which a work-item does anything. Values and conditions depend on arguments,
// sizes and the ids of slower dimensions only, so they are the same along the dimension. They read
// no memory.
struct GuardedItems {
    std::vector<ItemBound> bounds;
    std::vector<ir::Expression> conditions;  // without the id of the dimension
    std::optional<ir::Expression> excluded;  // the id differs from it
    std::vector<ir::Statement> body;         // without these conditions
};

// `dimension` is the fastest one.
// Returns: nullopt if no condition guards the body.
std::optional<GuardedItems> guarded_items(const ir::Module &module, std::uint32_t dimension);

}  // namespace entrepot::kernel
