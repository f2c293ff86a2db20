"""Stream compaction: by a scan of the choices and a kernel that moves elements, and by select."""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import algorithms

is_bright = dppy.vectorize(lambda x: 1 if x > 0.75 else 0)


@dppy.func
def exceeds_threshold(x):
    return x > 0.75


@dppy.kernel
def move(out, data, chosen, places):
    i = dppy.get_global_id(0)
    if chosen[i] == 1:
        out[places[i]] = data[i]


def by_scan(data: ep.Array) -> ep.Array:
    chosen = is_bright(data)
    places = algorithms.exclusive_scan(chosen)
    count = places[-1].item() + chosen[-1].item()
    out = ep.empty(count, data.dtype, queue=data.queue)
    move[data.size](out, data, chosen, places)
    return out


def check(device: ep.Device, size: int = 2**15) -> None:
    data = np.random.default_rng(0).random(size, "f4")
    array, expected = on(device, data), data[data > 0.75]
    np.testing.assert_array_equal(values(by_scan(array)), expected)
    np.testing.assert_array_equal(values(algorithms.select(array, exceeds_threshold)), expected)


if __name__ == "__main__":
    main(check, str(__doc__))
