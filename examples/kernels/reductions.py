"""Sum of an array: halving it launch by launch, a tree in local memory, each group's sum added
atomically, and by chunks.
"""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy

GROUP = 256


@dppy.kernel
def add_second_half(a, half):
    i = dppy.get_global_id(0)
    a[i] += a[i + half]


@dppy.kernel
def sums_of_groups(a, sums):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    part = dppy.local.array(GROUP, dppy.float32)
    part[own] = a[i]
    stride = GROUP // 2
    while stride > 0:
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        if own < stride:
            part[own] += part[own + stride]
        stride //= 2
    if own == 0:
        sums[dppy.get_group_id(0)] = part[0]


@dppy.kernel
def add_atomically(a, total):
    i = dppy.get_global_id(0)
    mine = dppy.group.reduce(a[i], "add")
    if dppy.get_local_id(0) == 0:
        dppy.atomic.add(total, 0, mine)


@dppy.kernel
def sums_of_chunks(a, sums):
    i = dppy.get_global_id(0)
    each = a.shape[0] // sums.shape[0]
    total = dppy.float32(0)
    for k in range(i * each, (i + 1) * each):
        total += a[k]
    sums[i] = total


def halving(device: ep.Device, a: np.ndarray) -> float:
    array, half = on(device, a), a.size // 2
    while half:
        add_second_half[half](array, half)
        half //= 2
    return float(values(array)[0])


def tree(device: ep.Device, a: np.ndarray) -> float:
    sums = ep.zeros(a.size // GROUP, "float32", device=device)
    sums_of_groups[a.size, GROUP](on(device, a), sums).wait()
    return float(values(sums).sum())


def atomic(device: ep.Device, a: np.ndarray) -> float:
    total = ep.zeros(1, "float32", device=device)
    add_atomically[a.size, GROUP](on(device, a), total).wait()
    return float(values(total)[0])


def chunks(device: ep.Device, a: np.ndarray) -> float:
    sums = ep.zeros(64, "float32", device=device)
    sums_of_chunks[64](on(device, a), sums).wait()
    return float(values(sums).sum())


def check(device: ep.Device, size: int = 2**14) -> None:
    a = np.random.default_rng(0).random(size, "f4")
    for way in (halving, tree, atomic, chunks):
        np.testing.assert_allclose(way(device, a), a.sum(dtype="f8"), rtol=1e-5)


if __name__ == "__main__":
    main(check, str(__doc__))
