"""Lengths of many vectors."""

from __future__ import annotations

import math

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def l2_norm(vectors, lengths):
    i = dppy.get_global_id(0)
    vector = vectors[i]
    total = 0.0
    for k in range(len(vector)):
        total += vector[k] * vector[k]
    lengths[i] = math.sqrt(total)


def check(device: ep.Device, count: int = 5000, dimensions: int = 3) -> None:
    vectors = np.random.default_rng(0).random((count, dimensions))
    lengths = ep.empty(count, "float64", device=device)
    l2_norm[count](on(device, vectors), lengths).wait()
    np.testing.assert_allclose(values(lengths), np.linalg.norm(vectors, axis=1), rtol=1e-12)


if __name__ == "__main__":
    main(check, str(__doc__))
