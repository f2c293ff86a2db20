"""A system of linear equations by Gaussian elimination: two kernels for each column, one launch
after the other.
"""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def multipliers(a, b, m, column):
    row = dppy.get_global_id(0) + column + 1
    m[row, column] = a[row, column] / a[column, column]
    b[row] -= m[row, column] * b[column]


@dppy.kernel
def eliminate(a, m, column):
    row = dppy.get_global_id(0) + column + 1
    j = dppy.get_global_id(1) + column
    a[row, j] -= m[row, column] * a[column, j]


def solve(device: ep.Device, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    size = len(b)
    matrix, right, m = (
        on(device, a),
        on(device, b),
        ep.zeros((size, size), "float64", device=device),
    )
    for column in range(size - 1):
        rows = size - 1 - column
        multipliers[rows](matrix, right, m, column)
        eliminate[(rows, size - column), None](matrix, m, column)
    triangle, right = values(matrix), values(right)
    x = np.zeros(size)
    for row in reversed(range(size)):
        x[row] = (right[row] - triangle[row, row + 1 :] @ x[row + 1 :]) / triangle[row, row]
    return x


def check(device: ep.Device, size: int = 64) -> None:
    random = np.random.default_rng(0)
    a, b = random.random((size, size)) + size * np.eye(size), random.random(size)
    np.testing.assert_allclose(solve(device, a, b), np.linalg.solve(a, b), rtol=1e-9)


if __name__ == "__main__":
    main(check, str(__doc__))
