"""Means by key: pairs are sorted by their keys, and each run of equal keys is a segment."""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import algorithms

KEYS = 100


@dppy.func
def add(x, y):
    return x + y


@dppy.kernel
def divide(means, sums, counts):
    key = dppy.get_global_id(0)
    means[key] = sums[key] / max(counts[key], 1)


def means_by_key(keys: ep.Array, amounts: ep.Array) -> ep.Array:
    """A mean for each key from 0 to KEYS - 1, which is 0 for a key without amounts."""
    sorted_keys, sorted_amounts = algorithms.sort_by_key(keys, amounts)
    counts = algorithms.bincount(sorted_keys, length=KEYS)
    offsets = ep.zeros(KEYS + 1, "int64", queue=keys.queue)
    algorithms.inclusive_scan(counts, out=offsets[1:])
    sums = algorithms.segmented_reduce(sorted_amounts, offsets, add, 0)
    means = ep.empty(KEYS, "float64", queue=keys.queue)
    divide[KEYS](means, sums, counts)
    return means


def check(device: ep.Device, size: int = 2**15) -> None:
    random = np.random.default_rng(0)
    keys, amounts = random.integers(0, KEYS - 1, size, "i4"), random.integers(-99, 99, size)
    counts = np.bincount(keys, minlength=KEYS)
    expected = np.bincount(keys, amounts, KEYS) / np.maximum(counts, 1)
    np.testing.assert_array_equal(
        values(means_by_key(on(device, keys), on(device, amounts))), expected
    )


if __name__ == "__main__":
    main(check, str(__doc__))
