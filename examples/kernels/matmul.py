"""Product of two matrices: each element by itself, and by tiles that a work-group keeps in local
memory.
"""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy

TILE = 16


@dppy.kernel
def matmul(a, b, c):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    total = dppy.float32(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@dppy.kernel
def matmul_in_tiles(a, b, c):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    row, column = dppy.get_local_id(0), dppy.get_local_id(1)
    a_tile = dppy.local.array((TILE, TILE), dppy.float32)
    b_tile = dppy.local.array((TILE, TILE), dppy.float32)
    total = dppy.float32(0)
    for tile in range(a.shape[1] // TILE):
        a_tile[row, column] = a[i, tile * TILE + column]
        b_tile[row, column] = b[tile * TILE + row, j]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        for k in range(TILE):
            total += a_tile[row, k] * b_tile[k, column]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    c[i, j] = total


def check(device: ep.Device, size: int = 128) -> None:
    random = np.random.default_rng(0)
    a, b = random.random((size, size), "f4"), random.random((size, size), "f4")
    for launch in (matmul[(size, size), None], matmul_in_tiles[(size, size), (TILE, TILE)]):
        c = ep.zeros((size, size), "float32", device=device)
        launch(on(device, a), on(device, b), c).wait()
        np.testing.assert_allclose(values(c), a @ b, rtol=1e-5)


if __name__ == "__main__":
    main(check, str(__doc__))
