"""Atomics: no update is lost, and the old value is returned. For local memory see
test_atomics_of_groups.py."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import (
    every_backend,
    every_compiled_dialect,
    every_compiler,
    every_dialect,
)
from support.places import values_of

pytestmark = pytest.mark.numpy

DTYPES = ["int32", "uint32", "int64", "uint64", "float32", "float64"]
ITEMS = 96


@dppy.kernel
def add(a):
    dppy.atomic.add(a, 0, 1)


@dppy.kernel
def sub(a):
    dppy.atomic.sub(a, 0, 1)


@every_backend
@pytest.mark.parametrize("dtype", DTYPES)
def test_add_and_sub(backend, dtype):
    assert backend.run(add, ITEMS, 8, np.zeros(1, dtype))[0].tolist() == [ITEMS]
    assert backend.run(sub, ITEMS, 8, np.full(1, ITEMS, dtype))[0].tolist() == [0]


@dppy.kernel
def add_2d(a):
    dppy.atomic.add(a, (dppy.get_global_id(0) % 2, -1), 1)


@dppy.kernel
def add_3d(a):
    i = dppy.get_global_id(0)
    dppy.atomic.add(a, (i % 2, 0, i % 3), 1)


@every_dialect
def test_elements_of_more_dimensions(backend):
    assert backend.run(add_2d, 12, None, np.zeros((2, 3), "i4"))[0].tolist() == [
        [0, 0, 6],
        [0, 0, 6],
    ]
    expected = np.zeros((2, 2, 3), "i4")
    for i in range(12):
        expected[i % 2, 0, i % 3] += 1
    assert np.array_equal(backend.run(add_3d, 12, None, np.zeros((2, 2, 3), "i4"))[0], expected)


@dppy.kernel
def old_values(seen, counter):
    seen[dppy.get_global_id(0)] = dppy.atomic.add(counter, 0, 2)


@every_backend
@pytest.mark.parametrize("dtype", DTYPES)
def test_atomic_operation_returns_the_old_value(backend, dtype):
    seen, counter = backend.run(old_values, ITEMS, None, np.zeros(ITEMS, dtype), np.zeros(1, dtype))
    assert sorted(seen.tolist()) == [2 * i for i in range(ITEMS)]
    assert counter[0] == 2 * ITEMS


@dppy.kernel
def others(a, x):
    i = dppy.get_global_id(0)
    dppy.atomic.min(a, 0, x[i])
    dppy.atomic.max(a, 1, x[i])


@every_backend
@pytest.mark.parametrize("dtype", DTYPES)
def test_min_and_max(backend, dtype):
    x = (np.arange(ITEMS) * 37 % 101).astype(dtype)
    (a, _) = backend.run(others, ITEMS, 8, np.array([50, 50], dtype), x)
    assert a.tolist() == [x.min(), x.max()]


@dppy.kernel
def of_bits(a):
    i = dppy.get_global_id(0)
    dppy.atomic.and_(a, 0, ~(1 << i))
    dppy.atomic.or_(a, 1, 1 << i)
    dppy.atomic.xor(a, 2, 1 << (i % 4))


@every_backend
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_bitwise_atomics(backend, dtype):
    start = np.array([2**31 - 1, 0, 0], dtype)
    (a,) = backend.run(of_bits, 10, None, start)
    assert a.tolist() == [(2**31 - 1) & ~1023, 1023, 0b11]


@dppy.kernel
def lock_free_max(a, x):
    i = dppy.get_global_id(0)
    seen = dppy.atomic.load(a, 0)
    while seen < x[i]:
        before = dppy.atomic.compare_exchange(a, 0, seen, x[i])
        if before == seen:
            break
        seen = before


@every_backend
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_compare_exchange_loop_finds_maximum(backend, dtype):
    x = (np.arange(ITEMS) * 37 % 101).astype(dtype)
    (a, _) = backend.run(lock_free_max, ITEMS, None, np.zeros(1, dtype), x)
    assert a[0] == x.max()


@dppy.kernel
def exchanged(a, out):
    i = dppy.get_global_id(0)
    out[i] = dppy.atomic.exchange(a, 0, i + 1)


@every_dialect
def test_exchange_returns_each_old_value_once(backend):
    a, out = backend.run(exchanged, 16, None, np.zeros(1, "i4"), np.zeros(16, "i4"))
    assert sorted([*out.tolist(), a[0]]) == list(range(17))


@every_dialect
def test_atomic_add_to_nan_terminates(backend):
    """A compare-and-swap of values instead of bits would hang."""
    (out,) = backend.run(add, 8, None, np.array([np.nan], "f4"))
    assert np.isnan(out[0])


@dppy.kernel
def stated_order(a, out):
    i = dppy.get_global_id(0)
    dppy.atomic.add(a, 0, 1, order="seq_cst", scope="device")
    dppy.atomic.store(out, i, i, order="release", scope="work_group")


@every_dialect
def test_order_and_scope(backend):
    a, out = backend.run(stated_order, 8, None, np.zeros(1, "i4"), np.zeros(8, "i4"))
    assert a[0] == 8
    assert out.tolist() == list(range(8))


@dppy.kernel
def by_reference(a):
    i = dppy.get_global_id(0)
    total = dppy.AtomicRef(a, 0)
    total.fetch_add(i)
    greatest = dppy.AtomicRef(a, 1)
    greatest.fetch_max(i)


@every_backend
def test_atomic_references(backend):
    (a,) = backend.run(by_reference, 10, None, np.zeros(2, "i4"))
    assert a.tolist() == [45, 9]


@dppy.kernel
def load_by_function(out, x):
    i = dppy.get_global_id(0)
    out[i] = dppy.atomic.load(x, i)


@dppy.kernel
def load_by_reference(out, x):
    i = dppy.get_global_id(0)
    cell = dppy.AtomicRef(x, i)
    out[i] = cell.load()


@dppy.kernel
def load_with_orders(out, x):
    i = dppy.get_global_id(0)
    a = dppy.atomic.load(x, i, order="acquire", scope="device")
    b = dppy.atomic.load(x, i, order="seq_cst", scope="system")
    out[i] = a + b - dppy.atomic.load(x, i, scope="work_group")


@dppy.func
def loaded_by_a_function(x, i):
    return dppy.atomic.load(x, i)


@dppy.kernel
def load_in_a_device_function(out, x):
    i = dppy.get_global_id(0)
    out[i] = loaded_by_a_function(x, i)


LOADS = [load_by_function, load_by_reference, load_with_orders, load_in_a_device_function]


@every_backend
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", LOADS, ids=lambda kernel: kernel.__name__)
def test_load_of_unwritten_array(backend, kernel, dtype):
    out, x = backend.run(kernel, 10, None, np.zeros(10, dtype), np.arange(10, dtype=dtype))
    assert out.tolist() == x.tolist() == list(range(10))


@every_dialect
@pytest.mark.parametrize("dtype", ["uint32", "int64", "float64"])
def test_load_of_an_unwritten_array_in_every_dialect(backend, dtype):
    out, _ = backend.run(
        load_by_function, 10, None, np.zeros(10, dtype), np.arange(10, dtype=dtype)
    )
    assert out.tolist() == list(range(10))


@every_dialect
@pytest.mark.parametrize("dtype", DTYPES)
def test_load_of_read_only_memory(backend, dtype, tmp_path):
    """Memory that must not be written, even with its present value: a mapped file."""
    np.arange(1024, dtype=dtype).tofile(tmp_path / "values")
    x = np.memmap(tmp_path / "values", dtype, mode="r")
    out = backend.array(np.zeros(10, dtype))
    backend.launch(load_by_function, 10, None, out, x)
    assert values_of(out).tolist() == list(range(10))


CONSTANTS = np.array([3, 5, 7], "i8")


@dppy.kernel
def load_of_a_captured_array(out):
    i = dppy.get_global_id(0)
    out[i] = dppy.atomic.load(CONSTANTS, i) + dppy.atomic.load(CONSTANTS, 0, order="acquire")


@every_dialect
def test_load_of_a_captured_array(backend):
    assert backend.run(load_of_a_captured_array, 3, None, np.zeros(3, "i8"))[0].tolist() == [
        6,
        8,
        10,
    ]


@dppy.kernel
def load_of_local_memory(out, memory):
    dppy.atomic.load(memory, 0)
    out[dppy.get_global_id(0)] = len(memory)


@every_compiled_dialect
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32"])
def test_load_of_unwritten_local_memory(backend, dtype):
    out = backend.array(np.zeros(4, "i8"))
    backend.launch(load_of_local_memory, 4, 2, out, dppy.LocalAccessor(5, dtype))
    assert values_of(out).tolist() == [5] * 4


@every_compiler
@pytest.mark.parametrize("kernel", [add, sub], ids=lambda kernel: kernel.__name__)
def test_atomic_that_writes_read_only_memory_is_refused(backend, kernel):
    x = np.zeros(10, "i4")
    x.flags.writeable = False
    with pytest.raises(ep.KernelError, match="read-only"), ep.device_context(backend.selector):
        backend.launch(kernel, 4, None, x)
