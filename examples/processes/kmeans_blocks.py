"""K-means on blocks of points, for kmeans_dask.py and kmeans_ray.py: kernels, one step, a check.

Coordinates are integers, so sums do not depend on the order of additions: every engine and any
number of processes give the same bits.
"""

from __future__ import annotations

import functools

import numpy as np

import entrepot as ep
import entrepot.kernel as dppy
from entrepot import memory

BLOCKS, POINTS, CLUSTERS, ROUNDS = 4, 1 << 20, 8, 2  # a block has 16 MiB


@dppy.kernel
def accumulate(points, centers, sums, counts):
    i = dppy.get_global_id(0)
    x, y = points[i, 0], points[i, 1]
    best, best_distance = 0, 1e300
    for k in range(centers.shape[0]):
        dx, dy = x - centers[k, 0], y - centers[k, 1]
        distance = dx * dx + dy * dy
        if distance < best_distance:
            best, best_distance = k, distance
    dppy.atomic.add(sums, (best, 0), x)
    dppy.atomic.add(sums, (best, 1), y)
    dppy.atomic.add(counts, best, 1)


@functools.cache
def block_of(number: int) -> np.ndarray:
    """Points of the block. A process keeps them, so that later calls take no time."""
    random = np.random.default_rng(number)
    return random.integers(0, 1 << 20, (POINTS, 2))


@functools.cache
def shareable_block(number: int) -> ep.Array:
    """The points in memory that other processes can open. A process keeps them."""
    with memory.use_resource(memory.shareable()):
        block = ep.empty((POINTS, 2), "int64", device="host")
    ep.copy(block, block_of(number)).wait()
    return block


def partial_sums(points: object, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts of the points that are nearest to each center."""
    sums = ep.zeros((CLUSTERS, 2), "int64", device="host")
    counts = ep.zeros(CLUSTERS, "int64", device="host")
    # A copy of the centers, because a message may have them at any address.
    accumulate[POINTS](ep.asarray(points), ep.asarray(centers.copy()), sums, counts)
    return sums.numpy(), counts.numpy()


def moved_centers(centers: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    sums, counts = (np.sum(each, axis=0) for each in zip(*parts, strict=True))
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)


def first_centers() -> np.ndarray:
    return block_of(0)[:CLUSTERS].astype("float64")


@functools.cache
def expected_centers() -> np.ndarray:
    expected = first_centers()
    blocks = [block_of(number) for number in range(BLOCKS)]
    for _ in range(ROUNDS):
        parts = []
        for points in blocks:
            distances = [((points - center) ** 2).sum(axis=1) for center in expected]
            nearest = np.argmin(distances, axis=0)
            counts = np.bincount(nearest, minlength=CLUSTERS)
            sums = [[points[nearest == k, axis].sum() for axis in (0, 1)] for k in range(CLUSTERS)]
            parts.append((np.array(sums), counts))
        expected = moved_centers(expected, parts)
    return expected


def check(centers: np.ndarray) -> None:
    """Compares with NumPy, bit for bit."""
    np.testing.assert_array_equal(centers, expected_centers())
