"""Sum of two matrices: an index space of two dimensions."""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def matrix_sum(a, b, c):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    c[i, j] = a[i, j] + b[i, j]


def check(device: ep.Device, shape: tuple[int, int] = (240, 130)) -> None:
    random = np.random.default_rng(0)
    a, b = random.random(shape, "f4"), random.random(shape, "f4")
    c = ep.empty(shape, "float32", device=device)
    matrix_sum[shape, None](on(device, a), on(device, b), c).wait()
    np.testing.assert_array_equal(values(c), a + b)


if __name__ == "__main__":
    main(check, str(__doc__))
