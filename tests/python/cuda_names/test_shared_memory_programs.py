"""Programs whose threads share memory and wait for each other."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from entrepot import numba_cuda as cuda
from entrepot.kernel import float32, float64, int32

pytestmark = pytest.mark.numpy

TILE = 8
GROUP = 32


@cuda.jit
def matmul(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


def _matrices(rows, inner, columns):
    random = np.random.default_rng(2)
    return random.random((rows, inner)), random.random((inner, columns))


def test_matrix_product_of_elements_equals_numpy(runner):
    a, b = _matrices(17, 9, 21)
    *_, c = runner.run(matmul, (3, 3), (8, 8), a, b, np.zeros((17, 21)))
    np.testing.assert_allclose(c, a @ b)


@cuda.jit
def matmul_tiled(a, b, c):
    of_a = cuda.shared.array((TILE, TILE), float64)
    of_b = cuda.shared.array(shape=(TILE, TILE), dtype=float64)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float64(0.0)
    for tile in range((a.shape[1] + TILE - 1) // TILE):
        of_a[ty, tx] = 0.0
        of_b[ty, tx] = 0.0
        if y < a.shape[0] and tx + tile * TILE < a.shape[1]:
            of_a[ty, tx] = a[y, tx + tile * TILE]
        if x < b.shape[1] and ty + tile * TILE < b.shape[0]:
            of_b[ty, tx] = b[ty + tile * TILE, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += of_a[ty, k] * of_b[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


def test_matrix_product_of_tiles_equals_numpy(runner):
    a, b = _matrices(17, 11, 20)
    *_, c = runner.run(matmul_tiled, (3, 3), (TILE, TILE), a, b, np.zeros((17, 20)))
    np.testing.assert_allclose(c, a @ b)


@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((TILE, TILE + 1), float32)
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


def test_transpose_of_tiles_equals_numpy(runner):
    a = np.arange(24 * 16, dtype="f4").reshape(24, 16)
    _, out = runner.run(transpose, (2, 3), (TILE, TILE), a, np.zeros((16, 24), "f4"))
    assert (out == a.T).all()


@cuda.jit
def block_sums(values, sums):
    partial = cuda.shared.array(GROUP, float32)
    own, i = cuda.threadIdx.x, cuda.grid(1)
    partial[own] = values[i] if i < values.size else 0.0
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if own < stride:
            partial[own] += partial[own + stride]
        cuda.syncthreads()
        stride //= 2
    if own == 0:
        sums[cuda.blockIdx.x] = partial[0]


def test_block_reduction_sums_each_block(runner):
    values = np.arange(100, dtype="f4")
    _, sums = runner.run(block_sums, 4, GROUP, values, np.zeros(4, "f4"))
    assert sums.tolist() == [values[b * GROUP : (b + 1) * GROUP].sum() for b in range(4)]


@cuda.jit
def dot(a, b, out):
    partial = cuda.shared.array(GROUP, float64)
    total = 0.0
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    own = cuda.threadIdx.x
    partial[own] = total
    cuda.syncthreads()
    step = GROUP // 2
    while step != 0:
        if own < step:
            partial[own] += partial[own + step]
        cuda.syncthreads()
        step = step // 2
    if own == 0:
        cuda.atomic.add(out, 0, partial[0])


def test_dot_product_with_atomic_equals_numpy(runner):
    a, b = np.linspace(0, 1, 300), np.linspace(1, 2, 300)
    *_, out = runner.run(dot, 3, GROUP, a, b, np.zeros(1))
    np.testing.assert_allclose(out[0], a @ b)


@cuda.jit
def prefix_sums(values, out, totals):
    first = cuda.shared.array(GROUP, int32)
    second = cuda.shared.array(GROUP, int32)
    own, i = cuda.threadIdx.x, cuda.grid(1)
    first[own] = values[i] if i < values.size else 0
    cuda.syncthreads()
    offset = 1
    while offset < GROUP:
        second[own] = first[own] + first[own - offset] if own >= offset else first[own]
        cuda.syncthreads()
        first[own] = second[own]
        cuda.syncthreads()
        offset *= 2
    if i < out.size:
        out[i] = first[own]
    if own == GROUP - 1:
        totals[cuda.blockIdx.x] = first[own]


@cuda.jit
def add_totals(out, totals):
    i = cuda.grid(1)
    if i < out.size:
        before = 0
        for block in range(cuda.blockIdx.x):
            before += totals[block]
        out[i] += before


def test_prefix_scan_in_two_launches_equals_numpy(runner):
    values = np.random.default_rng(3).integers(0, 9, 80).astype("i4")
    there, out, totals = (
        cuda.to_device(np.copy(each)) for each in (values, values, np.zeros(3, "i4"))
    )
    runner.launch(prefix_sums, 3, GROUP, there, out, totals)
    runner.launch(add_totals, 3, GROUP, out, totals)
    assert out.copy_to_host().tolist() == np.cumsum(values).tolist()


@cuda.jit
def histogram(values, counts):
    own = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(own, values[i], 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, own[t])


def test_histogram_with_shared_atomics_counts(runner):
    values = np.random.default_rng(4).integers(0, 16, 500).astype("i4")
    _, counts = runner.run(histogram, 3, GROUP, values, np.zeros(16, "i4"))
    assert counts.tolist() == np.bincount(values, minlength=16).tolist()


@cuda.jit
def reverse_blocks(values):
    held = cuda.shared.array(0, float32)
    own, i = cuda.threadIdx.x, cuda.grid(1)
    held[own] = values[i]
    cuda.syncthreads()
    values[i] = held[cuda.blockDim.x - 1 - own]


@pytest.mark.parametrize("threads", [4, 8])
def test_dynamic_shared_memory_has_the_launch_size(runner, threads):
    (values,) = runner.run(
        reverse_blocks, 16 // threads, threads, np.arange(16, dtype="f4"), shared=4 * threads
    )
    assert values.tolist() == np.arange(16.0).reshape(-1, threads)[:, ::-1].ravel().tolist()


def test_dynamic_shared_memory_of_a_specialized_kernel(device):
    values = cuda.to_device(np.arange(4, dtype="f4"))
    special = reverse_blocks.specialize(values)
    special[1, 4, 0, 16](values)
    assert values.copy_to_host().tolist() == [3, 2, 1, 0]
    again = cuda.jit(reverse_blocks)
    again[1, 4, 0, 16](values)
    assert values.copy_to_host().tolist() == [0, 1, 2, 3]


@cuda.jit
def two_parts(out):
    whole = cuda.shared.array(0, dtype=int32)
    low, high = whole[: cuda.blockDim.x], whole[cuda.blockDim.x :]
    own = cuda.threadIdx.x
    low[own] = own
    high[own] = 10 * own
    cuda.syncthreads()
    other = cuda.blockDim.x - 1 - own
    out[own] = low[other] + high[other]


def test_dynamic_shared_memory_is_divided_by_slices(runner):
    (out,) = runner.run(two_parts, 1, 4, np.zeros(4, "i4"), shared=2 * 4 * 4)
    assert out.tolist() == [33, 22, 11, 0]


@cuda.jit
def smooth(x, out):
    window = cuda.shared.array(GROUP + 2, float32)
    own, i = cuda.threadIdx.x, cuda.grid(1)
    n = x.size
    window[own + 1] = x[min(i, n - 1)]
    if own == 0:
        window[0] = x[max(i - 1, 0)]
    if own == cuda.blockDim.x - 1:
        window[own + 2] = x[min(i + 1, n - 1)]
    cuda.syncthreads()
    if i < n:
        out[i] = (window[own] + window[own + 1] + window[own + 2]) / 3


def test_blur_in_one_dimension_with_halo_equals_numpy(runner):
    x = np.random.default_rng(5).random(90).astype("f4")
    _, out = runner.run(smooth, 3, GROUP, x, np.zeros(90, "f4"))
    wide = np.pad(x, 1, mode="edge")
    np.testing.assert_allclose(out, (wide[:-2] + wide[1:-1] + wide[2:]) / 3, rtol=1e-5)


@cuda.jit
def votes(values, out):
    i = cuda.grid(1)
    count = cuda.syncthreads_count(values[i] > 2)
    every = cuda.syncthreads_and(values[i] > 0)
    some = cuda.syncthreads_or(values[i] > 5)
    out[i, 0] = count
    out[i, 1] = every
    out[i, 2] = some


def test_votes_of_blocks_count_predicates(runner):
    values = np.array([1, 2, 3, 4, 0, 6, 7, 8], "i4")
    _, out = runner.run(votes, 2, 4, values, np.zeros((8, 3), "i4"))
    assert out.tolist() == [[2, 1, 0]] * 4 + [[3, 0, 1]] * 4


class Configuration:
    """An object whose attribute launches a kernel with dynamic shared memory."""

    @property
    def extent(self) -> int:
        @cuda.jit
        def inner(out):
            shared = cuda.shared.array(0, float32)
            shared[0] = 8
            out[0] = shared[0]

        out = np.zeros(1, "f4")
        inner[1, 1, 0, 4](out)
        return int(out[0])


configuration = Configuration()


@cuda.jit
def of_configuration(out):
    shared = cuda.shared.array(configuration.extent, float32)
    shared[0] = 5
    out[0] = shared[0]


def test_attribute_that_launches_a_kernel_gives_the_extent():
    out = np.zeros(1, "f4")
    thread = threading.Thread(target=lambda: of_configuration[1, 1](out), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert out[0] == 5
