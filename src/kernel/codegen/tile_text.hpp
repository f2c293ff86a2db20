// Text of the tile operations in CUDA C++ and HIP C++: templates that a kernel's calls name.
#pragma once
#include <string_view>

namespace entrepot::kernel {

// Fragments, conversions, copies and instructions of one dialect. `tile_common` follows.
extern const std::string_view tile_cuda, tile_hip;
// Layout of tiles and accumulators, loads, stores and products by loops. A product follows.
extern const std::string_view tile_common;
extern const std::string_view tile_matmul_cuda, tile_matmul_hip;

}  // namespace entrepot::kernel
