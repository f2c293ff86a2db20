"""Explicit transfer: device memory is made, filled, computed on and read, synchronously and with
events."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_device

pytestmark = pytest.mark.numpy


@dppy.kernel
def double(a):
    a[dppy.get_global_id(0)] *= 2


@every_device
def test_copy_to_device_and_back(device):
    values = np.arange(12, dtype="f4").reshape(3, 4)
    there = dppy.to_device(values, device)
    values[:] = -1
    assert there.device == ep.device(device)
    assert there.kind == ("host" if device == "host" else "device")
    assert dppy.copy_to_host(there).tolist() == np.arange(12).reshape(3, 4).tolist()
    into = np.empty((3, 4), "f4")
    assert dppy.copy_to_host(there, into) is into
    assert into[2, 3] == 11
    dppy.copy_from_host(there, np.zeros((3, 4), "f4"))
    assert dppy.copy_to_host(there).sum() == 0


@every_device
def test_current_device_is_the_default(device):
    with ep.device_context(device) as queue:
        assert dppy.device_array(3, "int32").device == queue.device
        assert dppy.to_device(np.ones(3)).device == queue.device
    made = dppy.device_array_like(np.ones((2, 3), "f4"), queue=ep.Queue(device))
    assert (made.shape, str(made.dtype), made.device) == ((2, 3), "float32", ep.device(device))


@pytest.mark.sycl
@pytest.mark.parametrize(("device", "other"), [("host", "opencl:cpu"), ("opencl:cpu", "host")])
def test_queue_of_another_device_is_refused(device, other):
    with pytest.raises(ValueError, match=r"the queue is of .* the device asked for is"):
        dppy.device_array(3, "int8", other, queue=ep.Queue(device))


@every_device
def test_async_copies_are_ordered(device):
    there = dppy.device_array(100_000, "int64", device)
    source, into = np.arange(100_000), np.empty(100_000, "i8")
    copied = dppy.copy_from_host_async(there, source)
    launched = double[100_000](there, depends_on=[copied])
    done = dppy.copy_to_host_async(there, into)
    done.wait()
    assert launched.done
    assert (into == 2 * np.arange(100_000)).all()


@every_device
def test_call_kernel_waits_and_async_returns_event(device):
    values = np.ones(8, "i4")
    with ep.device_context(device):
        assert dppy.call_kernel(double, dppy.Range(8), values) is None  # type: ignore[func-returns-value]
        assert values.tolist() == [2] * 8
        event = dppy.call_kernel_async(double, dppy.NdRange((8,), (4,)), [], values)
        event.wait()
    assert values.tolist() == [4] * 8


@pytest.mark.sycl
def test_arrays_of_the_host_that_overlap_are_right_or_refused():
    values = np.arange(8, dtype="i4")

    @dppy.kernel
    def shift(to, source):
        i = dppy.get_global_id(0)
        to[i] = source[i] + 1

    with ep.device_context("opencl:cpu"):
        shift[8](values, values)
    assert values.tolist() == list(range(1, 9))


@dppy.kernel
def adds_pairs(a, b, c, d):
    i = dppy.get_global_id(0)
    a[i] += 1
    c[i] += b[i] + d[i]


@every_device
def test_repeated_arrays_are_copied_once(device):
    """Two pairs of arguments that share no memory, each pair of one array: copies must keep them
    as pairs."""
    a, b = np.zeros(4), np.full(4, 5.0)
    with ep.device_context(device):
        adds_pairs[4](a, a, b, b)
    assert a.tolist() == [1] * 4
    assert b.tolist() == [11] * 4  # a is read behind the addition, by one work-item each
