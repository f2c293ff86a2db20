"""Operations of a group or a sub-group; every dtype and shape is in test_group_operations.py."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import every_dialect

pytestmark = pytest.mark.numpy

GROUP = 16


@dppy.kernel
def of_the_group(out, x):
    i = dppy.get_global_id(0)
    total = dppy.group.reduce(x[i], "add")
    least = dppy.group.reduce(x[i], "min")
    greatest = dppy.group.reduce(x[i], "max")
    up_to = dppy.group.inclusive_scan(x[i], "add")
    before = dppy.group.exclusive_scan(x[i], "add")
    third = dppy.group.broadcast(x[i], index=3)
    some = dppy.group.any(x[i] > 40)
    every = dppy.group.all(x[i] > 0)
    out[i, 0] = total
    out[i, 1] = least
    out[i, 2] = greatest
    out[i, 3] = up_to
    out[i, 4] = before
    out[i, 5] = third
    out[i, 6] = some
    out[i, 7] = every


@every_dialect
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_operations_of_a_group(backend, dtype):
    x = (np.arange(48) * 7 % 47).astype(dtype)
    (out, _) = backend.run(of_the_group, 48, GROUP, np.zeros((48, 8), dtype), x)
    for number, part in enumerate(x.reshape(3, GROUP)):
        mine = out[number * GROUP : (number + 1) * GROUP]
        scan = np.cumsum(part)
        expected = [
            part.sum(),
            part.min(),
            part.max(),
            scan,
            scan - part,
            part[3],
            (part > 40).any(),
            (part > 0).all(),
        ]
        assert np.array_equal(
            mine, np.stack([np.broadcast_to(each, GROUP) for each in expected], axis=1)
        )


@dppy.kernel
def total_of_the_group(out, x):
    i = dppy.get_global_id(0)
    total = dppy.group.reduce(x[i], "add")
    out[i] = total


@every_dialect
def test_default_group_is_the_whole_range(backend):
    (out, _) = backend.run(
        total_of_the_group, GROUP, None, np.zeros(GROUP), np.arange(GROUP, dtype="f8")
    )
    assert out.tolist() == [120] * GROUP


@dppy.kernel
def of_the_sub_group(out, ids, x):
    i = dppy.get_global_id(0)
    lane = dppy.get_sub_group_local_id()
    ids[i, 0] = lane
    ids[i, 1] = dppy.get_sub_group_id()
    ids[i, 2] = dppy.get_sub_group_size()
    ids[i, 3] = dppy.get_num_sub_groups()
    total = dppy.sub_group.reduce(x[i], "add")
    up_to = dppy.sub_group.inclusive_scan(x[i], "max")
    first = dppy.sub_group.broadcast(x[i], 0)
    neighbor = dppy.sub_group.shuffle_xor(x[i], 0)
    same = dppy.sub_group.shuffle(x[i], lane)
    out[i, 0] = total
    out[i, 1] = up_to
    out[i, 2] = first
    out[i, 3] = neighbor
    out[i, 4] = same


@every_dialect
def test_operations_of_a_sub_group(backend):
    """The device chooses the size; only the relations between the numbers are fixed."""
    x = (np.arange(64) * 7 % 61).astype("i4")
    out, ids, _ = backend.run(
        of_the_sub_group, 64, 32, np.zeros((64, 5), "i4"), np.zeros((64, 4), "i8"), x
    )
    for group in range(2):
        mine = slice(group * 32, (group + 1) * 32)
        assert (ids[mine, 3] == len(set(ids[mine, 1].tolist()))).all()
        for number in set(ids[mine, 1].tolist()):
            members = [i for i in range(mine.start, mine.stop) if ids[i, 1] == number]
            assert [ids[i, 0] for i in members] == list(range(len(members)))
            part = x[members]
            expected = [
                np.full_like(part, part.sum()),
                np.maximum.accumulate(part),
                np.full_like(part, part[0]),
                part,
                part,
            ]
            assert np.array_equal(out[members], np.stack(expected, axis=1))


@dppy.kernel
def sub_group_barrier(out):
    i, lane = dppy.get_global_id(0), dppy.get_sub_group_local_id()
    n = dppy.get_sub_group_size()
    first = i - lane
    shared = dppy.local.array(32, dppy.int32)
    lid = dppy.get_local_id(0)
    shared[lid] = i
    dppy.sub_group_barrier()
    out[i] = shared[lid - lane + (lane + 1) % n] - first


@every_dialect
def test_sub_group_barrier_orders_accesses(backend):
    (out,) = backend.run(sub_group_barrier, 32, 32, np.zeros(32, "i4"))
    assert out.min() == 0
    assert len(set(out.tolist())) == max(out) + 1
