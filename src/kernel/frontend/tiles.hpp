// Tile operations: the properties that their own text in a dialect depends on.
#pragma once
#include "kernel/frontend/lowering.hpp"

#include <vector>

namespace entrepot::kernel {

// Requires: prepare_tile_call() has checked the arguments.
ir::TileOperation tile_operation_of(const syntax::Function &callee,
                                    const std::vector<Value> &arguments);

}  // namespace entrepot::kernel
