"""``entrepot.numba_dpex``: a program for each name that is served, and the errors of others.

Programs run in compiled kernels, in the simulator and in plain Python.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from entrepot import numba_dpex as dpex
from entrepot.numba_dpex import kernel_api as kapi
from entrepot.numba_dpex.core import exceptions
from entrepot.numba_dpex.core.types.kernel_api.index_space_ids import ItemType, NdItemType
from kernel.backends import every_backend
from support.places import values_of

pytestmark = pytest.mark.numpy


# ------------------------------------------------------------ items and groups


def store_ids(item: kapi.NdItem, out):
    group = item.get_group()
    i = item.get_global_linear_id()
    out[i, 0] = item.get_global_id(1) * 100 + item.get_local_id(1)
    out[i, 1] = item.get_local_linear_id()
    out[i, 2] = item.get_global_linear_range() * 100 + item.get_local_linear_range()
    out[i, 3] = group.get_group_id(0) * 10 + group.get_group_id(1)
    out[i, 4] = group.get_group_linear_id()
    out[i, 5] = group.get_group_range(0) * 10 + group.get_group_linear_range()
    out[i, 6] = group.get_local_range(1) * 10 + group.get_local_linear_range()
    out[i, 7] = item.dimensions * 10 + group.dimensions
    out[i, 8] = group.leader
    out[i, 9] = item.get_global_range(1) * 10 + item.get_local_range(0)


def expected_ids():
    out = np.zeros((24, 10), "i8")
    for i, j in np.ndindex(4, 6):
        own, group = (i % 2) * 3 + j % 3, (i // 2, j // 3)
        out[i * 6 + j] = [
            j * 100 + j % 3, own, 24 * 100 + 6, group[0] * 10 + group[1], group[0] * 2 + group[1],
            24, 36, 22, own == 0, 62,
        ]  # fmt: skip
    return out


@every_backend
def test_methods_of_items_and_groups(backend):
    (out,) = backend.run(dpex.kernel(store_ids), (4, 6), (2, 3), np.zeros((24, 10), "i8"))
    assert np.array_equal(out, expected_ids())


def test_methods_of_items_and_groups_in_python():
    out = np.zeros((24, 10), "i8")
    kapi.call_kernel(store_ids, kapi.NdRange((4, 6), (2, 3)), out)
    assert np.array_equal(out, expected_ids())


def store_ranges(item: kapi.Item, out):
    i = item.get_linear_id()
    out[i, 0] = item.get_id(0) * 10 + item.get_id(1)
    out[i, 1] = item.get_range(0) * 10 + item.get_range(1)
    out[i, 2] = item.get_linear_range() * 10 + item.dimensions


@every_backend
def test_item_of_a_range(backend):
    (out,) = backend.run(dpex.kernel(store_ranges), (2, 3), None, np.zeros((6, 3), "i8"))
    plain = np.zeros((6, 3), "i8")
    kapi.call_kernel(store_ranges, kapi.Range(2, 3), plain)
    assert out.tolist() == plain.tolist()
    assert plain[4].tolist() == [11, 23, 62]


@dpex.device_func
def add_position(numbers, amount, item, scale=1):
    numbers[item.get_global_id(0)] += amount * scale * item.get_local_id(0)


@dpex.device_func
def of_group(group: kapi.Group):
    return group.get_group_id(0) * 10 + group.get_local_range(0)


@dpex.device_func(debug=True)
def both(where: kapi.NdItem, numbers):
    add_position(numbers, 100, where)
    add_position(numbers, amount=1000, scale=2, item=where)
    return of_group(where.get_group())


@dpex.kernel
def delegate(item: kapi.NdItem, numbers):
    mine: kapi.Group = item.get_group()
    number = both(item, numbers)
    numbers[item.get_global_id(0)] += number + of_group(group=mine)


@every_backend
def test_items_and_groups_are_given_to_device_functions(backend):
    (numbers,) = backend.run(delegate, 6, 3, np.zeros(6, "i8"))
    expected = [2 * (i // 3 * 10 + 3) + 2100 * (i % 3) for i in range(6)]
    assert numbers.tolist() == expected


@dpex.device_func
def reverse_in_group(item: kapi.NdItem, numbers, shared):
    i, own = item.get_global_id(0), item.get_local_id(0)
    shared[own] = numbers[i]
    kapi.group_barrier(item.get_group(), kapi.MemoryScope.DEVICE)
    numbers[i] = shared[item.get_local_range(0) - 1 - own]


@dpex.kernel
def reverse_groups(item: kapi.NdItem, numbers, shared):
    reverse_in_group(item, numbers, shared)
    kapi.group_barrier(group=item.get_group(), fence_scope=kapi.MemoryScope.WORK_GROUP)


@every_backend
def test_barrier_in_a_device_function(backend):
    shared = kapi.LocalAccessor(4, np.int32)
    (numbers,) = backend.run(reverse_groups, 8, 4, np.arange(8, dtype="i4"), shared)
    assert numbers.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


# --------------------------------------------------------------------- atomics

METHODS = {
    "fetch_add": 4 + 6, "fetch_sub": 4 - 6, "fetch_min": 0, "fetch_max": 4, "fetch_and": 0,
    "fetch_or": 7, "fetch_xor": 4,
}  # fmt: skip


def atomic_kernel(method):
    @dpex.kernel
    def combine(item: kapi.Item, numbers, result):
        total = kapi.AtomicRef(result, index=0)
        getattr(total, method)(numbers[item.get_id(0)])

    return combine


@every_backend
@pytest.mark.parametrize("method", METHODS)
def test_method_of_atomic_ref_by_getattr(backend, method):
    numbers, result = np.arange(4, dtype="i4"), np.full(1, 4, "i4")
    _, found = backend.run(atomic_kernel(method), 4, None, numbers, result)
    plain = result.copy()
    for each in numbers:
        getattr(kapi.AtomicRef(plain, 0), method)(each)
    assert found.tolist() == plain.tolist() == [METHODS[method]]


@dpex.kernel
def swap(item: kapi.Item, numbers, expected, answers):
    i = item.get_id(0)
    element = kapi.AtomicRef(numbers, i, kapi.MemoryOrder.SEQ_CST, kapi.MemoryScope.SYSTEM)
    answers[i] = element.compare_exchange(expected_ref=expected, desired=50 + i, expected_idx=i)
    answers[i + 2] = kapi.AtomicRef(expected, index=i).exchange(val=element.load())


@every_backend
def test_compare_exchange_updates_the_expected_element(backend):
    numbers, expected = np.array([1, 2], "i4"), np.array([1, 7], "i4")
    found = backend.run(swap, 2, None, numbers, expected, np.zeros(4, "i4"))
    assert [each.tolist() for each in found] == [[50, 2], [50, 2], [1, 0, 1, 2]]
    assert kapi.AtomicRef(numbers, 1).compare_exchange(expected, 9, 1) is False
    assert expected.tolist() == [1, 2]
    assert kapi.AtomicRef(numbers, 1).compare_exchange(expected, 9, 1) is True
    assert numbers.tolist() == [1, 9]


@dpex.kernel
def publish(item: kapi.Item, data, ready):
    i = item.get_id(0)
    data[i] = i + 1
    kapi.atomic_fence(kapi.MemoryOrder.RELEASE, kapi.MemoryScope.DEVICE)
    kapi.atomic_fence(kapi.MemoryOrder.RELAXED, kapi.MemoryScope.WORK_ITEM)
    kapi.AtomicRef(ready, 0, address_space=kapi.AddressSpace.GLOBAL).fetch_add(1)


@every_backend
def test_atomic_fence(backend):
    data, ready = backend.run(publish, 4, None, np.zeros(4, "i4"), np.zeros(1, "i4"))
    assert data.tolist() == [1, 2, 3, 4]
    assert ready.tolist() == [4]


@dpex.kernel
def store_enums(item: kapi.Item, out):
    out[0] = kapi.MemoryOrder.SEQ_CST
    out[1] = kapi.MemoryScope.SYSTEM
    out[2] = kapi.AddressSpace.LOCAL


@every_backend
def test_enumerations_are_integers(backend):
    assert backend.run(store_enums, 1, None, np.zeros(3, "i8"))[0].tolist() == [5, 4, 3]
    assert kapi.MemoryOrder.basetype() == 0


# ---------------------------------------------------------------------- memory


@dpex.kernel
def sum_twice(item: kapi.Item, out):
    for turn in range(2):
        own = kapi.PrivateArray((3, 2), dtype=out.dtype, fill_zeros=True)
        for i in range(3):
            own[i, turn] += i + 1
        total = own[0, 0]
        for i in range(1, 6):
            total += own[i // 2, i % 2]
        out[item.get_id(0), turn] = total


@every_backend
@pytest.mark.parametrize("dtype", ["i4", "f4"])
def test_private_array_is_filled_with_zeros_in_each_round(backend, dtype):
    (out,) = backend.run(sum_twice, 2, None, np.zeros((2, 2), dtype))
    assert out.tolist() == [[6, 6], [6, 6]]


@dpex.kernel
def first_squares(item: kapi.Item, out):
    own = kapi.PrivateArray(2, np.int64, fill_zeros=False)
    own[0] = item.get_id(0)
    own[1] = own[0] * own[0]
    out[item.get_id(0)] = own[1]


@every_backend
def test_private_array_without_zeros(backend):
    assert backend.run(first_squares, 3, None, np.zeros(3, "i8"))[0].tolist() == [0, 1, 4]
    assert kapi.PrivateArray(2, dpex.float32, fill_zeros=True).tolist() == [0, 0]


@dpex.device_func
def same(array):
    array[0] += 1
    return array


@dpex.kernel
def through_a_function(item: kapi.Item, a, b):
    same(a)
    chosen = same(a)
    chosen[1] = same(b)[0]


@every_backend
def test_device_function_returns_its_array(backend):
    a, b = backend.run(through_a_function, 1, None, np.zeros(2, "i4"), np.full(2, 7, "i4"))
    assert a.tolist() == [2, 8]
    assert b.tolist() == [8, 7]


# -------------------------------------------------------------------- launches


@dpex.kernel
def add(item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] + b[i]


@dpex.kernel(debug=False, release_gil=False, inline_threshold=2)
def store_one(item, a):
    a[0] = 1


@dpex.kernel
def store_two(a):
    a[0] = 2


@pytest.mark.host
def test_item_follows_from_the_number_of_arguments():
    a = ep.zeros(2, "int32", device="host")
    dpex.call_kernel(store_one, dpex.Range(1), a)
    assert values_of(a).tolist() == [1, 0]
    dpex.call_kernel(store_two, dpex.NdRange((2,), (2,)), a)
    assert values_of(a).tolist() == [2, 0]
    store_one[dpex.Range(1)](a)
    assert values_of(a).tolist() == [1, 0]


@pytest.mark.host
def test_call_kernel_async_returns_two_events():
    a = ep.full(4, 1, "float32", device="host")
    host, event = dpex.call_kernel_async(add, dpex.Range(4), (), a, a, a)
    host, event = dpex.call_kernel_async(add, dpex.Range(4), (host, event), a, a, a)
    event.wait()
    host.wait()
    assert values_of(a).tolist() == [4] * 4


@pytest.mark.dpnp
@pytest.mark.sycl
def test_call_kernel_async_returns_events_of_dpctl():
    import dpctl
    import dpnp

    a = dpnp.ones(4, dtype="float32", device="opencl:cpu")
    host, event = dpex.call_kernel_async(add, dpex.Range(4), (), a, a, a)
    assert isinstance(host, dpctl.SyclEvent)
    _, event = dpex.call_kernel_async(add, dpex.Range(4), (event,), a, a, a)
    event.wait()
    assert a.asnumpy().tolist() == [4] * 4


@pytest.mark.dpnp
@pytest.mark.sycl
def test_arrays_of_two_queues_are_refused():
    import dpctl
    import dpnp

    queues = [dpctl.SyclQueue("opencl:cpu") for _ in range(2)]
    a, b = (dpnp.ones(4, sycl_queue=queue) for queue in queues)
    with pytest.raises(exceptions.ExecutionQueueInferenceError, match="argument 1 is of another"):
        dpex.call_kernel(add, dpex.Range(4), a, b, a)


@dpex.kernel
def store_sum(a, b):
    print(a + b)


@pytest.mark.host
def test_errors_of_launches():
    a = ep.zeros(4, "int32", device="host")
    with pytest.raises(exceptions.ExecutionQueueInferenceError, match="no array"):
        dpex.call_kernel(store_sum, dpex.Range(1), 1, 2)
    with pytest.raises(TypeError, match="a Range has none"):
        dpex.call_kernel(store_one, dpex.Range(1), kapi.LocalAccessor(4, "int32"))
    with pytest.raises(ValueError, match="an NdRange was expected"):
        dpex.call_kernel(store_two, 4, a)
    with pytest.raises(ep.KernelError, match="dependent_events is a tuple"):
        dpex.call_kernel_async(store_two, dpex.Range(4), [], a)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a kernel was expected"):
        dpex.call_kernel_async(len, dpex.Range(4), (), a)
    with pytest.raises(exceptions.UnknownGlobalRangeError) as error:
        store_two(a)
    assert "No global range" in error.value.message
    with pytest.raises(exceptions.InvalidKernelLaunchArgsError, match="three parts"):
        store_two[10, 10, []]
    with pytest.raises(exceptions.InvalidKernelLaunchArgsError):
        store_two[()]
    with pytest.raises(exceptions.IllegalRangeValueError, match="range is empty"):
        store_two[[], 10]


def test_ranges():
    space = dpex.Range(4, 6)
    assert (space.size(), space.ndim, space.get(1), space.dim0, space.dim2) == (24, 2, 6, 4, -1)
    both_ranges = dpex.NdRange(global_size=(4, 6), local_size=(2, 3))
    assert both_ranges.get_global_range() == space
    assert both_ranges.get_local_range().dim1 == 3
    sizes: Any
    for sizes in (((2, 2), ("a", 1)), ((3, 3, 3, 3), (1, 1, 1)), (4, 2)):
        with pytest.raises(TypeError):
            dpex.NdRange(*sizes)
    with pytest.raises(TypeError, match="an extent is an int"):
        dpex.Range((4, 6))  # type: ignore[arg-type]
    with pytest.raises(exceptions.UnmatchedNumberOfRangeDimsError):
        dpex.NdRange((4, 4), (2,))
    with pytest.raises(exceptions.UnsupportedGroupWorkItemSizeError):
        dpex.NdRange((4,), (3,))


# ------------------------------------------------------------------ signatures

LONGS = dpex.usm_ndarray(1, "C", dpex.int64)
FLOATS = dpex.DpnpNdArray(ndim=1, dtype=dpex.float32, layout="A")


def copy_elements(item, a, b):
    b[item.get_id(0)] = a[item.get_id(0)]


@pytest.mark.host
def test_kernel_with_signatures_takes_no_other_types():
    with ep.device_context("host"):
        several = dpex.kernel([(ItemType(1), LONGS, LONGS), (ItemType(1), FLOATS, FLOATS)])
        made = several(copy_elements)
    assert len(made.overloads) == 2
    for dtype in ("int64", "float32"):
        a, b = ep.full(4, 1, dtype, device="host"), ep.zeros(4, dtype, device="host")
        dpex.call_kernel(made, dpex.Range(4), a, b)
        assert values_of(b).tolist() == [1] * 4
    shorts = ep.full(4, 1, "int16", device="host")
    with pytest.raises(exceptions.MissingSpecializationError, match="int16"):
        dpex.call_kernel(made, dpex.Range(4), shorts, shorts)


@pytest.mark.host
def test_refused_signatures():
    with pytest.raises(NotImplementedError, match="is a string"):
        dpex.kernel("void(int64[::1])")
    with pytest.raises(NotImplementedError):
        dpex.device_func(["int64(int64)"])
    with pytest.raises(ValueError, match="a tuple of types"):
        dpex.kernel(LONGS)
    with pytest.raises(exceptions.InvalidKernelSpecializationError, match="argument 0"):
        dpex.kernel((NdItemType(1), dpex.int64[::1]))(copy_elements)
    with pytest.raises(exceptions.KernelHasReturnValueError, match="has the result"):
        dpex.kernel(LONGS(ItemType(1), LONGS, LONGS))(copy_elements)
    with pytest.raises(ValueError, match="ndim is 1, 2 or 3"):
        ItemType(4)
    with pytest.raises(TypeError, match="no option speed"):
        dpex.kernel(speed=2)
    with pytest.warns(UserWarning, match="_compilation_mode"):
        dpex.kernel(_compilation_mode="kernel")


@dpex.device_func(dpex.int32(dpex.int32))
def following(number):
    return number + 1


@dpex.kernel(dpex.void(ItemType(1), LONGS))
def count_up(item, numbers):
    numbers[item.get_id(0)] = following(numbers[item.get_id(0)])


@every_backend
def test_signatures_of_functions(backend):
    assert backend.run(count_up, 3, None, np.arange(3))[0].tolist() == [1, 2, 3]


# -------------------------------------------------------------- refused kernels


@dpex.kernel
def add_number(number, a):
    a[0] += number


@pytest.mark.host
def test_missing_argument_explains_the_work_item():
    with pytest.raises(ep.KernelError, match="1 arguments and add_number 2 parameters"):
        dpex.call_kernel(add_number, dpex.Range(1), ep.zeros(4, "int32", device="host"))


def order_unknown(item: kapi.Item, a):
    kapi.AtomicRef(a, 0, memory_order=kapi.MemoryOrder.CONSUME_UNSUPPORTED).fetch_add(1)


def space_of_another(item: kapi.Item, a):
    kapi.AtomicRef(a, 0, address_space=kapi.AddressSpace.LOCAL).fetch_add(1)


def float_into_int(item: kapi.Item, a):
    kapi.AtomicRef(a, 0).store(0.5)


def unknown_attribute(item: kapi.NdItem, a):
    a[0] = item.get_group().size  # type: ignore[attr-defined]


def item_as_value(item: kapi.Item, a):
    a[0] = item


def item_beside_arguments(item: kapi.Item, a):
    following(a[0], item)


def name_at_run_time(item: kapi.Item, a):
    a[0] = getattr(a, a[0])


def index_without_array(item: kapi.Item, a):
    kapi.AtomicRef(a, 0).compare_exchange(1, 2, 3)


def returns_a_part(item: kapi.Item, a):
    part_of(a)


@dpex.device_func
def part_of(a):
    return a[1:]


@pytest.mark.host
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (order_unknown, 'no memory order "consume"'),
        (space_of_another, "the array is not in local memory"),
        (float_into_int, r"write int32\(\.\.\.\)"),
        (unknown_attribute, "a work-group has dimensions and leader, and no 'size'"),
        (item_as_value, "only its methods can be used, and functions with @func take"),
        (item_beside_arguments, "`following` is given a work-item beside its arguments"),
        (name_at_run_time, "known when the kernel is compiled"),
        (index_without_array, "`expected_idx` is the index in an array"),
        (returns_a_part, "take the array as an argument"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_refused_kernel(function, message):
    with pytest.raises(ep.KernelError, match=message):
        dpex.call_kernel(dpex.kernel(function), dpex.Range(1), ep.zeros(4, "int32", device="host"))


@pytest.mark.numba
@pytest.mark.host
def test_refused_kernel_raises_typing_error_of_numba():
    from numba.core.errors import TypingError

    a = ep.zeros(4, "int32", device="host")
    with pytest.raises(TypingError) as error:
        dpex.call_kernel(dpex.kernel(float_into_int), dpex.Range(1), a)
    assert isinstance(error.value, ep.KernelError)


def result_of_kernel(item: kapi.Item, a):
    return a[0]


@pytest.mark.host
def test_kernel_that_returns_a_value():
    with pytest.raises(exceptions.KernelHasReturnValueError):
        dpex.call_kernel(
            dpex.kernel(result_of_kernel), dpex.Range(1), ep.zeros(4, "int32", device="host")
        )


# ---------------------------------------------------------------- plain Python


def reverse_in_python(item: kapi.NdItem, numbers, shared):
    i, own = item.get_global_id(0), item.get_local_id(0)
    shared[own] = numbers[i]
    kapi.group_barrier(item.get_group())
    numbers[i] = shared[item.get_local_range(0) - 1 - own]


def test_plain_function_waits_at_barriers():
    numbers, shared = np.arange(8), kapi.LocalAccessor((4,), np.int64)
    dpex.call_kernel(reverse_in_python, kapi.NdRange((8,), (4,)), numbers, shared)
    assert numbers.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


def wait_in_one(item: kapi.NdItem, numbers):
    if item.get_local_id(0) == numbers[0]:
        kapi.group_barrier(item.get_group())


@pytest.mark.parametrize("waiting", [0, 1])
def test_plain_function_whose_barrier_is_not_reached_by_all(waiting):
    with pytest.raises(ep.KernelError, match="let all"):
        kapi.call_kernel(wait_in_one, kapi.NdRange((3,), (3,)), np.array([waiting]))


def fail_after_barrier(item: kapi.NdItem, numbers):
    kapi.group_barrier(item.get_group())
    numbers[item.get_local_id(0) + 2] = 1


def test_error_of_a_work_item_in_python():
    with pytest.raises(IndexError):
        kapi.call_kernel(fail_after_barrier, kapi.NdRange((3,), (3,)), np.zeros(3))


def test_errors_of_plain_python():
    shared = kapi.LocalAccessor(4, np.float32)
    for use in (lambda: shared[0], lambda: shared.__setitem__(0, 1), kapi_barrier):
        with pytest.raises(NotImplementedError) as error:
            use()
        assert isinstance(error.value, ep.KernelError)
    with pytest.raises(TypeError, match="a Range has none"):
        kapi.call_kernel(reverse_in_python, kapi.Range(4), np.zeros(4), shared)
    with pytest.raises(ValueError, match="a function was expected"):
        kapi.call_kernel(3, kapi.Range(4))
    with pytest.raises(ValueError, match="an NdRange was expected"):
        kapi.call_kernel(store_ranges, 4, np.zeros(4))
    with pytest.raises(ValueError, match="2 parameters"):
        kapi.call_kernel(store_ranges, kapi.Range(4), 1, 2, 3)
    with pytest.raises(TypeError, match="an array was expected"):
        kapi.AtomicRef(1, 0)


def kapi_barrier():
    kapi.group_barrier(None)


# ----------------------------------------------------------------------- names


@pytest.mark.parametrize("name", ["dpjit", "prange", "config", "DpctlSyclQueue", "RangeType"])
def test_refused_name_says_what_to_use(name):
    with pytest.raises(ep.KernelError, match=f"numba_dpex.{name} is not served: .+"):
        getattr(dpex, name)
    with pytest.raises(ImportError, match="is not served"):
        exec(f"from entrepot.numba_dpex import {name}")


def test_refused_exception_says_what_to_catch():
    with pytest.raises(ImportError, match=r"catch entrepot\.KernelError"):
        _ = exceptions.UnreachableError


@pytest.mark.parametrize(
    ("module", "name"),
    [("", "call_kernels"), (".kernel_api", "Groups"), (".experimental", "testing"),
     (".core", "config"), (".core.types", "USMArray"), (".core.exceptions", "Unknown")],
)  # fmt: skip
def test_import_of_unknown_name_says_where_names_are_listed(module, name):
    with pytest.raises(ImportError, match=rf"\.{name} is not served: .*numba_dpex\.md"):
        exec(f"from entrepot.numba_dpex{module} import {name}")
    assert not hasattr(importlib.import_module(f"entrepot.numba_dpex{module}"), name)


@pytest.mark.parametrize("module", ["utils", "kernel_api.atomic_ref", "core.utils"])
def test_import_of_absent_module_says_where_names_are_listed(module):
    with pytest.raises(ImportError, match=rf"{module} is not served: .*numba_dpex\.md"):
        importlib.import_module(f"entrepot.numba_dpex.{module}")


def test_unknown_name():
    with pytest.raises(AttributeError, match="has no attribute 'call_kernels'"):
        _ = dpex.call_kernels


@pytest.mark.parametrize(
    "module",
    ["kernel_api", "experimental", "types", "core.types", "core.exceptions",
     "core.kernel_interface.indexers", "core.types.kernel_api.index_space_ids"],
)  # fmt: skip
def test_modules_have_their_names(module):
    imported = importlib.import_module(f"entrepot.numba_dpex.{module}")
    assert all(hasattr(imported, name) for name in imported.__all__)
    assert set(dpex.__all__) <= set(dir(dpex))


@dpex.device_func
def half_of(x):
    return x * 0.5


@dpex.kernel
def with_types_of_numba(item: kapi.Item, a, out):
    total = 0
    for i in range(a.size):
        total += a[i]
    out[0] = total
    out[1] = a[0] + a[1]
    out[2] = half_of(a[0])


@every_backend
def test_numbers_have_the_types_of_numba(backend):
    _, out = backend.run(with_types_of_numba, 1, None, np.full(10, 201, "u1"), np.zeros(3))
    assert out.tolist() == [2010, 402, 100.5]


@dpex.kernel
def blurred(item: kapi.Item, a, out):
    i = item.get_id(0)
    total = 0.0
    for offset in (-1, 0, 1):
        total += a[(i + offset) % a.size]
    for place, value in enumerate(a):
        total += place * value
    out[i] = total


@every_backend
def test_loops_go_over_tuples_and_arrays(backend):
    a = np.arange(6.0)
    _, out = backend.run(blurred, 6, None, a, np.zeros(6))
    assert np.allclose(out, np.roll(a, 1) + a + np.roll(a, -1) + (np.arange(6) * a).sum())


def message_of(function, index_range):
    with pytest.raises(ep.KernelError) as raised:
        dpex.call_kernel(dpex.kernel(function), index_range, ep.zeros(4, "float64", device="host"))
    return str(raised.value)


def test_misspelled_methods_of_items_and_groups_have_suggestions():
    def of_item(item: kapi.Item, a):
        a[item.get_idx(0)] = 1

    def of_group(item: kapi.NdItem, a):
        group = item.get_group()
        a[item.get_global_id(0)] = group.get_group_idx(0)  # type: ignore[attr-defined]

    assert "did you mean `get_id`?" in message_of(of_item, dpex.Range(4))
    assert "did you mean `get_group_id`?" in message_of(of_group, dpex.NdRange((4,), (2,)))


def test_messages_have_work_items_and_names_of_numba_dpex():
    def helper(x):
        return x

    def with_helper(item: kapi.Item, a):
        a[item.get_id(0)] = helper(1)

    def with_array(item: kapi.Item, a):
        own = np.zeros(3)
        a[item.get_id(0)] = own[0]

    assert "put @device_func before its def" in message_of(with_helper, dpex.Range(4))
    message = message_of(with_array, dpex.Range(4))
    assert "an array of one work-item is made by PrivateArray(shape, dtype)" in message


@pytest.mark.parametrize("index_range", [3, (3,)])
def test_launch_without_a_range_says_to_write_one(index_range):
    with pytest.raises(ValueError, match=r"write Range\(n\), or NdRange"):
        dpex.call_kernel(blurred, index_range, ep.zeros(4, "float64", device="host"))
