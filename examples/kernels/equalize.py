"""Histogram equalization of an image: a histogram, a scan of its counts, and a table look-up."""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import algorithms

LEVELS = 256


@dppy.kernel
def look_up(out, image, cumulative):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    pixels = image.shape[0] * image.shape[1]
    out[i, j] = cumulative[image[i, j]] * 255 // pixels


def equalized(image: ep.Array) -> ep.Array:
    counts, _ = algorithms.histogram(image, LEVELS, (0, LEVELS))
    out = ep.empty(image.shape, "uint8", queue=image.queue)
    look_up[image.shape, None](out, image, algorithms.inclusive_scan(counts))
    return out


def check(device: ep.Device, size: int = 128) -> None:
    image = np.random.default_rng(0).normal(90, 20, (size, size)).clip(0, 255).astype("u1")
    cumulative = np.cumsum(np.bincount(image.reshape(-1), minlength=LEVELS))
    expected = cumulative[image] * 255 // image.size
    np.testing.assert_array_equal(values(equalized(on(device, image))), expected)


if __name__ == "__main__":
    main(check, str(__doc__))
