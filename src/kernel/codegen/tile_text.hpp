// Text of the tile operations in CUDA C++ and HIP C++: templates that a kernel's calls name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace entrepot::kernel {

// Fragments, conversions, copies and instructions of one dialect. `tile_common` follows.
extern const std::string_view tile_cuda, tile_hip;
// Layout of tiles and accumulators, loads, stores and products by loops. A product follows.
extern const std::string_view tile_common;
extern const std::string_view tile_matmul_cuda, tile_matmul_hip;

// The instructions wgmma of a kind with that number of columns: the definition of a template's
// specialization.
std::string tile_wgmma_text(std::string_view kind, std::int64_t columns);

}  // namespace entrepot::kernel
