"""Product of two matrices by matrix units: tiles are loaded while others are multiplied."""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import tile

ROWS, COLUMNS, DEPTH = 128, 128, 32  # of the tiles
STAGES = 4  # tiles in local memory
AHEAD = STAGES - 1
ITEMS = 128  # work-items of a group


@dppy.kernel
def matmul(c, a, b):
    row, column = dppy.get_group_id(0) * ROWS, dppy.get_group_id(1) * COLUMNS
    a_tiles = dppy.local.array((STAGES, ROWS, DEPTH), dppy.float16)
    b_tiles = dppy.local.array((STAGES, DEPTH, COLUMNS), dppy.float16)
    total = tile.zeros((ROWS, COLUMNS), dppy.float32)
    steps = (a.shape[1] + DEPTH - 1) // DEPTH
    for step in range(AHEAD):
        tile.load_async(a_tiles[step], a, (row, step * DEPTH))
        tile.load_async(b_tiles[step], b, (step * DEPTH, column))
        tile.commit()
    for step in range(steps):
        tile.wait(AHEAD - 1)
        dppy.barrier()
        tile.matmul(a_tiles[step % STAGES], b_tiles[step % STAGES], total)
        later = step + AHEAD
        if later < steps:
            tile.load_async(a_tiles[later % STAGES], a, (row, later * DEPTH))
            tile.load_async(b_tiles[later % STAGES], b, (later * DEPTH, column))
        tile.commit()
    tile.store(c, (row, column), total)


def check(device: ep.Device, rows: int = 150, columns: int = 200, depth: int = 70) -> None:
    random = np.random.default_rng(0)
    a = random.random((rows, depth)).astype("f2")
    b = random.random((depth, columns)).astype("f2")
    c = ep.zeros((rows, columns), "float32", device=device)
    groups = -(-rows // ROWS), -(-columns // COLUMNS)
    launch = matmul[(groups[0], groups[1] * ITEMS), (1, ITEMS)]
    launch(c, on(device, a), on(device, b)).wait()
    np.testing.assert_allclose(values(c), a.astype("f8") @ b.astype("f8"), rtol=1e-5)


if __name__ == "__main__":
    main(check, str(__doc__))
