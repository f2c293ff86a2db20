// Division of a tile among the warps of a work-group.
#pragma once
#include <cstdint>
#include <optional>

namespace entrepot::kernel {

// Fewest rows and columns that matrix units multiply at once.
inline constexpr std::int64_t tile_block = 16;
// Work-items of a warp. The language assumes this number for every device, so that a kernel that
// one device runs is valid on all.
inline constexpr std::int64_t warp_items = 32;

struct WarpGrid {
    std::int64_t rows, columns;  // of warps; each has as many blocks as the others
};

// Returns: the division for which a warp loads the fewest elements; nullopt if the blocks of the
//   tile cannot be divided evenly.
// Requires: the extents are multiples of tile_block.
std::optional<WarpGrid> warp_grid(std::int64_t tile_rows, std::int64_t tile_columns,
                                  std::int64_t warps);

}  // namespace entrepot::kernel
