#include "kernel/ir/warps.hpp"

namespace entrepot::kernel {

std::optional<WarpGrid> warp_grid(std::int64_t tile_rows, std::int64_t tile_columns,
                                  std::int64_t warps) {
    const std::int64_t blocks = tile_rows / tile_block, across = tile_columns / tile_block;
    std::optional<WarpGrid> best;
    std::int64_t fewest = 0;
    for (std::int64_t rows = 1; rows <= warps; ++rows) {
        if (warps % rows != 0 || blocks % rows != 0 || across % (warps / rows) != 0)
            continue;
        const std::int64_t loaded = blocks / rows + across / (warps / rows);
        if (best && loaded >= fewest)
            continue;
        best = WarpGrid{rows, warps / rows};
        fewest = loaded;
    }
    return best;
}

}  // namespace entrepot::kernel
