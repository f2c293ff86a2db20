"""Accumulators of simulated kernels: each work-item has a block of the group's tile."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import dtype_of
from .errors import refuse
from .groups import Run
from .memory import View

#: The numbers of src/kernel/ir/warps.hpp.
_BLOCK, _WARP_ITEMS = 16, 32


class Accumulator(View):
    """The block of one work-item; ``shape`` is that of the tile."""

    __slots__ = ("_tile",)

    def __init__(
        self, run: Run, name: str, tile: tuple[int, ...], block: tuple[int, ...], dtype: Any
    ) -> None:
        super().__init__(run, name, np.zeros(block, dtype), "private")
        self._tile = tile

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(map(np.int64, self._tile))

    @property
    def block(self) -> tuple[Any, ...]:
        return super().shape


def zeros(run: Run, name: str, shape: Any, dtype: Any) -> Accumulator:
    """An accumulator of zeros for the current work-item."""
    tile = tuple(map(int, shape))
    items = math.prod(run.local_range)
    if len(tile) != 2 or any(extent < 1 or extent % _BLOCK for extent in tile):
        raise refuse(
            f"tile.zeros: two extents that are multiples of {_BLOCK} were expected, not {tile}; "
            "make the tile larger, and store leaves out what is too much"
        )
    grid = None if items % _WARP_ITEMS else _warp_grid(*tile, items // _WARP_ITEMS)
    if grid is None:
        raise refuse(
            f"tile.zeros: a group of {items} work-items cannot divide a tile of {tile} into blocks "
            f"of {_BLOCK} x {_BLOCK} for each {_WARP_ITEMS}; launch other groups"
        )
    block = tile[0] // grid[0] // 16, tile[1] // grid[1] // 2
    return Accumulator(run, name, tile, block, dtype_of(dtype))


def _warp_grid(rows: int, columns: int, warps: int) -> tuple[int, int] | None:
    """The rows and columns of warps for which each loads the fewest elements; None if the blocks
    cannot be divided evenly.
    """
    down, across = rows // _BLOCK, columns // _BLOCK
    grids = [
        (each, warps // each)
        for each in range(1, warps + 1)
        if warps % each == 0 and down % each == 0 and across % (warps // each) == 0
    ]
    return min(grids, key=lambda grid: down // grid[0] + across // grid[1], default=None)
