"""Local memory and barriers: writes before a barrier are visible to the group after it."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_compiler, every_device, every_dialect
from support.places import values_of

pytestmark = pytest.mark.numpy

BLOCK = 10
TILE = 4


@dppy.kernel
def reverse_array(A):
    lm = dppy.local.array(shape=10, dtype=dppy.float32)
    i = dppy.get_global_id(0)
    lm[i] = A[i]
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    A[i] += lm[BLOCK - 1 - i]


@every_dialect
def test_example_of_numba_dppy(backend):
    """An example of numba-dppy: with the default local size one group runs it all."""
    (out,) = backend.run(
        reverse_array, BLOCK, dppy.DEFAULT_LOCAL_SIZE, np.arange(BLOCK, dtype="f4")
    )
    assert out.tolist() == [9] * BLOCK


@every_device
def test_documented_example_runs_unchanged(device, capsys):
    """An array of NumPy's, a device that the context names, and what is printed."""
    arr = np.arange(BLOCK).astype(np.float32)
    with ep.device_context(device):
        reverse_array[BLOCK, dppy.DEFAULT_LOCAL_SIZE](arr)
    print(arr)
    assert capsys.readouterr().out == "[9. 9. 9. 9. 9. 9. 9. 9. 9. 9.]\n"


@dppy.kernel
def twice_without_argument(A):
    i = dppy.get_global_id(0)
    A[i] = i
    dppy.barrier()
    A[i] += 1
    dppy.barrier(dppy.CLK_GLOBAL_MEM_FENCE)
    A[i] *= 2


@every_dialect
@pytest.mark.parametrize("local", [5, 10])
def test_barriers_without_argument_and_with_the_global_fence(backend, local):
    (out,) = backend.run(twice_without_argument, 10, local, np.zeros(10, "f4"))
    assert out.tolist() == [2 * (i + 1) for i in range(10)]


@dppy.kernel
def neighbors(out, x):
    i, lid, n = dppy.get_global_id(0), dppy.get_local_id(0), dppy.get_local_size(0)
    tile = dppy.local.array(8, dppy.int32)
    tile[lid] = x[i]
    dppy.barrier()
    out[i] = tile[(lid + 1) % n] * 10 + tile[(lid + n - 1) % n]


@every_dialect
@pytest.mark.parametrize("local", [1, 2, 8])
def test_groups_have_separate_local_memory(backend, local):
    x = np.arange(24, dtype="i4")
    (out, _) = backend.run(neighbors, 24, local, np.zeros(24, "i4"), x)
    by_group = x.reshape(-1, local)
    expected = np.roll(by_group, -1, axis=1) * 10 + np.roll(by_group, 1, axis=1)
    assert np.array_equal(out, expected.ravel())


@dppy.kernel
def tree_sum(out, x):
    i, lid = dppy.get_global_id(0), dppy.get_local_id(0)
    size = dppy.get_local_size(0)
    part = dppy.local.array(16, dppy.float64)
    part[lid] = x[i]
    stride = size // 2
    while stride > 0:
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        if lid < stride:
            part[lid] += part[lid + stride]
        stride //= 2
    if lid == 0:
        out[dppy.get_group_id(0)] = part[0]


@every_dialect
def test_barrier_in_a_loop(backend):
    x = np.random.default_rng(1).random(64)
    (out, _) = backend.run(tree_sum, 64, 16, np.zeros(4), x)
    assert np.allclose(out, x.reshape(4, 16).sum(axis=1))


@dppy.kernel
def tiled_matmul(C, A, B):
    a = dppy.local.array((TILE, TILE), dppy.float32)
    b = dppy.local.array((TILE, TILE), dppy.float32)
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    li, lj = dppy.get_local_id(0), dppy.get_local_id(1)
    total = dppy.float32(0)
    for t in range(A.shape[1] // TILE):
        a[li, lj] = A[i, t * TILE + lj]
        b[li, lj] = B[t * TILE + li, j]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        for k in range(TILE):
            total += a[li, k] * b[k, lj]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    C[i, j] = total


@every_dialect
def test_matrix_product_with_two_barriers_in_a_loop(backend):
    random = np.random.default_rng(2)
    A, B = random.random((8, 12), "f4"), random.random((12, 16), "f4")
    (C, *_) = backend.run(tiled_matmul, (8, 16), (TILE, TILE), np.zeros((8, 16), "f4"), A, B)
    assert np.allclose(C, A @ B, rtol=1e-5)


@dppy.kernel
def lives_across(out, x):
    """Variables of a work-item stay its own over barriers: numbers, tuples, private memory."""
    i, lid = dppy.get_global_id(0), dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.int64)
    mine = dppy.private.array(2, dppy.int64)
    a, b = x[i], x[i] * 2
    mine[0] = a + 100
    mine[1] = i
    shared[lid] = a
    dppy.barrier()
    a += shared[3 - lid]
    dppy.barrier()
    shared[lid] = a
    dppy.barrier()
    out[i] = a * 10000 + b * 1000 + mine[0] + mine[1] + shared[3 - lid]


@every_dialect
def test_variables_are_kept_over_barriers(backend):
    x = np.arange(8, dtype="i8")
    (out, _) = backend.run(lives_across, 8, 4, np.zeros(8, "i8"), x)
    flipped = x.reshape(2, 4)[:, ::-1].ravel()
    total = x + flipped
    assert (
        out.tolist()
        == (
            total * 10000 + 2 * x * 1000 + x + 100 + x + total.reshape(2, 4)[:, ::-1].ravel()
        ).tolist()
    )


@dppy.kernel
def uniform_condition(out, flag):
    lid = dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.int32)
    shared[lid] = lid
    if flag > 0:
        dppy.barrier()
        out[lid] = shared[3 - lid]
    else:
        dppy.barrier()
        out[lid] = shared[lid]


@every_dialect
@pytest.mark.parametrize("flag", [1, 0])
def test_barrier_under_a_uniform_condition(backend, flag):
    (out,) = backend.run(uniform_condition, 4, 4, np.zeros(4, "i4"), flag)
    assert out.tolist() == ([3, 2, 1, 0] if flag else [0, 1, 2, 3])


@dppy.kernel
def fence_only(out):
    i = dppy.get_global_id(0)
    out[i] = 1
    dppy.mem_fence(dppy.CLK_GLOBAL_MEM_FENCE)
    out[i] += 1


@every_dialect
def test_fence_is_not_a_barrier(backend):
    (out,) = backend.run(fence_only, 8, None, np.zeros(8, "i4"))
    assert out.tolist() == [2] * 8


@dppy.kernel
def kept_in_a_uniform_block(out, n):
    i, lid = dppy.get_global_id(0), dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.int64)
    v = i + 10
    if n > 3:
        shared[lid] = v
        w = v * 2
        dppy.barrier()
        v = shared[3 - lid] + w
    out[i] = v


@every_dialect
@pytest.mark.parametrize("n", [5, 1])
def test_variables_are_kept_in_a_uniform_block(backend, n):
    (out,) = backend.run(kept_in_a_uniform_block, 8, 4, np.zeros(8, "i8"), n)
    v = np.arange(8) + 10
    expected = v.reshape(2, 4)[:, ::-1].ravel() + 2 * v if n > 3 else v
    assert out.tolist() == expected.tolist()


@dppy.kernel
def barriers_in_a_while_loop(out):
    n = 0
    c = dppy.get_local_id(0)
    while n < 5:
        n += 1
        if n == 3:
            c += 100
            continue
        dppy.barrier()
        c += n
    out[dppy.get_global_id(0)] = c


@every_dialect
def test_continue_in_a_loop_with_barriers(backend):
    (out,) = backend.run(barriers_in_a_while_loop, 8, 4, np.zeros(8, "i8"))
    assert out.tolist() == [112, 113, 114, 115] * 2


@dppy.kernel
def waits_by_a_flag(out, flags):
    i = dppy.get_global_id(0)
    out[i] = i
    if flags[0] > 0:
        dppy.barrier()
    out[i] += 1


@every_compiler
def test_barrier_condition_aliased_by_another_argument(backend):
    """`flags` is not written under its name. The launch finds out if it is written under
    another."""
    out, flags = backend.array(np.zeros(8, "i4")), backend.array(np.ones(8, "i4"))
    backend.launch(waits_by_a_flag, 8, 4, out, flags)
    assert values_of(out).tolist() == [i + 1 for i in range(8)]
    with pytest.raises(ep.KernelError, match="this may differ between work-items"):
        backend.launch(waits_by_a_flag, 8, 4, flags, flags)
    both = backend.array(np.ones(16, "i4"))
    with pytest.raises(ep.KernelError, match="this may differ between work-items"):
        backend.launch(waits_by_a_flag, 8, 4, both[:8], both[7:])
    backend.launch(waits_by_a_flag, 8, 4, both[:8], both[8:])
    assert values_of(both).tolist() == [i + 1 for i in range(8)] + [1] * 8
