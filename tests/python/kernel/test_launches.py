"""Launches use the decorated source, the current values of names, and the actual arguments."""

from __future__ import annotations

import builtins
import enum
import gc
import linecache
import math
import threading
import weakref

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from support.modules import load_module

pytestmark = [pytest.mark.numpy, pytest.mark.host]

zero = 0.0


@dppy.kernel
def store_zero(out):
    out[dppy.get_global_id(0)] = zero


@dppy.kernel
def store(out, value):
    out[dppy.get_global_id(0)] = value


@dppy.kernel
def through_local(out, scratch):
    item = dppy.get_local_id(0)
    scratch[item] = item
    dppy.barrier()
    out[dppy.get_global_id(0)] = scratch[dppy.get_local_size(0) - 1 - item]


class Color(enum.IntEnum):
    RED = 7


def test_captured_zero_of_another_sign_is_another_value(monkeypatch):
    out = np.ones(1)
    store_zero[1](out)
    assert math.copysign(1, out[0]) == 1
    monkeypatch.setitem(globals(), "zero", -0.0)
    store_zero[1](out)
    assert math.copysign(1, out[0]) == -1


def test_source_is_read_at_decoration(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text(
        "import entrepot.kernel as k\n@k.kernel\ndef f(a):\n    a[k.get_global_id(0)] = 1\n"
    )
    module = load_module(path, "edited")
    path.write_text("# a line more\n" + path.read_text().replace("= 1", "= 2"))
    linecache.checkcache(str(path))
    out = np.zeros(1)
    module.f[1](out)
    assert out[0] == 1


def test_threads_compile_a_kernel_once():
    fresh = dppy.kernel(store.function)
    arrays = [np.zeros(4) for _ in range(8)]
    together = threading.Barrier(8)

    def launch(array):
        together.wait()
        fresh[4](array, 3.0)

    threads = [threading.Thread(target=launch, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [array.tolist() for array in arrays] == [[3.0] * 4] * 8
    assert fresh.specializations == 1


def test_ever_new_values_are_not_all_kept(monkeypatch):
    fresh, out = dppy.kernel(store_zero.function), np.zeros(1)
    for value in (1.0, 2.0, 1.0):
        monkeypatch.setitem(globals(), "zero", value)
        fresh[1](out)
        assert out[0] == value
    assert fresh.specializations == 2


def test_change_of_module_refreshes_captured_names(monkeypatch):
    fresh, out = dppy.kernel(store_zero.function), np.zeros(1)

    def launched():
        for _ in range(3):
            fresh[1](out)
        return out[0], fresh.specializations

    assert launched() == (0, 1)
    monkeypatch.setitem(globals(), "something_else", 1)
    assert launched() == (0, 1)
    monkeypatch.setitem(
        globals(), "zero", 0.0 * len(fresh.__name__)
    )  # the same number, another object
    assert launched() == (0, 1)
    monkeypatch.setitem(globals(), "zero", 3.0)
    assert launched() == (3, 2)
    monkeypatch.delitem(globals(), "zero")
    monkeypatch.setattr(builtins, "zero", 5.0, raising=False)
    assert launched() == (5, 3)
    monkeypatch.setattr(builtins, "zero", 7.0)
    assert launched() == (7, 4)


def test_numbers_of_derived_classes_are_numbers():
    out = np.zeros(1, "i8")
    store[1](out, Color.RED)
    assert out[0] == 7
    with pytest.raises(
        OverflowError,
        match=r"kernel 'store': argument 1 \(value\) is an integer that does not fit int64",
    ):
        store[1](out, 2**63)
    store[1](np.zeros(1, "u8"), ep.Scalar(2**63, "uint64"))


def test_local_memory_beyond_all_memory_is_refused():
    with pytest.raises(ValueError, match="no memory is that large"):
        through_local[4, 4](np.zeros(4), dppy.LocalAccessor((2**40, 2**40), "float64"))
    with pytest.raises(
        ep.KernelError, match="needs 8000000 bytes of local memory, host has 262144"
    ):
        through_local[4, 4](np.zeros(4), dppy.LocalAccessor(1_000_000, "float64"))


def test_dimensions_out_of_range_are_refused():
    for dimensions in (-1, 0, 4, 7):
        with pytest.raises(ValueError, match="a launch has 1 to 3"):
            store.source(signature="void(float64[::1], float64)", dimensions=dimensions)


def test_vectorized_functions_wait_for_numpy_memory():
    slow = dppy.vectorize(lambda x, y: math.sin(math.exp(x)) + y)
    x, out = np.ones(3_000_000), np.zeros(3_000_000)
    slow(x, x, out=out)
    assert (out != 0).all()


def test_vectorized_functions_read_before_they_write():
    add = dppy.vectorize(lambda x, y: x + y)
    values = np.ones(10_000)
    add(values[:-1], values[:-1], out=values[1:])
    assert values.tolist() == [1] + [2] * 9_999
    add(values, values, out=values)
    assert values.tolist() == [2] + [4] * 9_999


@dppy.kernel
def add_to(out, other, number):
    i = dppy.get_global_id(0)
    out[i] = other[i] + number


def test_repeated_launches_use_their_own_arguments():
    arrays = [np.full(8, value, "f4") for value in range(5)]
    out = np.zeros(8, "f4")
    for number, array in enumerate(arrays):
        add_to[8](out, array, number)
        assert out.tolist() == [2 * number] * 8
    for number, array in enumerate(arrays):
        out = np.zeros(8, "f4")
        add_to[8](out, array, float(number))
        assert out.tolist() == [2 * number] * 8


def test_overlapping_launch_is_compiled_separately():
    fresh = dppy.kernel(add_to.function)
    for _ in range(3):
        fresh[8](np.zeros(8), np.ones(8), 1.0)
    assert fresh.specializations == 1
    whole = np.ones(16)
    fresh[8](whole[:8], whole[4:12], 1.0)  # compiled for arrays that share elements
    assert fresh.specializations == 2
    read_only = np.ones(8)
    read_only.flags.writeable = False
    with pytest.raises(ep.KernelError, match="read-only"):
        fresh[8](read_only, np.ones(8), 1.0)
    with pytest.raises(TypeError, match="takes 3 arguments"):
        fresh[8](np.zeros(8), np.ones(8))
    fresh[8](whole[:8], np.ones(8), 1.0)
    assert whole[:8].tolist() == [2] * 8


@pytest.mark.sycl
def test_arrays_on_two_devices_are_refused_after_other_launches():
    device = ep.device("opencl:cpu")
    if device.max_compute_units < 2:
        pytest.skip("sub-devices take two compute units")
    parts = device.create_sub_devices(partition=device.max_compute_units // 2)[:2]
    context = ep.Context(parts)
    here, there = (ep.Queue(part, context=context) for part in parts)
    first, second, elsewhere = (
        ep.zeros(8, "float32", queue=queue) for queue in (here, here, there)
    )
    fresh = dppy.kernel(add_to.function)
    for _ in range(2):
        with pytest.raises(ep.KernelError, match="compute follows data"):
            fresh[8](first, elsewhere, 1.0)
        fresh[8](first, second, 1.0).wait()
    fresh[8](first, elsewhere, 1.0, queue=here).wait()  # where the option is given
    with pytest.raises(ep.KernelError, match="compute follows data"):
        fresh[8](first, elsewhere, 1.0)
    assert first.copy_to_host().numpy().tolist() == [1] * 8


def test_threads_launch_the_same_kernel():
    fresh = dppy.kernel(add_to.function)
    wrong = []

    def launch(number):
        other, out = np.full(64, number, "f8"), np.zeros(64)
        for turn in range(300):
            fresh[64](out, other, float(turn))
            if out[0] != number + turn or out[63] != number + turn:
                wrong.append((number, turn, out[0], out[63]))

    threads = [threading.Thread(target=launch, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


table = np.zeros(1)


@dppy.kernel
def store_item(out, other):
    out[dppy.get_global_id(0)] = table[0]


def test_old_captured_values_are_released():
    fresh, found = dppy.kernel(store_item.function), globals()["table"]
    alive = []
    try:
        for value in range(70):
            globals()["table"] = np.full(1, float(value))
            alive.append(weakref.ref(globals()["table"]))
            fresh.source("c++", signature="void(float64[::1], float64[::1])")
    finally:
        globals()["table"] = found
    gc.collect()
    assert [each() is not None for each in alive] == [False] * 6 + [True] * 64


def test_launch_keeps_its_version_alive():
    """An argument whose conversion runs Python code that makes the kernel drop the version being
    launched."""
    fresh, found, out = dppy.kernel(store_item.function), globals()["table"], np.zeros(2)

    class Busy:
        memory = np.zeros(2)

        @property
        def __array_interface__(self):
            for value in range(70):
                globals()["table"] = np.full(1, float(value))
                fresh.source("c++", signature="void(float64[::1], float64[::1])")
            return np.zeros(2).__array_interface__ | {"data": (self.memory.ctypes.data, False)}

    busy = Busy()
    try:
        globals()["table"] = np.full(1, 1234.0)
        fresh[2](out, busy)
    finally:
        globals()["table"] = found
    assert out.tolist() == [1234.0] * 2


def test_async_function_is_refused():
    async def program(out):
        out[0] = 1

    with pytest.raises(ep.KernelError, match="write def, not async def"):
        dppy.kernel(program)[1](np.zeros(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", ["hsaco", "cubin", "fortran"])
def test_unsupported_dialect_error_lists_supported(dialect):
    words = (
        "dialect: one of 'opencl-c', 'sycl', 'cuda', 'hip', 'c\\+\\+' was expected, "
        f"not '{dialect}'"
    )
    with pytest.raises(ValueError, match=f"^{words}$"):

        @dppy.kernel(dialect=dialect)
        def nothing(a):
            pass
