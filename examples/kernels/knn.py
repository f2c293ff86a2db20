"""Labels by the k nearest neighbors, kept in private memory while the work-item goes through the
known points.
"""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy

NEIGHBORS = 5
LABELS = 3


@dppy.kernel
def label(known, known_labels, points, labels):
    i = dppy.get_global_id(0)
    distances = dppy.private.array(NEIGHBORS, dppy.float64)
    nearest = dppy.private.array(NEIGHBORS, dppy.int64)
    votes = dppy.private.array(LABELS, dppy.int64)
    for n in range(NEIGHBORS):
        distances[n] = 1e300
        nearest[n] = 0
    for j in range(known.shape[0]):
        distance = 0.0
        for k in range(known.shape[1]):
            difference = points[i, k] - known[j, k]
            distance += difference * difference
        if distance < distances[NEIGHBORS - 1]:
            place = NEIGHBORS - 1
            while place > 0 and distances[place - 1] > distance:
                distances[place] = distances[place - 1]
                nearest[place] = nearest[place - 1]
                place -= 1
            distances[place] = distance
            nearest[place] = known_labels[j]
    for n in range(LABELS):
        votes[n] = 0
    for n in range(NEIGHBORS):
        votes[nearest[n]] += 1
    best = 0
    for n in range(1, LABELS):
        if votes[n] > votes[best]:
            best = n
    labels[i] = best


def check(device: ep.Device, count: int = 300, known_count: int = 500, dimensions: int = 4) -> None:
    random = np.random.default_rng(0)
    known, points = random.random((known_count, dimensions)), random.random((count, dimensions))
    known_labels = random.integers(0, LABELS, known_count)
    labels = ep.empty(count, "int64", device=device)
    label[count](on(device, known), on(device, known_labels), on(device, points), labels).wait()
    squared = ((points[:, None] - known[None]) ** 2).sum(axis=-1)
    nearest = known_labels[np.argsort(squared, axis=1)[:, :NEIGHBORS]]
    expected = [np.bincount(row, minlength=LABELS).argmax() for row in nearest]
    np.testing.assert_array_equal(values(labels), expected)


if __name__ == "__main__":
    main(check, str(__doc__))
