// Division of tiles among warps.
#include <doctest/doctest.h>

#include "kernel/ir/warps.hpp"

using namespace entrepot::kernel;

TEST_CASE("warp grid of a square tile is square") {
    const auto grid = warp_grid(128, 128, 4);
    REQUIRE(grid);
    CHECK(grid->rows == 2);
    CHECK(grid->columns == 2);
}

TEST_CASE("warp grid follows the longer extent of a tile") {
    CHECK(warp_grid(256, 64, 8)->rows == 8 / warp_grid(256, 64, 8)->columns);
    CHECK(warp_grid(256, 64, 4)->rows == 4);
    CHECK(warp_grid(64, 256, 4)->columns == 4);
}

TEST_CASE("warps of a grid have the same number of blocks") {
    for (const std::int64_t rows : {16, 32, 48, 64, 96, 128})
        for (const std::int64_t columns : {16, 32, 48, 64, 96, 128})
            for (std::int64_t warps = 1; warps <= 32; ++warps)
                if (const auto grid = warp_grid(rows, columns, warps)) {
                    CHECK(grid->rows * grid->columns == warps);
                    CHECK(rows % (tile_block * grid->rows) == 0);
                    CHECK(columns % (tile_block * grid->columns) == 0);
                }
}

TEST_CASE("tile with fewer blocks than warps has no grid") {
    CHECK_FALSE(warp_grid(16, 16, 2));
    CHECK_FALSE(warp_grid(48, 16, 2));
}
