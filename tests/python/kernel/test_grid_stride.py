"""Grid-stride loops, whose iterations the host runs in another order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend

pytestmark = pytest.mark.numpy


@dppy.kernel
def plain(out, x, n):
    for k in range(dppy.get_global_id(0), n, dppy.get_global_size(0)):
        out[k] = 3 * x[k] + k


@dppy.kernel
def with_temporaries(out, x, n):
    i = dppy.get_global_id(0)
    step = dppy.get_global_size(0)
    last = min(n, x.shape[0])
    for k in range(i, last, step):
        value = x[k]
        if value < 0:
            if k % 3 == 0:
                continue
            value = -value
        total = 0
        for j in range(3):
            term = value * j
            total += term
        out[k] = total + i * 0


@dppy.kernel
def guarded(out, x, n):
    i = dppy.get_global_id(0)
    if i < 5:
        for k in range(i, n, dppy.get_global_size(0)):
            out[k] += x[k]


@dppy.kernel
def that_breaks(out, x, n):
    for k in range(dppy.get_global_id(0), n, dppy.get_global_size(0)):
        if x[k] > 60:
            break
        out[k] = x[k]


@dppy.kernel
def that_returns(out, x, n):
    for k in range(dppy.get_global_id(0), n, dppy.get_global_size(0)):
        if x[k] > 60:
            return
        out[k] = x[k]


@dppy.kernel
def that_sums(out, x, n):
    i = dppy.get_global_id(0)
    total = 0
    for k in range(i, n, dppy.get_global_size(0)):
        total += x[k]
        out[k] = total


@dppy.kernel
def that_keeps_a_value(out, x, n):
    i = dppy.get_global_id(0)
    kept = 7
    for k in range(i, n, dppy.get_global_size(0)):
        if x[k] > 0:
            kept = x[k]
        out[k] = kept


@dppy.kernel
def that_counts(out, x, n):
    for k in range(dppy.get_global_id(0), n, dppy.get_global_size(0)):
        dppy.atomic.add(out, x[k] % 10, 1)


@dppy.kernel
def of_its_own_elements(out, x, n):
    """An iteration reads what the one before it has written."""
    i = dppy.get_global_id(0)
    size = dppy.get_global_size(0)
    for k in range(i, n, size):
        out[k] = x[k] if k < size else out[k - size] + 1


@dppy.kernel
def of_a_common_value(out, x, n):
    i = dppy.get_global_id(0)
    size = dppy.get_global_size(0)
    shift = n // 3 + size
    for k in range(i, n - 1, size):
        for j in range(k % 3):
            out[shift * 0 + k + 1] += x[j] * shift
        out[shift * 0 + k + 1] += x[k + 1] - x[k]


@dppy.kernel
def of_some_elements(out, x, n):
    for k in range(dppy.get_global_id(0), n // 2, dppy.get_global_size(0)):
        out[2 * k] = x[k]


@dppy.kernel
def of_one_element(out, x, n):
    """Iterations of a work-item write the same element."""
    size = dppy.get_global_size(0)
    for k in range(dppy.get_global_id(0), n, size):
        out[k % size % 200] = k


@dppy.kernel
def of_two_places(out, x, n):
    """An iteration changes what a later one of the same work-item reads."""
    size = dppy.get_global_size(0)
    for k in range(dppy.get_global_id(0), n - size, size):
        out[k] += x[k]
        out[k + size] += out[k]


@dppy.kernel
def one_more(out, x, n):
    for k in range(dppy.get_global_id(0), n, dppy.get_global_size(0)):
        out[k] = x[k] + 1


KERNELS = [
    plain, with_temporaries, guarded, that_breaks, that_returns, that_sums, that_keeps_a_value,
    that_counts, of_its_own_elements, of_a_common_value, of_some_elements, of_one_element,
    of_two_places,
]  # fmt: skip


@every_backend
@pytest.mark.parametrize("items", [1, 7, 64, 300])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_loop_visits_every_element(backend, kernel, items):
    x = np.random.default_rng(3).integers(-99, 99, 200)
    for n in (-3, 0, 1, 7, 63, 64, 65, 199, 200):
        expected = np.zeros(200, "i8")
        kernel.simulate[items](expected, x, n)
        out, _ = backend.run(kernel, items, None, np.zeros(200, "i8"), x, n)
        assert out.tolist() == expected.tolist(), n


@pytest.mark.host
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_source_interchanges_independent_iterations(kernel):
    signature = "void(int64[::1], int64[::1], int64)"
    source = kernel.source("c++", signature=signature, device="host")
    kept = (that_breaks, that_returns, that_sums, that_keeps_a_value)
    free = (plain, of_a_common_value, of_some_elements)
    assert ("long long base" in source) == (kernel not in kept + free), source
    assert ("share_begin(" in source) == (kernel in free), source


@pytest.mark.host
def test_overlapping_arrays_preserve_order_of_a_work_item():
    size, n = 64, 1 << 20
    for _ in range(3):  # the second launch is known to be long, so several threads run it
        both = ep.zeros(n + size, "int64", device="host")
        one_more[size](both[size:], both[:n], n).wait()
        assert np.array_equal(both.numpy(), np.arange(n + size) // size)
    assert "share_begin(" not in one_more.source("c++", device="host")


@dppy.kernel
def rows(out, x):
    i = dppy.get_global_id(0)
    n, m = x.shape
    if i < n:
        for k in range(dppy.get_global_id(1), m, dppy.get_global_size(1)):
            out[i, k] = x[i, k] + i


@every_backend
def test_rows(backend):
    x = np.random.default_rng(4).integers(-99, 99, (5, 70))
    out, _ = backend.run(rows, (6, 8), None, np.zeros_like(x), x)
    assert np.array_equal(out, x + np.arange(5)[:, None])


@dppy.kernel
def up_to_the_local_id(out, x):
    lane = dppy.get_local_id(0)
    for k in range(dppy.get_global_id(0), x.shape[0] - lane, dppy.get_global_size(0)):
        out[k] = x[k]


@every_backend
def test_stop_depends_on_the_work_item(backend):
    x = np.arange(1, 71)
    out, _ = backend.run(up_to_the_local_id, 8, 4, np.zeros_like(x), x)
    k = np.arange(70)
    assert out.tolist() == np.where(k < 70 - k % 4, x, 0).tolist()


@dppy.kernel
def histogram(out, x):
    counts = dppy.local.array(16, np.int64)
    lane = dppy.get_local_id(0)
    if lane < 16:
        counts[lane] = 0
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    for k in range(dppy.get_global_id(0), x.shape[0], dppy.get_global_size(0)):
        dppy.atomic.add(counts, x[k], 1)
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    if lane < 16:
        dppy.atomic.add(out, lane, counts[lane])


@dppy.kernel
def histogram_of_named_ids(out, x):
    counts = dppy.local.array(16, np.int64)
    lane = dppy.get_local_id(0)
    i = dppy.get_global_id(0)
    size = x.shape[0]
    if lane < 16:
        counts[lane] = 0
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    step = dppy.get_global_size(0)
    for k in range(i, size, step):
        value = x[k]
        if value == 3:
            continue
        dppy.atomic.add(counts, value, lane - lane + 1)
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    if lane < 16:
        dppy.atomic.add(out, lane, counts[lane])


@dppy.kernel
def histogram_of_early_returns(out, x):
    counts = dppy.local.array(16, np.int64)
    lane = dppy.get_local_id(0)
    if lane < 16:
        counts[lane] = 0
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    seen = 0
    for k in range(dppy.get_global_id(0), x.shape[0], dppy.get_global_size(0)):
        dppy.atomic.add(counts, x[k], 1)
        seen += 1
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    if lane >= 16:
        return
    dppy.atomic.add(out, lane, counts[lane] + seen - seen)


@every_backend
@pytest.mark.parametrize("size", [0, 1, 15, 64, 65, 1000])
@pytest.mark.parametrize(
    "kernel",
    [histogram, histogram_of_named_ids, histogram_of_early_returns],
    ids=lambda kernel: kernel.__name__,
)
def test_histograms(backend, kernel, size):
    x = np.random.default_rng(5).integers(0, 16, size)
    expected = np.bincount(x, minlength=16)
    if kernel is histogram_of_named_ids:
        expected[3] = 0
    out, _ = backend.run(kernel, 64, 32, np.zeros(16, "i8"), x)
    assert out.tolist() == expected.tolist()


@dppy.kernel
def sums_of_groups(out, x, n):
    total = 0
    for k in range(dppy.get_global_id(0), n, dppy.get_global_size(0)):
        total += x[k]
    total = dppy.group.reduce(total)
    if dppy.get_local_id(0) == 0:
        out[dppy.get_group_id(0)] = total


@dppy.kernel
def rows_from_a_start(out, x, n):
    """Two loops of a group's row, the second of which uses what the first one kept."""
    group = dppy.get_group_id(0)
    lane = dppy.get_local_id(0)
    width = dppy.get_local_size(0)
    first = group * 25
    last = max(min(first + 25, n), first)
    top = x[0]
    seen = 0
    for k in range(first + lane, last, width):
        top = max(top, x[k])
        seen = k
    top = dppy.group.reduce(top, "max")
    for k in range(first + lane, last, width):
        if x[k] == top:
            continue
        out[k] = top - x[k]
    if lane < last - first:
        out[first + lane] += seen % 2


@dppy.kernel
def rows_of_persistent_groups(out, x, starts):
    """Each group visits several rows, whose bounds it reads from memory."""
    lane = dppy.get_local_id(0)
    for row in range(dppy.get_group_id(0), starts.shape[0] - 1, dppy.get_num_groups(0)):
        total = 0
        for k in range(starts[row] + lane, starts[row + 1], dppy.get_local_size(0)):
            total += x[k]
        total = dppy.group.reduce(total)
        if lane == 0:
            out[row] = total


@dppy.kernel
def sums_of_some_items(out, x, n):
    """Loops in a branch, which only some work-items execute, and one that a break ends."""
    lane = dppy.get_local_id(0)
    total = 0
    if lane % 2 == 0:
        for k in range(lane, n, dppy.get_local_size(0)):
            total += x[k]
    for k in range(lane, n, dppy.get_local_size(0)):
        if x[k] > 90:
            break
        total += 1
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    out[dppy.get_global_id(0)] = total


@dppy.kernel
def triangles(out, x, n):
    """Steps that are smaller than a group, as large, and larger."""
    lane = dppy.get_local_id(0)
    for k in range(lane, n):
        dppy.atomic.add(out, 1 + lane, x[k])
    for k in range(lane, n, 7):
        dppy.atomic.add(out, 101 + lane, x[k])
    for k in range(lane, n, 33):
        if x[k] < 0:
            continue
        dppy.atomic.add(out, 201 + lane, x[k])


LEAST = -(1 << 63)


@every_backend
@pytest.mark.parametrize("local", [1, 3, 8, 32])
@pytest.mark.parametrize(
    "kernel",
    [sums_of_groups, rows_from_a_start, triangles, sums_of_some_items],
    ids=lambda kernel: kernel.__name__,
)
def test_strided_loop_of_a_group_visits_every_element(backend, kernel, local):
    x = np.random.default_rng(6).integers(-99, 99, 200)
    items = local * 8
    for n in (LEAST, -1, 0, 1, 31, 32, 33, 150, 200):
        expected = np.zeros(300, "i8")
        kernel.simulate[items, local](expected, x, n)
        out, _ = backend.run(kernel, items, local, np.zeros(300, "i8"), x, n)
        assert out.tolist() == expected.tolist(), n


@every_backend
@pytest.mark.parametrize("local", [1, 8, 32])
def test_rows_of_persistent_groups_have_bounds_in_memory(backend, local):
    x = np.random.default_rng(6).integers(-99, 99, 200)
    starts = np.array([0, 0, 7, 40, 40, 105, 200])
    sums = [x[a:b].sum() for a, b in itertools.pairwise(starts)]
    out, *_ = backend.run(rows_of_persistent_groups, 2 * local, local, np.zeros(6, "i8"), x, starts)
    assert out.tolist() == sums


@pytest.mark.host
@pytest.mark.parametrize(
    "kernel",
    [sums_of_groups, rows_from_a_start, triangles, rows_of_persistent_groups, sums_of_some_items],
    ids=lambda kernel: kernel.__name__,
)
def test_source_interchanges_strided_loops_of_groups(kernel):
    last = "int64[::1]" if kernel is rows_of_persistent_groups else "int64"
    signature = f"void(int64[::1], int64[::1], {last})"
    source = kernel.source("c++", signature=signature, device="host")
    assert ("long long offset" in source) == (kernel is not sums_of_some_items), source
