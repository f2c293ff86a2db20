"""Device functions that the work-items of a group run together: barriers, group functions and
local memory in @func."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend, every_dialect

pytestmark = pytest.mark.numpy

GROUP = 8


@dppy.func
def sum_of_group(value, start):
    """The sum of the values of a group, in each work-item; `start` alone for a group of one."""
    lid, size = dppy.get_local_id(0), dppy.get_local_size(0)
    if size == 1:
        return start
    parts = dppy.local.array(GROUP, dppy.float64)
    parts[lid] = value
    stride = size // 2
    while stride > 0:
        dppy.barrier()
        if lid < stride:
            parts[lid] += parts[lid + stride]
        stride //= 2
    dppy.barrier()
    total = parts[0]
    dppy.barrier()  # the next call writes where this one has read
    return start + total


@dppy.func
def mean_and_spread(x, i):
    mean = sum_of_group(x[i], 0.0) / dppy.get_local_size(0)
    away = x[i] - mean
    return mean, sum_of_group(away * away, 0.0) / dppy.get_local_size(0)


@dppy.kernel
def statistics(out, x):
    i = dppy.get_global_id(0)
    mean, spread = mean_and_spread(x, i)
    out[i, 0] = mean
    out[i, 1] = spread
    for k in range(3):
        out[i, 2] = sum_of_group(x[i] * k, 0.5)


@every_dialect
@pytest.mark.parametrize("local", [1, 4, 8])
def test_local_memory_and_barriers_within_functions(backend, local):
    x = np.arange(16, dtype="f8") ** 1.5
    (out, _) = backend.run(statistics, 16, local, np.zeros((16, 3)), x)
    groups = x.reshape(-1, local)
    mean, spread = groups.mean(axis=1), groups.var(axis=1)
    total = 0.5 + 2 * groups.sum(axis=1)
    if local == 1:
        mean, spread, total = np.zeros(16), np.zeros(16), np.full(16, 0.5)
    assert np.allclose(
        out, np.repeat(np.stack([mean, spread, total], axis=1), local, axis=0), rtol=1e-13
    )


@dppy.func
def largest(value):
    return dppy.group.reduce(value, "max")


@dppy.kernel
def normalized(x):
    i = dppy.get_global_id(0)
    x[i] /= largest(x[i])


@every_backend
def test_group_functions_within_functions(backend):
    x = np.array([1, 2, 4, 8, 3, 1, 2, 6], "f4")
    (out,) = backend.run(normalized, 8, 4, x)
    assert np.array_equal(out, x / np.repeat(x.reshape(2, 4).max(axis=1), 4))


@dppy.func
def exchanged(tile, lid, n):
    """A function that writes and reads the kernel's own tile, and assigns to its argument."""
    value = tile[lid]
    dppy.barrier()
    lid = n - 1 - lid
    tile[lid] = value
    dppy.barrier()


@dppy.kernel
def reversed_twice(x, times):
    i, lid, n = dppy.get_global_id(0), dppy.get_local_id(0), dppy.get_local_size(0)
    tile = dppy.local.array(8, dppy.float32)
    tile[lid] = x[i]
    for _ in range(times):
        exchanged(tile, lid, n)
    exchanged(tile[:], lid, n)
    x[i] = tile[lid]


@every_dialect
@pytest.mark.parametrize("times", [0, 1, 2])
def test_functions_that_wait_in_loops(backend, times):
    x = np.arange(8, dtype="f4")
    (out,) = backend.run(reversed_twice, 8, 8, x, times)
    assert out.tolist() == (x[::-1] if times % 2 == 0 else x).tolist()


@dppy.func
def swapped(a, b):
    dppy.barrier()
    return b, a


@dppy.kernel
def swaps(out):
    i = dppy.get_global_id(0)
    a, b = i, i * 10
    a, b = swapped(a, b)
    a, b = swapped(b, a)
    out[i] = a * 100 + b


@every_backend
def test_returned_tuple_may_be_assigned_to_its_arguments(backend):
    (out,) = backend.run(swaps, 4, 2, np.zeros(4, "i8"))
    assert out.tolist() == [100 * (10 * i) + i for i in range(4)]


@dppy.func
def own_counter(x):
    tile = dppy.local.array(8, dppy.int32)
    tile[dppy.get_local_id(0)] = x
    dppy.barrier()
    return tile[dppy.get_local_size(0) - 1 - dppy.get_local_id(0)]


@dppy.kernel
def two_calls(out):
    i = dppy.get_global_id(0)
    a = own_counter(i)
    b = own_counter(i + 100)  # no barrier between: it has memory of its own
    out[i] = a * 1000 + b


@every_backend
def test_call_sites_have_separate_local_memory(backend):
    (out,) = backend.run(two_calls, 8, 8, np.zeros(8, "i4"))
    assert out.tolist() == [(7 - i) * 1000 + 107 - i for i in range(8)]


@pytest.mark.host
def test_lines_are_those_of_the_function():
    text = normalized.options(dialect="c++").source("c++", signature="void(float32[::1])")
    assert "test_functions_of_groups.py" in text
    assert f"#line {largest.function.__code__.co_firstlineno + 2} " in text


@dppy.func
def for_ever(x):
    dppy.barrier()
    return for_ever(x)


@dppy.kernel
def recurses(x):
    x[0] = for_ever(x[0])


@pytest.mark.host
def test_recursion_is_refused():
    with pytest.raises(ep.KernelError, match="recursion needs a stack"), ep.device_context("host"):
        recurses[4, 4](np.zeros(4))
    with pytest.raises(ep.KernelError, match="may not call themselves"):
        recurses.simulate[4, 4](np.zeros(4))
