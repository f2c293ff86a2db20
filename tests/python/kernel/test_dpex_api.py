"""numba-dpex's kernel API: items as the first parameter, Range and NdRange, call_kernel, AtomicRef,
group_barrier.
"""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dpex
from kernel.backends import every_backend
from support.places import values_of

pytestmark = pytest.mark.numpy


@dpex.kernel
def add(item: dpex.Item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] + b[i]


@every_backend
def test_item_parameter_takes_no_argument(backend):
    a = np.arange(6, dtype="f4")
    *_, c = backend.run(add, dpex.Range(6), None, a, a, np.zeros(6, "f4"))
    assert c.tolist() == (2 * a).tolist()


@dpex.kernel
def linear_ids(nd_item: dpex.NdItem, out):
    group = nd_item.get_group()
    i = nd_item.get_global_linear_id()
    out[i, 0] = nd_item.get_local_linear_id()
    out[i, 1] = group.get_group_linear_id()
    out[i, 2] = nd_item.get_global_range(0) * 10 + nd_item.get_global_range(1)
    out[i, 3] = nd_item.get_local_range(0) * 10 + nd_item.get_local_range(1)
    out[i, 4] = group.get_group_range(0) * 10 + group.get_group_range(1)


@every_backend
def test_linear_ids(backend):
    (out,) = backend.run(linear_ids, (4, 6), (2, 3), np.zeros((24, 5), "i8"))
    for i, j in np.ndindex(4, 6):
        assert out[i * 6 + j].tolist() == [i % 2 * 3 + j % 3, i // 2 * 2 + j // 3, 46, 23, 22]


@dpex.kernel
def reversed_in_groups(nd_item: dpex.NdItem, x, scratch):
    i, own = nd_item.get_global_id(0), nd_item.get_local_id(0)
    mine = dpex.PrivateArray(1, dpex.float32)
    mine[0] = x[i]
    scratch[own] = mine[0]
    dpex.group_barrier(nd_item.get_group())
    x[i] = scratch[nd_item.get_local_range(0) - 1 - own]


@every_backend
def test_local_accessors_and_group_barriers(backend):
    x = np.arange(8, dtype="f4")
    (out,) = backend.run(reversed_in_groups, 8, 4, x, dpex.LocalAccessor(4, dpex.float32))
    assert out.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


@dpex.kernel
def counts(item: dpex.Item, a):
    total = dpex.AtomicRef(a, 0)
    total.fetch_add(item.get_linear_id())


@every_backend
def test_atomic_references(backend):
    (a,) = backend.run(counts, (3, 4), None, np.zeros(1, "i8"))
    assert a[0] == sum(range(12))


@dpex.kernel
def counts_in_one_line(item: dpex.Item, a, old):
    i = item.get_linear_id()
    dpex.AtomicRef(a, i % 2, memory_order="acq_rel").fetch_add(i)
    old[i] = dpex.AtomicRef(a, 2).fetch_max(i) - dpex.AtomicRef(a).load() * 0


@every_backend
def test_atomic_references_without_a_name(backend):
    (a, old) = backend.run(counts_in_one_line, 8, None, np.zeros(3, "i8"), np.full(8, -1, "i8"))
    assert a.tolist() == [0 + 2 + 4 + 6, 1 + 3 + 5 + 7, 7]
    assert ((old >= 0) & (old < 8)).all()


@pytest.mark.host
def test_call_kernel():
    a = ep.asarray(np.arange(6, dtype="f4"), device="host", copy=True)
    c = ep.zeros(6, "float32", device="host")
    dpex.call_kernel(add, dpex.Range(6), a, a, c)
    assert values_of(c).tolist() == [0, 2, 4, 6, 8, 10]
    event = dpex.call_kernel_async(add, dpex.NdRange((6,), (3,)), [], c, c, c)
    event.wait()
    assert values_of(c).tolist() == [0, 4, 8, 12, 16, 20]


def test_ranges_have_one_to_three_dimensions():
    with pytest.raises(ValueError, match="1 to 3"):
        dpex.Range(1, 2, 3, 4)
    with pytest.raises(ValueError, match="as many"):
        dpex.NdRange((4, 4), (2,))
