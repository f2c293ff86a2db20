"""The other examples of kernels, on the host, against Numba's functions of the same loops.

The rows have no required ratio; those of `kernels` have.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np

import entrepot as ep

from . import kernels  # its import adds the examples' folder to sys.path
from .harness import Pair

NUMBERS, ROWS, POINTS, KNOWN, CENTERS, SIDE = 1 << 22, (2000, 2000), 2000, 1000, 16, 1000

import gaussian_elimination  # noqa: E402
import gpairs  # noqa: E402
import histogram  # noqa: E402
import kmeans  # noqa: E402
import knn  # noqa: E402
import l2_norm  # noqa: E402
import sum as sums  # noqa: E402
import sum2d  # noqa: E402

NUMBA = """
import math
import numba
import numpy as np

@numba.njit(parallel=True)
def vector_sum(a, b, c):
    for i in numba.prange(a.size):
        c[i] = a[i] + b[i]

@numba.njit(parallel=True)
def matrix_sum(a, b, c):
    for i in numba.prange(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + b[i, j]

@numba.njit(parallel=True)
def l2_norm(vectors, lengths):
    for i in numba.prange(vectors.shape[0]):
        total = 0.0
        for k in range(vectors.shape[1]):
            total += vectors[i, k] * vectors[i, k]
        lengths[i] = math.sqrt(total)

@numba.njit(parallel=True)
def knn(known, known_labels, points, labels):
    for i in numba.prange(points.shape[0]):
        distances, nearest, votes = np.full(5, 1e300), np.zeros(5, np.int64), np.zeros(3, np.int64)
        for j in range(known.shape[0]):
            distance = 0.0
            for k in range(known.shape[1]):
                difference = points[i, k] - known[j, k]
                distance += difference * difference
            if distance < distances[4]:
                place = 4
                while place > 0 and distances[place - 1] > distance:
                    distances[place], nearest[place] = distances[place - 1], nearest[place - 1]
                    place -= 1
                distances[place], nearest[place] = distance, known_labels[j]
        for n in range(5):
            votes[nearest[n]] += 1
        labels[i] = votes.argmax()

@numba.njit(parallel=True)
def gpairs(first, second, edges_squared, histogram):
    parts = np.zeros((first.shape[0], histogram.size))
    for i in numba.prange(first.shape[0]):
        for j in range(second.shape[0]):
            dx, dy = first[i, 0] - second[j, 0], first[i, 1] - second[j, 1]
            dz = first[i, 2] - second[j, 2]
            squared = dx * dx + dy * dy + dz * dz
            for k in range(histogram.size):
                if edges_squared[k] <= squared and squared < edges_squared[k + 1]:
                    parts[i, k] += first[i, 3] * second[j, 3]
    histogram += parts.sum(axis=0)

@numba.njit(parallel=True)
def kmeans(points, centers, nearest):
    for i in numba.prange(points.shape[0]):
        best, best_distance = 0, 1e300
        for k in range(centers.shape[0]):
            dx, dy = points[i, 0] - centers[k, 0], points[i, 1] - centers[k, 1]
            distance = dx * dx + dy * dy
            if distance < best_distance:
                best, best_distance = k, distance
        nearest[i] = best

@numba.njit(parallel=True)
def histogram(data, counts):
    chunks = 64
    parts = np.zeros((chunks, counts.size), np.int32)
    each = data.size // chunks
    for chunk in numba.prange(chunks):
        for i in range(chunk * each, (chunk + 1) * each):
            parts[chunk, int(data[i] * counts.size)] += 1
    counts += parts.sum(axis=0).astype(np.int32)

@numba.njit(parallel=True)
def eliminate(a, m, column):
    for i in numba.prange(a.shape[0] - column - 1):
        row = i + column + 1
        for j in range(column, a.shape[0]):
            a[row, j] -= m[row, column] * a[column, j]
"""


@dataclass(frozen=True)
class Example:
    title: str
    peer: str
    launch: Any
    arguments: list[Any]  # the output is at the index `written`
    written: int = -1


def _examples() -> list[Example]:
    random = np.random.default_rng(0)
    numbers, points = random.random(NUMBERS, "f4"), random.random((POINTS, 4))
    system = [random.random((SIDE, SIDE)), random.random((SIDE, SIDE)) * 1e-9]
    return [
        Example("sum", "vector_sum", sums.vector_sum[NUMBERS],
            [numbers, numbers.copy(), np.empty_like(numbers)]),
        Example("sum of matrices", "matrix_sum", sum2d.matrix_sum[ROWS, None],
                [random.random(ROWS, "f4"), random.random(ROWS, "f4"), np.empty(ROWS, "f4")]),
        Example("l2 norm", "l2_norm", l2_norm.l2_norm[NUMBERS // 4],
            [random.random((NUMBERS // 4, 3)), np.empty(NUMBERS // 4)]),
        Example("knn", "knn", knn.label[POINTS],
                [random.random((KNOWN, 4)), random.integers(0, 3, KNOWN), points,
                    np.empty(POINTS, "i8")]),
        Example("gpairs", "gpairs", gpairs.weighted_pairs[POINTS],
                [points, points.copy(), np.linspace(0.05, 1.0, 11) ** 2, np.zeros(10)]),
        Example("k-means, nearest centers", "kmeans", kmeans.assign[NUMBERS // 4],
                [random.random((NUMBERS // 4, 2)), random.random((CENTERS, 2)),
                    np.empty(NUMBERS // 4, "i8")]),
        Example("histogram", "histogram",
            histogram.histogram[NUMBERS // histogram.EACH, histogram.GROUP],
                [numbers, np.zeros(histogram.BINS, "i4")]),
        Example("Gaussian elimination, a column", "eliminate",
            gaussian_elimination.eliminate[(SIDE - 1, SIDE), None],
                [*system, 0], 0),
    ]  # fmt: skip


def pairs() -> list[Pair]:
    """Each side's result of a first call is compared."""
    programs: dict[str, Any] = {}
    if importlib.util.find_spec("numba") is None:
        return []
    exec(NUMBA, programs)
    found = []
    for example in _examples():
        own = [each.copy() if isinstance(each, np.ndarray) else each for each in example.arguments]
        arrays = [
            ep.asarray(each, device="host") if isinstance(each, np.ndarray) else each
            for each in own
        ]
        peer = programs[example.peer]
        with ep.device_context("host"):
            example.launch(*arrays).wait()
        peer(*example.arguments)
        np.testing.assert_allclose(
            own[example.written],
            example.arguments[example.written],
            rtol=1e-9,
            err_msg=example.title,
        )
        names = {
            "launch": example.launch,
            "arrays": arrays,
            "peer": peer,
            "arguments": example.arguments,
        }
        what = f"host: {example.title}, against Numba"
        call = "launch(*arrays).wait()"
        found.append(
            Pair(what, call, "peer(*arguments)", 0, names, "Numba", kernels.ROUNDS, kernels.REST)
        )
    return found
