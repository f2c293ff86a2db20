"""Conditions on a work-item's id, which the host makes bounds of its loop over the work-items."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import every_backend, every_dialect

pytestmark = pytest.mark.numpy

LEAST, MOST = np.iinfo("i8").min, np.iinfo("i8").max
#: Around the ends of 40 work-items, and where one more or less would wrap.
BOUNDS = [LEAST, LEAST + 1, -1, 0, 1, 2, 20, 38, 39, 40, 41, MOST - 1, MOST]


@dppy.kernel
def less(out, n, m):
    i = dppy.get_global_id(0)
    if m < i and i < n:
        out[i] += i + 1


@dppy.kernel
def less_equal(out, n, m):
    i = dppy.get_global_id(0)
    if m <= i <= n:
        out[i] += i + 1


@dppy.kernel
def early(out, n, m):
    i = dppy.get_global_id(0)
    if i >= n or i <= m:
        return
    out[i] += i + 1


@dppy.kernel
def two_returns(out, n, m):
    i = dppy.get_global_id(0)
    if n <= i:
        return
    last = n - 1
    if not (i > m or i == last):
        return
    out[i] += i + 1


@dppy.kernel
def differs(out, n, m):
    i = dppy.get_global_id(0)
    if i == n or i == 0 or m == i:
        return
    out[i] += i + 1


@dppy.kernel
def equals(out, n, m):
    i = dppy.get_global_id(0)
    if i == n:
        if m < 20 or n > 3:
            out[i] += i + 1


@dppy.kernel
def equals_both(out, n, m):
    i = dppy.get_global_id(0)
    if i == n and m == i:
        out[i] += i + 1


@dppy.kernel
def named(out, n, m):
    i = dppy.get_global_id(0)
    size = n - 1 if n > m else m
    inside = i < size and n != m
    if inside:
        if i != 7:
            out[i] += i + 1


@dppy.kernel
def of_a_changed_parameter(out, n, m):
    i = dppy.get_global_id(0)
    n = n // 2
    m += 1
    if m < i < n:
        n += 1
        out[i] += i + n - n + 1


@dppy.kernel
def of_memory(out, n, m):
    i = dppy.get_global_id(0)
    before = out[i]
    if i < n and before < 20 and out[i] != m:
        out[i] = before + i + 1


@dppy.kernel
def of_floats(out, n, m):
    i = dppy.get_global_id(0)
    half = m * 0.5
    if not (half >= i) and i < n:
        out[i] += i + 1


@dppy.kernel
def with_a_rest(out, n, m):
    i = dppy.get_global_id(0)
    if i < n:
        out[i] += i + 1
    if i > m:
        out[i] += 100


@dppy.kernel
def with_an_alternative(out, n, m):
    i = dppy.get_global_id(0)
    if i < n:
        out[i] += i + 1
    else:
        out[i] -= m


@dppy.kernel
def after_a_store(out, n, m):
    i = dppy.get_global_id(0)
    out[i] += m % 3
    if i < n:
        out[i] += i + 1


KERNELS = [
    less, less_equal, early, two_returns, differs, equals, equals_both, named,
    of_a_changed_parameter, of_memory, of_floats, with_a_rest, with_an_alternative, after_a_store,
]  # fmt: skip


@every_backend
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_condition_holds_for_every_bound(backend, kernel):
    if backend.simulates:
        pytest.skip("the simulator gives the expected values")
    for n, m in itertools.product(BOUNDS, repeat=2):
        if backend.marker == "sycl" and n <= LEAST + 1:
            continue  # Intel's compiler makes a wrong bound of it, and the process ends
        expected, out = np.arange(40), np.arange(40)
        kernel.simulate[40](expected, n, m)
        (out,) = backend.run(kernel, 40, None, out, n, m)
        assert out.tolist() == expected.tolist(), (n, m)


@pytest.mark.host
@pytest.mark.parametrize(
    ("kernel", "is_bound"),
    [(less, True), (less_equal, True), (early, True), (two_returns, True), (differs, True),
     (equals, True), (named, True), (of_a_changed_parameter, False), (with_a_rest, False),
     (with_an_alternative, False), (after_a_store, False)],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_source_has_a_bound_for_the_condition(kernel, is_bound):
    source = kernel.source("c++", signature="void(int64[::1], int64, int64)", device="host")
    assert ("long long begin" in source) == is_bound, source


@dppy.kernel
def of_local_ids(out, n, m):
    i, lane = dppy.get_global_id(0), dppy.get_local_id(0)
    if lane == n or lane != m:
        out[i] += 1
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    if lane == n:
        if np.int32(i) == m:
            out[i] += 2


@every_dialect
@pytest.mark.parametrize("n", [-7, -1, 0, 3, 19, 20])
@pytest.mark.parametrize("m", [-1, 3, 23])
def test_equal_ids(backend, n, m):
    i = np.arange(40)
    for kernel, local, expected in (
        (equals, None, i + (i + 1) * ((i == n) & (m < 20 or n > 3))),
        (equals_both, None, i + (i + 1) * ((i == n) & (i == m))),
        (of_local_ids, 20, i + ((i % 20 == n) | (i % 20 != m)) + 2 * ((i % 20 == n) & (i == m))),
    ):
        (out,) = backend.run(kernel, 40, local, i, n, m)
        assert out.tolist() == expected.tolist()


@dppy.kernel
def inner(out, a):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    n, m = a.shape
    if 0 < i < n - 1 and 0 < j < m - 1:
        out[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]


@dppy.kernel
def outer(out, a):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    if i == 0 or j == 0 or i == a.shape[0] - 1 or j == a.shape[1] - 1:
        return
    out[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]


@dppy.kernel
def triangle(out, a):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    if i < a.shape[0] and j < a.shape[1] and i <= j:
        out[i, j] = a[i, j]


@dppy.kernel
def diagonal_left_out(out, a):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    if i >= a.shape[0] or j >= a.shape[1]:
        return
    if i != j:
        out[i, j] = a[i, j]


@every_backend
@pytest.mark.parametrize("sizes", [(1, 1), (2, 5), (9, 7), (64, 33)], ids=str)
@pytest.mark.parametrize(
    "kernel", [inner, outer, triangle, diagonal_left_out], ids=lambda kernel: kernel.__name__
)
def test_rows_are_bounded(backend, kernel, sizes):
    a = np.random.default_rng(1).integers(-99, 99, sizes)
    launch = tuple(size + 3 for size in sizes) if kernel in (triangle, diagonal_left_out) else sizes
    expected = np.zeros_like(a)
    kernel.simulate[launch, None](expected, a)
    out, _ = backend.run(kernel, launch, None, np.zeros_like(a), a)
    assert np.array_equal(out, expected)


@dppy.kernel
def sum_of_rows(out, a, n, m):
    i = dppy.get_global_id(0)
    if i >= n:
        return
    total = np.float32(0)
    for k in range(a.shape[1]):
        total += a[i, k]
    out[i] = total


@dppy.kernel
def sum_of_later_rows(out, a, n, m):
    i = dppy.get_global_id(0)
    if 0 < i < n:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k]
        out[i] = total


@dppy.kernel
def sum_of_some_rows(out, a, n, m):
    i = dppy.get_global_id(0)
    if m <= i <= n and i < out.shape[0]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k]
        out[i] = total


@every_backend
@pytest.mark.parametrize(
    "kernel", [sum_of_rows, sum_of_later_rows, sum_of_some_rows], ids=lambda each: each.__name__
)
def test_loop_is_guarded(backend, kernel):
    """Whose work-items the host interleaves."""
    a = np.random.default_rng(2).random((40, 20), "f4")
    sums = np.add.accumulate(a, axis=1)[:, -1]
    for n, m in itertools.product(BOUNDS, repeat=2):
        if backend.simulates and (n > 41 or m > 41 or n < -1 or m < -1):
            continue
        if backend.marker == "sycl" and n <= LEAST + 1:
            continue
        if kernel is sum_of_rows and n > 40:
            continue
        i = np.arange(40)
        chosen = {
            sum_of_rows: i < n,
            sum_of_later_rows: (0 < i) & (i < n),
            sum_of_some_rows: (m <= i) & (i <= n),
        }[kernel]
        out, _ = backend.run(kernel, 40, None, np.zeros(40, "f4"), a, n, m)
        expected = np.where(chosen, sums, 0)
        assert np.allclose(out, expected, rtol=1e-6, atol=0), (n, m)
        if backend.dialect == "c++":
            assert out.tolist() == expected.tolist(), "additions in the order of the source"


@dppy.kernel
def quotient_after_its_divisor(out, n):
    i = dppy.get_global_id(0)
    if n > 0 and i < out.shape[0] // n:
        out[i] += i + 1


@dppy.kernel
def quotient_after_a_bound(out, n):
    i = dppy.get_global_id(0)
    if i < n and i < out.shape[0] // n:
        out[i] += i + 1


@dppy.kernel
def quotient_after_a_return(out, n):
    i = dppy.get_global_id(0)
    if n <= 0:
        return
    if i >= out.shape[0] // n:
        return
    out[i] += i + 1


@dppy.kernel
def quotient_in_a_condition(out, n):
    i = dppy.get_global_id(0)
    inside = n > 0 and out.shape[0] // n > 3 and i < 20
    if inside:
        out[i] += i + 1


@dppy.kernel
def quotient_after_a_term_that_stays(out, n):
    i = dppy.get_global_id(0)
    if i + 1 < n and i < out.shape[0] // n:
        out[i] += i + 1


@dppy.kernel
def quotient_after_a_return_that_stays(out, n):
    i = dppy.get_global_id(0)
    if i + 1 >= n:
        return
    if i >= out.shape[0] // n:
        return
    out[i] += i + 1


@dppy.kernel
def quotient_that_is_excluded(out, n):
    i = dppy.get_global_id(0)
    if n > 0 and i != out.shape[0] // n:
        out[i] += i + 1


@dppy.kernel
def quotient_as_a_stop(out, n):
    i = dppy.get_global_id(0)
    if n > 0:
        for k in range(i, out.shape[0] // n, dppy.get_global_size(0)):
            out[k] += k + 1


@every_backend
@pytest.mark.parametrize("n", [-1, 0, 1, 3, 100])
@pytest.mark.parametrize(
    "kernel",
    [
        quotient_after_its_divisor,
        quotient_after_a_bound,
        quotient_after_a_return,
        quotient_in_a_condition,
        quotient_after_a_term_that_stays,
        quotient_after_a_return_that_stays,
        quotient_that_is_excluded,
        quotient_as_a_stop,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_term_is_evaluated_after_those_before_it(backend, kernel, n):
    expected = np.arange(40)
    kernel.simulate[40](expected, n)
    (out,) = backend.run(kernel, 40, None, np.arange(40), n)
    assert out.tolist() == expected.tolist()


@dppy.kernel
def equals_a_small_integer(out, m):
    i = dppy.get_global_id(0)
    if np.int8(i) == m:
        out[i] = 1


@dppy.kernel
def equals_before_it_is_assigned(out, n, m):
    if n == m:
        out[0] = 1
    n = dppy.get_global_id(0)
    out[n + 1] = 2


@every_dialect
def test_equality_of_a_number_that_may_be_negative(backend):
    (out,) = backend.run(equals_a_small_integer, 300, None, np.zeros(300, "i8"), -1)
    assert np.flatnonzero(out).tolist() == [255]
    (out,) = backend.run(equals_before_it_is_assigned, 1, None, np.zeros(2, "i8"), -1, -1)
    assert out.tolist() == [1, 2]
