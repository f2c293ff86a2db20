"""Clusters by k-means: points find their nearest center, centers move to the mean of their points,
with atomics.
"""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def assign(points, centers, nearest):
    i = dppy.get_global_id(0)
    best, best_distance = 0, 1e300
    for k in range(centers.shape[0]):
        dx, dy = points[i, 0] - centers[k, 0], points[i, 1] - centers[k, 1]
        distance = dx * dx + dy * dy
        if distance < best_distance:
            best, best_distance = k, distance
    nearest[i] = best


@dppy.kernel
def accumulate(points, nearest, sums, counts):
    i = dppy.get_global_id(0)
    k = nearest[i]
    dppy.atomic.add(sums, (k, 0), points[i, 0])
    dppy.atomic.add(sums, (k, 1), points[i, 1])
    dppy.atomic.add(counts, k, 1)


@dppy.kernel
def move(centers, sums, counts):
    k = dppy.get_global_id(0)
    if counts[k] > 0:
        centers[k, 0] = sums[k, 0] / counts[k]
        centers[k, 1] = sums[k, 1] / counts[k]


def kmeans(
    device: ep.Device, points: np.ndarray, centers: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    found, moving = on(device, points), on(device, centers)
    nearest = ep.zeros(len(points), "int64", device=device)
    sums, counts = (
        ep.zeros(centers.shape, "float64", device=device),
        ep.zeros(len(centers), "int64", device=device),
    )
    for _ in range(rounds):
        ep.fill(sums, 0)
        ep.fill(counts, 0)
        assign[len(points)](found, moving, nearest)
        accumulate[len(points)](found, nearest, sums, counts)
        move[len(centers)](moving, sums, counts)
    return values(moving), values(nearest)


def expected_clusters(
    points: np.ndarray, centers: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    for _ in range(rounds):
        nearest = ((points[:, None] - centers[None]) ** 2).sum(axis=-1).argmin(axis=1)
        centers = np.stack([
            points[nearest == k].mean(axis=0) if (nearest == k).any() else center for k,
            center in enumerate(centers)
        ])  # fmt: skip
    return centers, nearest


def check(device: ep.Device, count: int = 2000, clusters: int = 8, rounds: int = 5) -> None:
    points = np.random.default_rng(0).random((count, 2))
    centers, nearest = kmeans(device, points, points[:clusters], rounds)
    expected_centers, expected_nearest = expected_clusters(points, points[:clusters], rounds)
    np.testing.assert_allclose(centers, expected_centers, rtol=1e-9)
    np.testing.assert_array_equal(nearest, expected_nearest)


if __name__ == "__main__":
    main(check, str(__doc__))
