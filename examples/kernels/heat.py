"""Heat in a plate: twenty steps of Jacobi's method, recorded once and replayed."""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def step(to, source):
    row, column = dppy.get_global_id(0) + 1, dppy.get_global_id(1) + 1
    to[row, column] = (
        source[row - 1, column]
        + source[row + 1, column]
        + source[row, column - 1]
        + source[row, column + 1]
    ) * 0.25


def solve(device: ep.Device, plate: np.ndarray, tolerance: float) -> np.ndarray:
    rows, columns = plate.shape[0] - 2, plate.shape[1] - 2
    a, b = on(device, plate), on(device, plate)
    with ep.record(a.queue) as graph:
        for _ in range(10):
            step[(rows, columns), None](b, a)
            step[(rows, columns), None](a, b)
    before = plate
    while True:
        graph.replay()
        after = values(a)  # waits for the replay
        if np.abs(after - before).max() < tolerance:
            return after
        before = after


def reference(plate: np.ndarray, tolerance: float) -> np.ndarray:
    before = plate
    while True:
        after = before.copy()
        for _ in range(20):
            after[1:-1, 1:-1] = (
                after[:-2, 1:-1] + after[2:, 1:-1] + after[1:-1, :-2] + after[1:-1, 2:]
            ) * 0.25
        if np.abs(after - before).max() < tolerance:
            return after
        before = after


def check(device: ep.Device, size: int = 34) -> None:
    plate = np.zeros((size, size), "float32")
    plate[0] = 100
    np.testing.assert_allclose(
        solve(device, plate, 1e-3), reference(plate, 1e-3), rtol=1e-4, atol=1e-3
    )


if __name__ == "__main__":
    main(check, str(__doc__))
