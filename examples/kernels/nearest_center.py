"""Nearest centers: squared distances of points to centers, and argmin of each row."""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import algorithms


@dppy.kernel
def squared_distances(out, points, centers):
    i, k = dppy.get_global_id(0), dppy.get_global_id(1)
    total = dppy.float32(0)
    for d in range(points.shape[1]):
        difference = points[i, d] - centers[k, d]
        total += difference * difference
    out[i, k] = total


def nearest(points: ep.Array, centers: ep.Array) -> ep.Array:
    shape = points.shape[0], centers.shape[0]
    distances = ep.empty(shape, "float32", queue=points.queue)
    squared_distances[shape, None](distances, points, centers)
    return algorithms.argmin(distances, axis=1)


def check(device: ep.Device, size: int = 2**12) -> None:
    random = np.random.default_rng(0)
    points = random.integers(-50, 50, (size, 3)).astype("f4")
    centers = random.integers(-50, 50, (16, 3)).astype("f4")
    expected = ((points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(
        values(nearest(on(device, points), on(device, centers))), expected
    )


if __name__ == "__main__":
    main(check, str(__doc__))
