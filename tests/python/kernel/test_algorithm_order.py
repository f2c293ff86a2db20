"""Algorithms wait for pending writes of their input, and hold it and their temporary memory until
they have ended.
"""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import algorithms
from kernel.backends import every_device
from support.places import Place, values_of

pytestmark = [pytest.mark.numpy, pytest.mark.alone]

SIZE = 40_000
TURNS = 100_000_000
#: Turns for each element, of functions of the algorithms.
TURNS_EACH = 15_000
#: Turns for a GPU, which applies the function to all elements at a time.
TURNS_AT_ONCE = 100 * TURNS_EACH


@dppy.kernel
def write_slowly(x, turns):
    y = dppy.uint32(1)
    for _ in range(turns):
        y = y * 1664525 + 1013904223
    for j in range(x.shape[0]):
        x[j] = j * 7919 % 1009 if y != 7 else 0


@dppy.func
def add(a, b):
    return a + b


@dppy.func
def multiply(a, b):
    return a * b


@dppy.func
def add_slowly(a, b):
    y = dppy.uint32(a) * 2  # it is even after an even number of turns
    for _ in range(TURNS_EACH):
        y = y * 1664525 + 1013904223
    return a + b if y != 7 else 0


@dppy.func
def is_even(x):
    return x % 2 == 0


def written() -> np.ndarray:
    """The elements that write_slowly writes."""
    return np.arange(SIZE) * 7919 % 1009


OFFSETS = np.arange(0, SIZE + 1, 1000)

#: Calls with an array and a queue, and the results for an array of NumPy.
CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "inclusive_scan": (lambda x, queue: algorithms.inclusive_scan(x, queue=queue), np.cumsum),
    "exclusive_scan": (
        lambda x, queue: algorithms.exclusive_scan(x, queue=queue),
        lambda x: np.cumsum(x) - x,
    ),
    "sort": (lambda x, queue: algorithms.sort(x, queue=queue), np.sort),
    "argsort": (
        lambda x, queue: algorithms.argsort(x, queue=queue),
        lambda x: np.argsort(x, kind="stable"),
    ),
    "sort_by_key": (lambda x, queue: algorithms.sort_by_key(x, x, queue=queue)[1], np.sort),
    "reduce": (lambda x, queue: algorithms.reduce(x, add, 0, queue=queue), np.sum),
    "reduce of columns": (
        lambda x, queue: algorithms.reduce(x.reshape(200, 200), add, 0, axis=0, queue=queue),
        lambda x: x.reshape(200, 200).sum(axis=0),
    ),
    "transform_reduce": (
        lambda x, queue: algorithms.transform_reduce(multiply, add, 0, x, x, queue=queue),
        lambda x: (x * x).sum(),
    ),
    "argmax": (lambda x, queue: algorithms.argmax(x, queue=queue), np.argmax),
    "argmin of columns": (
        lambda x, queue: algorithms.argmin(x.reshape(200, 200), 0, queue=queue),
        lambda x: x.reshape(200, 200).argmin(axis=0),
    ),
    "segmented_reduce": (
        lambda x, queue: algorithms.segmented_reduce(
            x, offsets_on(x), add, 0, check=False, queue=queue
        ),
        lambda x: x.reshape(-1, 1000).sum(axis=1),
    ),
    "histogram": (
        lambda x, queue: algorithms.histogram(x, 10, (0, 1000), queue=queue)[0],
        lambda x: np.histogram(x, 10, (0, 1000))[0],
    ),
    "histogram of edges": (
        lambda x, queue: algorithms.histogram(x, [0, 10, 1000], queue=queue)[0],
        lambda x: np.histogram(x, [0, 10, 1000])[0],
    ),
    "bincount": (
        lambda x, queue: algorithms.bincount(x, length=1009, queue=queue),
        lambda x: np.bincount(x, minlength=1009),
    ),
    "select": (
        lambda x, queue: algorithms.select(x, is_even, queue=queue),
        lambda x: x[x % 2 == 0],
    ),
}
#: They read the number of elements, or copy from or to the host.
WAITING = {"select", "segmented_reduce", "histogram", "histogram of edges"}

every_call = pytest.mark.parametrize("name", CALLS)


def offsets_on(x: object) -> object:
    return dppy.to_device(OFFSETS, x.device) if isinstance(x, ep.Array) else OFFSETS


def empty_on(device: str) -> ep.Array:
    """An array on a queue of its own, after the kernel that writes it has been compiled."""
    array = ep.zeros(SIZE, "int64", queue=ep.Queue(device))
    write_slowly[1](array, 1).wait()
    ep.fill(array, 0).wait()
    return array


@every_device
@every_call
def test_algorithm_waits_for_slow_writer_on_another_queue(device, name):
    call, expected = CALLS[name]
    other = ep.Queue(device)
    call(empty_on(device), other)  # compiled before
    array = empty_on(device)
    writing = write_slowly[1](array, TURNS, wait=False)
    found = call(array, other)
    is_asynchronous = device != "host" and name not in WAITING
    assert not (is_asynchronous and writing.done), "the call waited, or the kernel is too fast"
    np.testing.assert_array_equal(values_of(found), expected(written()))
    assert writing.done


@every_device
@every_call
def test_later_writer_waits_for_algorithm(device, name):
    """A kernel on the array's queue overwrites what an algorithm on another queue has to read."""
    call, expected = CALLS[name]
    array, other = empty_on(device), ep.Queue(device)
    write_slowly[1](array, 1)
    busy = empty_on(device)
    call(array, other)
    write_slowly[1](busy, TURNS, queue=other, wait=False)
    found = call(array, other)
    ep.fill(array, -1)
    np.testing.assert_array_equal(values_of(found), expected(written()))
    assert (values_of(array) == -1).all()


def busy_queue(device: str) -> ep.Queue:
    """A queue whose next work waits for a slow kernel."""
    array = empty_on(device)
    write_slowly[1](array, TURNS, wait=False)
    return array.queue


@every_device
@every_call
def test_numpy_array_may_be_written_after_the_call(device, name):
    call, expected = CALLS[name]
    values = written()
    found = call(values, busy_queue(device))
    values[:] = -1
    np.testing.assert_array_equal(np.asarray(found), expected(written()))


@every_device
@every_call
@pytest.mark.torch
def test_tensor_of_torch_may_be_written_after_the_call(device, name):
    import torch

    call, expected = CALLS[name]
    tensor = torch.from_numpy(written())
    found = call(tensor, busy_queue(device))
    tensor.fill_(-1)
    np.testing.assert_array_equal(values_of(found), expected(written()))


@every_device
@pytest.mark.parametrize(
    "call",
    [
        lambda x: algorithms.reduce(x, add_slowly, 0),
        lambda x: algorithms.inclusive_scan(x, add_slowly),
        lambda x: algorithms.transform_reduce(slow_abs(x.device), add, 0, x),
    ],
    ids=["reduce", "inclusive_scan", "transform_reduce"],
)
def test_input_is_released_after_the_running_algorithm(device, call):
    owner = Owner(device)
    array = ep.asarray(owner)
    call(array).queue.wait()  # compiled before
    reference = weakref.ref(owner)
    found = call(array)
    event = found.queue.record()
    del owner, array
    is_alive, is_done = reference() is not None, event.done
    assert is_alive or is_done, "the input was released while the algorithm was running"
    assert not is_done, "the algorithm must be slow enough for the test to mean anything"
    assert values_of(found).reshape(-1)[-1] == SIZE * (SIZE - 1) // 2
    for _ in range(100):  # memory in use by a queue is released at a later call
        if reference() is None:
            break
        time.sleep(0.01)
        ep.empty(1, "uint8", device=device)
        gc.collect()
    assert reference() is None


@dppy.func
def abs_slowly(x):
    return add_slowly(x, 0)


@dppy.func
def abs_slowly_at_once(x):
    y = dppy.uint32(x) * 2
    for _ in range(TURNS_AT_ONCE):
        y = y * 1664525 + 1013904223
    return x if y != 7 else 0


def slow_abs(device):
    return abs_slowly_at_once if device.device_type == "gpu" else abs_slowly


class Owner:
    """Memory that an Array borrows by the interface of its device. The Array holds this object."""

    def __init__(self, device: str) -> None:
        self._memory = ep.zeros(SIZE, "int64", queue=ep.Queue(device))
        ep.copy(self._memory, np.arange(SIZE)).wait()
        interface = Place(device, self._memory.kind).interface
        setattr(self, interface, getattr(self._memory, interface))


@every_device
@every_call
def test_algorithm_returns_its_temporary_memory_to_the_pool(device, name):
    call, _ = CALLS[name]
    array = empty_on(device)
    call(array, None)
    array.queue.wait()
    counted = ep.memory.statistics()
    with ep.memory.use_resource(counted):
        found = call(array, None)
        array.queue.wait()
        results = 2 if name == "sort_by_key" else 1
        assert counted.total_count >= results
        gc.collect()
        assert counted.current_count == 1, "the result alone"
        del found
    gc.collect()
    assert counted.current_count == 0
