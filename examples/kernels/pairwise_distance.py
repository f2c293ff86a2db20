"""Distances between all pairs of points."""

from __future__ import annotations

import math

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def pairwise_distance(points, distances):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    total = 0.0
    for k in range(points.shape[1]):
        difference = points[i, k] - points[j, k]
        total += difference * difference
    distances[i, j] = math.sqrt(total)


def check(device: ep.Device, count: int = 200, dimensions: int = 3) -> None:
    points = np.random.default_rng(0).random((count, dimensions))
    distances = ep.empty((count, count), "float64", device=device)
    pairwise_distance[(count, count), None](on(device, points), distances).wait()
    expected = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
    np.testing.assert_allclose(values(distances), expected, rtol=1e-12)


if __name__ == "__main__":
    main(check, str(__doc__))
