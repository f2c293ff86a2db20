"""Large launches on GPUs, whose threads execute several work-items each."""

from __future__ import annotations

import math

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_dialect

pytestmark = pytest.mark.numpy

TILE = 16


@dppy.kernel
def axpy(out, x, y, a):
    i = dppy.get_global_id(0)
    out[i] = a * x[i] + y[i]


@dppy.kernel
def early(out, x, n):
    i = dppy.get_global_id(0)
    if i >= n:
        return
    value = x[i]
    if value < 0:
        value = -value
    out[i] += value


@dppy.kernel
def stencil(out, a):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    if 0 < i < a.shape[0] - 1 and 0 < j < a.shape[1] - 1:
        out[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]


@dppy.func
def linear(i, j, k, rows, columns):
    return (i * rows + j) * columns + k


@dppy.kernel
def in_three_dimensions(out):
    i, j, k = dppy.get_global_id(0), dppy.get_global_id(1), dppy.get_global_id(2)
    out[i, j, k] = linear(i, j, k, dppy.get_global_size(1), dppy.get_global_size(2))


@dppy.kernel
def next_element(a):
    i = dppy.get_global_id(0)
    a[i] = a[i] + dppy.get_global_size(0)


@dppy.kernel
def product(a, b, out):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    row, column = dppy.get_local_id(0), dppy.get_local_id(1)
    left = dppy.local.array((TILE, TILE), dppy.float32)
    right = dppy.local.array((TILE, TILE), dppy.float32)
    total = dppy.float32(0)
    for tile in range(a.shape[1] // TILE):
        left[row, column] = a[i, tile * TILE + column]
        right[row, column] = b[tile * TILE + row, j]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        for k in range(TILE):
            total += left[row, k] * right[k, column]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    out[i, j] = total


@dppy.kernel
def group_places(out, shared):
    """Ids and sizes of a kernel whose work-items share loads of local memory."""
    row, column = dppy.get_local_id(0), dppy.get_local_id(1)
    part = dppy.local.array(TILE, dppy.int64)
    if row == 0 and column < TILE:
        part[column] = shared[column]
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    total = 0
    for k in range(TILE):
        if part[k] < 0:
            continue
        total += part[k] * (k + 1)
    rounds = 0
    while rounds < 3:
        rounds += 1
        total += rounds
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        if rounds > dppy.get_local_size(1):
            break
    place = dppy.get_group_id(0) * dppy.get_local_size(0) + row
    out[dppy.get_global_id(0), dppy.get_global_id(1)] = (
        total + 1000 * (place - dppy.get_global_id(0)) + dppy.get_global_size(0)
    )


@dppy.kernel
def with_jumps(out, shared):
    row, column = dppy.get_local_id(0), dppy.get_local_id(1)
    part = dppy.local.array(TILE, dppy.int64)
    total = 0
    for step in range(4):
        if row == 0 and column < TILE:
            part[column] = shared[column] + step
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        for k in range(TILE):
            total += part[k]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        if row < 6:
            total += 10
            if row == 3:
                continue
            if column == 1:
                total += 1
                continue
        total += 100
    out[dppy.get_global_id(0), dppy.get_global_id(1)] = total


def size_for(backend, small):
    """At least as many work-items as a coarsened launch needs, or a few."""
    return 4 * 2048 * backend.device.max_compute_units if backend.is_gpu else small


@every_dialect
@pytest.mark.parametrize("more", [0, 1, 1023, 1024])
def test_sums_of_large_arrays_equal_numpys(backend, more):
    size = size_for(backend, 3000) + more
    x, y = np.arange(size, dtype="f4"), np.arange(size, dtype="f4")[::-1].copy()
    (out, *_) = backend.run(axpy, size, None, np.zeros(size + 7, "f4"), x, y, np.float32(2))
    np.testing.assert_array_equal(out[:size], 2 * x + y)
    np.testing.assert_array_equal(out[size:], 0)


@every_dialect
@pytest.mark.parametrize("local", [None, 64])
def test_guard_with_return_excludes_only_its_work_items(backend, local):
    size = -(-size_for(backend, 3000) // 64) * 64
    x, n = np.arange(size, dtype="i4") - 100, size - 333
    out, _ = backend.run(early, size, local, np.zeros(size, "i4"), x, n)
    np.testing.assert_array_equal(out[:n], abs(x[:n]))
    np.testing.assert_array_equal(out[n:], 0)


@every_dialect
def test_stencil_of_a_large_array_equals_numpys(backend):
    columns = 1027
    rows = size_for(backend, 3 * columns) // columns + 2
    a = np.random.default_rng(1).integers(0, 100, (rows, columns)).astype("f4")
    out, _ = backend.run(stencil, (rows, columns), None, np.zeros_like(a), a)
    expected = np.zeros_like(a)
    expected[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    np.testing.assert_array_equal(out, expected)


@every_dialect
def test_large_range_of_three_dimensions_reaches_every_element(backend):
    shape = (size_for(backend, 5 * 131 * 17) // (131 * 17) + 1, 131, 17)
    (out,) = backend.run(in_three_dimensions, shape, None, np.zeros(shape, "i8"))
    np.testing.assert_array_equal(out, np.arange(math.prod(shape)).reshape(shape))


@every_dialect
def test_array_that_is_read_and_written_has_each_element_once(backend):
    size = size_for(backend, 3000)
    memory = backend.array(np.arange(size, dtype="i8"))
    backend.launch(next_element, size, None, memory)
    np.testing.assert_array_equal(memory.copy_to_host().numpy(), np.arange(size) + size)


@every_dialect
def test_product_with_shared_tiles_equals_numpys(backend):
    side = max(48, -(-math.isqrt(size_for(backend, 48 * 48) - 1) // TILE) * TILE)
    inner = 64
    random = np.random.default_rng(1)
    a, b = (random.integers(-4, 5, shape).astype("f4") for shape in ((side, inner), (inner, side)))
    *_, out = backend.run(product, (side, side), (TILE, TILE), a, b, np.zeros((side, side), "f4"))
    np.testing.assert_array_equal(out, a @ b)


@every_dialect
@pytest.mark.parametrize("local", [(8, 64), (16, 16), (6, 64)])
def test_ids_within_groups_are_those_of_work_items(backend, local):
    columns = 64
    rows = -(-size_for(backend, 96 * columns) // columns // 48 + 1) * 48
    shared = np.arange(TILE)
    shared[3] = -1
    out, _ = backend.run(
        group_places, (rows, columns), local, np.zeros((rows, columns), "i8"), shared
    )
    total = sum(k * (k + 1) for k in range(TILE) if k != 3) + 1 + 2 + 3
    np.testing.assert_array_equal(out, total + rows)


@every_dialect
def test_jump_of_some_work_items_concerns_them_alone(backend):
    columns = 64
    rows = -(-size_for(backend, 32 * columns) // columns // 16 + 1) * 16
    zeros, shared = np.zeros((rows, columns), "i8"), np.arange(TILE)
    out, _ = backend.run(with_jumps, (rows, columns), (8, 64), zeros, shared)
    total = sum(int((shared + step).sum()) for step in range(4))
    row, column = (np.arange(rows) % 8)[:, None], (np.arange(columns) % 64)[None, :]
    skips_first = row == 3
    skips = (row < 6) & (column == 1) & ~skips_first
    expected = total + 40 * (row < 6) + 4 * skips + 400 * ~(skips_first | skips)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.cuda
@pytest.mark.parametrize("items", [4 * 2048, 1])
def test_threads_take_several_work_items_only_in_large_launches(items):
    device = ep.device("cuda:0")
    size = items * device.max_compute_units
    x = ep.zeros(size, "float32", device=device)
    axpy[size](ep.zeros(size, "float32", device=device), x, x, np.float32(2)).wait()
    assert axpy.source().count("out[") == (8 if items > 1 else 1)


@dppy.kernel
def of_many_arrays(out, a, b, c, d, e, f):
    i = dppy.get_global_id(0)
    out[i] = a[i] * b[i] + c[i] * d[i] + e[i] * f[i] + (a[i] + b[i]) * (c[i] + d[i])


@every_dialect
def test_launch_with_large_groups_gives_way_to_registers(backend):
    size = -(-size_for(backend, 3000) // 1024) * 1024
    local = 1024 if backend.is_gpu else 4
    random = np.random.default_rng(1)
    a, b, c, d, e, f = (random.random(size) for _ in range(6))
    out, *_ = backend.run(of_many_arrays, size, local, np.zeros(size), a, b, c, d, e, f)
    np.testing.assert_allclose(out, a * b + c * d + e * f + (a + b) * (c + d))
