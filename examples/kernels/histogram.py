"""A histogram: each group counts in local memory with atomics, and adds what it has counted to the
whole.
"""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy

BINS = 64
GROUP = 128
EACH = 16


@dppy.kernel
def histogram(data, counts):
    own = dppy.get_local_id(0)
    first = dppy.get_group_id(0) * GROUP * EACH + own
    group_counts = dppy.local.array(BINS, dppy.int32)
    if own < BINS:
        group_counts[own] = 0
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    for k in range(EACH):
        value = data[
            first + k * GROUP
        ]  # one run of memory for each group, in which neighbors read neighbors
        dppy.atomic.add(group_counts, int(value * BINS), 1)
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    if own < BINS:
        dppy.atomic.add(counts, own, group_counts[own])


def check(device: ep.Device, size: int = 2**15) -> None:
    data = np.random.default_rng(0).random(size, "f4")
    counts = ep.zeros(BINS, "int32", device=device)
    histogram[size // EACH, GROUP](on(device, data), counts).wait()
    np.testing.assert_array_equal(values(counts), np.histogram(data, BINS, (0, 1))[0])


if __name__ == "__main__":
    main(check, str(__doc__))
