"""Sum of two vectors."""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def vector_sum(a, b, c):
    i = dppy.get_global_id(0)
    c[i] = a[i] + b[i]


def check(device: ep.Device, size: int = 100_000) -> None:
    random = np.random.default_rng(0)
    a, b = random.random(size), random.random(size)
    c = ep.empty(size, "float64", device=device)
    vector_sum[size](on(device, a), on(device, b), c).wait()
    np.testing.assert_array_equal(values(c), a + b)


if __name__ == "__main__":
    main(check, str(__doc__))
