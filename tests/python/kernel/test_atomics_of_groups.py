"""Atomics on elements of local memory, on arrays of one to three dimensions, of every dtype that
has them; and by reference."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import BACKENDS, every_backend, every_compiler, every_dialect

pytestmark = pytest.mark.numpy

INTEGERS = ["int32", "uint32", "int64", "uint64"]
DTYPES = [*INTEGERS, "float32", "float64"]
GROUP, GROUPS = 24, 3
SYCL = next(each for each in BACKENDS if each.dialect == "sycl")


@functools.cache
def in_local_memory(name: str):
    """The updates on a local array of three dimensions; each operation has elements of its own."""
    dtype = getattr(dppy, name)

    @dppy.kernel
    def kernel(out, old, x):
        i, lid = dppy.get_global_id(0), dppy.get_local_id(0)
        cells = dppy.local.array((2, 3, 2), dtype)
        if lid < 12:
            cells[lid // 6, lid // 2 % 3, lid % 2] = 50
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        old[0, i] = dppy.atomic.add(cells, (0, 0, 0), x[i])
        old[1, i] = dppy.atomic.sub(cells, (0, 0, -1), 1)
        dppy.atomic.min(cells, (0, 1, 0), x[i])
        dppy.atomic.max(cells, (0, 1, 1), x[i])
        old[2, i] = dppy.atomic.exchange(cells, (0, 2, 0), x[i])
        dppy.atomic.store(cells, (0, 2, 1), 7)
        seen = dppy.atomic.load(cells, (1, 0, 0))
        while True:
            before = dppy.atomic.compare_exchange(cells, (1, 0, 0), seen, seen + x[i])
            if before == seen:
                break
            seen = before
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        if lid < 12:
            out[dppy.get_group_id(0), lid] = cells[lid // 6, lid // 2 % 3, lid % 2]

    return kernel


def check_in_local_memory(backend, name: str) -> None:
    x = (np.arange(GROUPS * GROUP) * 37 % 101).astype(name)
    out, old, _ = backend.run(
        in_local_memory(name),
        x.size,
        GROUP,
        np.zeros((GROUPS, 12), name),
        np.zeros((3, x.size), name),
        x,
    )
    for number, part in enumerate(x.reshape(GROUPS, GROUP)):
        mine = old[:, number * GROUP : (number + 1) * GROUP]
        sums, least, greatest, swapped = (
            50 + part.sum(),
            min(50, part.min()),
            max(50, part.max()),
            out[number, 4],
        )
        assert out[number].tolist() == [
            sums,
            50 - GROUP,
            least,
            greatest,
            swapped,
            7,
            sums,
            50,
            50,
            50,
            50,
            50,
        ]
        found = sorted(
            zip(mine[0].tolist(), part.tolist(), strict=True)
        )  # the partial sums, in the order of the additions
        assert [old for old, _ in found] == [
            50 + sum(each for _, each in found[:k]) for k in range(GROUP)
        ]
        assert sorted(mine[1].tolist(), reverse=True) == [50 - k for k in range(GROUP)]
        assert sorted([*mine[2].tolist(), swapped]) == sorted([50, *part.tolist()])


@every_backend
@pytest.mark.parametrize("name", DTYPES)
def test_atomics_in_local_memory(backend, name):
    check_in_local_memory(backend, name)


@pytest.mark.sycl
@pytest.mark.parametrize("name", ["int32", "uint64", "float32"])
def test_atomics_in_local_memory_of_sycl(name):
    check_in_local_memory(SYCL, name)


@functools.cache
def bits_in_local_memory(name: str):
    dtype = getattr(dppy, name)

    @dppy.kernel
    def kernel(out):
        lid, bit = dppy.get_local_id(0), dtype(1) << dppy.get_local_id(0)
        cells = dppy.local.array((3, 1), dtype)
        if lid < 3:
            cells[lid, 0] = dtype(2**31 - 1) if lid == 0 else dtype(0)
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        dppy.atomic.and_(cells, (0, 0), ~bit)
        dppy.atomic.or_(cells, (1, 0), bit)
        dppy.atomic.xor(cells, (2, 0), dtype(1) << (lid % 4))
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        if lid < 3:
            out[lid] = cells[lid, 0]

    return kernel


@every_backend
@pytest.mark.parametrize("name", INTEGERS)
def test_bits_in_local_memory(backend, name):
    (out,) = backend.run(bits_in_local_memory(name), 10, 10, np.zeros(3, name))
    assert out.tolist() == [(2**31 - 1) & ~1023, 1023, 0b11]


@dppy.kernel
def add_in_one(a, x):
    dppy.atomic.add(a, dppy.get_global_id(0) % 5, x)


@dppy.kernel
def add_in_two(a, x):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    dppy.atomic.add(a, (i % 2, j % 3), x)


@dppy.kernel
def add_in_three(a, x):
    i, j, k = dppy.get_global_id(0), dppy.get_global_id(1), dppy.get_global_id(2)
    dppy.atomic.add(a, (i % 2, j % 3, k % 2), x)


@dppy.kernel
def sub_in_one(a, x):
    dppy.atomic.sub(a, dppy.get_global_id(0) % 5, x)


@dppy.kernel
def sub_in_two(a, x):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    dppy.atomic.sub(a, (i % 2, j % 3), x)


@dppy.kernel
def sub_in_three(a, x):
    i, j, k = dppy.get_global_id(0), dppy.get_global_id(1), dppy.get_global_id(2)
    dppy.atomic.sub(a, (i % 2, j % 3, k % 2), x)


@every_backend
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(
    "kernel,extents",
    [
        (add_in_one, (5,)),
        (add_in_two, (2, 3)),
        (add_in_three, (2, 3, 2)),
        (sub_in_one, (5,)),
        (sub_in_two, (2, 3)),
        (sub_in_three, (2, 3, 2)),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_elements_of_one_to_three_dimensions(backend, kernel, extents, name):
    """Work-items and elements of as many dimensions, with gaps between the elements in memory."""
    ranges = [(20,), (6, 9), (4, 6, 4)][len(extents) - 1]
    start = np.full(extents, 1000, name)
    expected = start.copy()
    sign = 1 if kernel.__name__.startswith("add") else -1
    for place in itertools.product(*(range(n) for n in ranges)):
        expected[tuple(i % n for i, n in zip(place, extents, strict=True))] += np.array(
            3 * sign
        ).astype(name)
    found, *_ = backend.run(kernel, ranges, None, start, 3)
    assert np.array_equal(found, expected)
    array = backend.array(np.repeat(start, 2, axis=-1))
    backend.launch(kernel, ranges, None, array[..., ::2], 3)
    both = array.copy_to_host().numpy()
    assert np.array_equal(both[..., ::2], expected)
    assert np.array_equal(both[..., 1::2], start)


@functools.cache
def with_what_is_no_number(name: str):
    dtype = getattr(dppy, name)

    @dppy.kernel
    def kernel(a):
        lid = dppy.get_local_id(0)
        cells = dppy.local.array(2, dtype)
        if lid < 2:
            cells[lid] = a[lid]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        dppy.atomic.add(cells, 0, 1)
        dppy.atomic.sub(cells, 1, 1)
        dppy.atomic.add(a, 2, 1)
        dppy.atomic.sub(a, 3, 1)
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        if lid < 2:
            a[lid] = cells[lid]

    return kernel


@every_backend
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_nan_does_not_hang_atomic_loops(backend, name):
    """A compare-and-swap of values instead of bits would hang."""
    (a,) = backend.run(with_what_is_no_number(name), 8, 8, np.full(4, np.nan, name))
    assert np.isnan(a).all()


@dppy.kernel
def swapped(a, found, expected, desired):
    i = dppy.get_global_id(0)
    found[i] = dppy.atomic.compare_exchange(a, i, expected[i], desired[i])


@every_dialect
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_compare_exchange_compares_bits(backend, name):
    start = np.array([0.0, -0.0, np.nan, 1.5, 2.5], name)
    expected = np.array([-0.0, -0.0, np.nan, 1.5, 1.5], name)
    a, found, *_ = backend.run(
        swapped, 5, None, start, np.zeros(5, name), expected, np.full(5, 9, name)
    )
    assert np.array_equal(a, np.array([0.0, 9, 9, 9, 2.5], name))
    assert found.tobytes() == start.tobytes()


@dppy.kernel
def by_reference(a, old):
    i = dppy.get_global_id(0)
    total = dppy.AtomicRef(a, 0)
    rest = dppy.AtomicRef(a, index=1)
    old[0, i] = total.fetch_add(i)
    rest.fetch_sub(i)
    dppy.AtomicRef(a, 2).fetch_min(i)
    dppy.AtomicRef(a, 3).fetch_max(i)
    dppy.AtomicRef(a, 4).fetch_and(~(1 << i))
    dppy.AtomicRef(a, 5).fetch_or(1 << i)
    dppy.AtomicRef(a, 6).fetch_xor(1 << (i % 4))
    old[1, i] = dppy.AtomicRef(a, 7).exchange(i + 1)
    counter = dppy.AtomicRef(a, 8)
    seen = counter.load()
    while True:
        before = counter.compare_exchange(seen, seen + 2)
        if before == seen:
            break
        seen = before
    dppy.AtomicRef(a, 9).store(77)


@every_dialect
@pytest.mark.parametrize("name", ["int32", "int64"])
def test_atomic_reference_methods(backend, name):
    start = np.array([0, 0, 5, 5, 2047, 0, 0, 0, 0, 0], name)
    a, old = backend.run(by_reference, 10, None, start, np.zeros((2, 10), name))
    assert a.tolist() == [45, -45, 0, 9, 1024, 1023, 0b11, a[7], 20, 77]
    assert sorted([*old[1].tolist(), a[7]]) == list(range(11))
    total = 0
    for before, i in sorted(
        zip(old[0].tolist(), range(10), strict=True)
    ):  # in the order in which they came
        assert before == total
        total += i


def _ordered(order: str, scope: str):
    @dppy.kernel
    def kernel(a, out):
        i = dppy.get_global_id(0)
        dppy.atomic.add(a, 0, 1, order=order, scope=scope)
        seen = dppy.atomic.load(a, 1, order=order, scope=scope)
        while True:
            before = dppy.atomic.compare_exchange(a, 1, seen, seen + 3, order=order, scope=scope)
            if before == seen:
                break
            seen = before
        dppy.atomic.store(out, i, i, order=order, scope=scope)
        dppy.atomic.max(a, 2, i, order=order, scope=scope)
        out[8 + i] = dppy.atomic.exchange(a, 3, i + 1, order=order, scope=scope)

    return kernel


ORDERS = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"]
SCOPES = ["work_item", "sub_group", "work_group", "device", "system"]


@every_compiler
@pytest.mark.parametrize("name", ["int32", "float64"])
def test_atomic_orders_and_scopes_are_accepted(backend, name):
    """Within one group all orders and scopes act alike; no compiler refuses any."""
    for order, scope in itertools.product(ORDERS, SCOPES):
        items = 1 if scope in ("work_item", "sub_group") else 8  # others may take no part
        a, out = backend.run(
            _ordered(order, scope), items, items, np.zeros(4, name), np.zeros(16, name)
        )
        assert a[:3].tolist() == [items, 3 * items, items - 1]
        assert out[:items].tolist() == list(range(items))
        assert sorted([*out[8 : 8 + items].tolist(), a[3]]) == list(range(items + 1))


@pytest.mark.sycl
@pytest.mark.parametrize("order", ORDERS)
def test_atomic_orders_of_sycl_are_accepted(order):
    a, out = SYCL.run(_ordered(order, "device"), 8, 8, np.zeros(4, "i4"), np.zeros(16, "i4"))
    assert a[:3].tolist() == [8, 24, 7]
    assert out[:8].tolist() == list(range(8))


@dppy.kernel
def sum_of_all_groups(out, parts, arrived, x):
    """The last group reads the writes of all others, which needs acq_rel."""
    lid, groups = dppy.get_local_id(0), dppy.get_num_groups(0)
    is_last = dppy.local.array(1, dppy.int32)
    total = dppy.group.reduce(x[dppy.get_global_id(0)], "add")
    if lid == 0:
        parts[dppy.get_group_id(0)] = total
        before = dppy.atomic.add(arrived, 0, 1, order="acq_rel", scope="device")
        is_last[0] = before == groups - 1
    dppy.barrier()
    if is_last[0] != 0 and lid == 0:
        whole = total * 0
        for k in range(groups):
            whole += parts[k]
        out[0] = whole


@every_compiler
def test_acquire_sees_writes_before_a_release(backend):
    groups = 500
    x = np.arange(groups * 32, dtype="i8")
    for _ in range(20):
        (out, *_) = backend.run(
            sum_of_all_groups,
            x.size,
            32,
            np.zeros(1, "i8"),
            np.zeros(groups, "i8"),
            np.zeros(1, "i4"),
            x,
        )
        assert out[0] == x.sum()
