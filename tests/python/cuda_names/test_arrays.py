"""Arrays on devices: copies, views, memory of the host, and exchange."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
from entrepot import numba_cuda as cuda
from entrepot.numba_cuda.cudadrv.devicearray import auto_device

pytestmark = pytest.mark.numpy


@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 2


@cuda.jit
def copy_elements(source, target):
    i = cuda.grid(1)
    target[i] = source[i]


@cuda.jit
def accumulate(out, count):
    i = cuda.grid(1)
    total = out[i]
    for k in range(count):
        total = total * 0.5 + k
    out[i] = total


LARGE = 1 << 20


def keep_busy() -> cuda.DeviceNDArray:
    """Submits a kernel of about a tenth of a second, behind which copies of the stream wait."""
    out = cuda.to_device(np.zeros(64))
    accumulate[64, 1](out, 1_000_000)
    return out


def test_copy_to_device_and_back_has_equal_elements(device):
    values = np.arange(12).reshape(3, 4)
    there = cuda.to_device(values)
    assert there.array.device == device
    assert (there.shape, there.dtype, there.strides) == ((3, 4), values.dtype, values.strides)
    assert (there.ndim, there.size, there.nbytes, there.alloc_size) == (2, 12, 96, 96)
    values[:] = 0
    assert there.copy_to_host().tolist() == np.arange(12).reshape(3, 4).tolist()


def test_copy_to_given_array_fills_it(device):
    there, here = cuda.to_device(np.arange(3.0)), np.zeros(3)
    assert there.copy_to_host(here) is here
    assert here.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="shape"):
        there.copy_to_host(np.zeros(4))
    with pytest.raises(ValueError, match="dtype"):
        there.copy_to_host(np.zeros(3, "f4"))


def test_to_device_with_destination_writes_there(device):
    there = cuda.device_array(3)
    assert cuda.to_device(np.ones(3), to=there) is there
    assert cuda.to_device(there) is there
    assert there.copy_to_host().tolist() == [1, 1, 1]


def test_copy_between_devices_arrays_copies(device):
    there, other = cuda.to_device(np.arange(3)), cuda.to_device(np.zeros(3, int))
    other.copy_to_device(there)
    assert other.copy_to_host().tolist() == [0, 1, 2]


def test_copy_from_pinned_memory_without_stream_waits(device):
    values, there = cuda.pinned_array(LARGE), cuda.device_array(LARGE)
    values[:] = 1
    busy = keep_busy()
    there.copy_to_device(values)
    values[:] = 0
    assert (there.copy_to_host() == 1).all()
    values[:] = 2
    accumulate[64, 1](busy, 1_000_000)
    there = cuda.to_device(values)
    values[:] = 0
    assert (there.copy_to_host() == 2).all()


def test_copy_from_pinned_memory_of_other_dtype_converts(device):
    values, there = cuda.pinned_array(3, dtype=np.int32), cuda.device_array(3, np.float64)
    values[:] = [1, 2, 3]
    there.copy_to_device(values)
    assert there.copy_to_host().tolist() == [1, 2, 3]


def test_array_of_other_library_on_other_device_is_copied(device):
    for each in ep.devices():
        source = ep.full(3, 7, "int32", device=each)
        there = cuda.to_device(source)
        assert there.array.device == device
        assert (there.device_ctypes_pointer.value == source.data_ptr) == (each == device)
        assert there.copy_to_host().tolist() == [7, 7, 7]
        assert auto_device(source)[1] == (each != device)


def test_array_of_other_library_is_copied_to_destination(device):
    source, there = ep.full(3, 7, "int32", device=device), cuda.to_device(np.zeros(3, "i4"))
    assert cuda.to_device(source, to=there) is there
    assert there.copy_to_host().tolist() == [7, 7, 7]
    there.copy_to_device(ep.full(3, 8, "int32", device="host"))
    assert there.copy_to_host().tolist() == [8, 8, 8]
    with pytest.raises(ValueError, match="dtype"):
        there.copy_to_device(ep.full(3, 8, "int64", device=device))


def test_assignment_from_array_of_other_library_copies(device):
    there = cuda.to_device(np.zeros(4, "i4"))
    there[1:3] = ep.full(2, 7, "int32", device=device)
    there[3] = ep.full((), 5, "int32", device=device)
    assert there.copy_to_host().tolist() == [0, 7, 7, 5]


def test_numbers_and_sequences_become_arrays(device):
    assert cuda.to_device([1, 2]).copy_to_host().tolist() == [1, 2]
    assert cuda.to_device(np.float32(3)).copy_to_host().item() == 3


@pytest.mark.parametrize("order", ["C", "F"])
def test_order_of_elements_is_retained(device, order):
    values = np.asarray(np.arange(6).reshape(2, 3), order=order)
    there = cuda.to_device(values)
    assert (there.is_c_contiguous, there.is_f_contiguous) == (order == "C", order == "F")
    assert there.strides == values.strides
    assert (there.copy_to_host() == values).all()
    assert cuda.device_array_like(values).strides == values.strides


def test_views_share_memory(device):
    there = cuda.to_device(np.arange(12))
    there.reshape(3, 4)[1, :] = 0
    there[8:10] = np.array([7, 7])
    there[0] = 5
    assert there.copy_to_host().tolist() == [5, 1, 2, 3, 0, 0, 0, 0, 7, 7, 10, 11]
    assert there.reshape((3, 4)).T.shape == (4, 3)
    assert there.reshape(3, 4).ravel().shape == (12,)
    assert there.reshape(3, 1, 4).squeeze().shape == (3, 4)
    assert there[2] == 2
    assert there.view("f8").dtype == np.float64
    assert [part.size for part in there.split(5)] == [5, 5, 2]
    assert there[::3].copy_to_host().tolist() == [5, 3, 0, 7]


def test_squeeze_of_larger_axis_is_refused(device):
    with pytest.raises(ValueError, match="another extent than 1"):
        cuda.device_array((2, 3)).squeeze(axis=0)


def test_assignment_from_device_array_copies(device):
    there, other = cuda.to_device(np.zeros(4)), cuda.to_device(np.ones(2))
    there[1:3] = other
    assert there.copy_to_host().tolist() == [0, 1, 1, 0]
    there.setitem(0, 9)
    assert there.getitem(0) == 9


@pytest.mark.parametrize("make", [cuda.pinned_array, cuda.mapped_array, cuda.managed_array])
def test_memory_of_the_host_is_an_array_of_numpy(device, make):
    if make is cuda.managed_array and not device.has_aspect_usm_shared_allocations:
        pytest.skip("the device has no managed memory")
    array = make(10, dtype=np.int32)
    array[:] = np.arange(10)
    double[1, 16](array)
    cuda.synchronize()
    assert array.tolist() == [2 * i for i in range(10)]
    assert isinstance(array, np.ndarray)
    there = cuda.to_device(array)
    assert there.copy_to_host(array) is array


def test_slice_of_mapped_array_is_written(device):
    array = cuda.mapped_array(6, dtype=np.int32)
    array[:] = 1
    double[1, 8](array[2:4])
    assert array.tolist() == [1, 1, 2, 2, 1, 1]


def test_context_managers_give_the_array(device):
    values = np.arange(4)
    with cuda.pinned(values):
        double[1, 4](values)
    with cuda.mapped(values) as there:
        double[1, 4](there)
    assert values.tolist() == [0, 4, 8, 12]


def test_mapped_array_is_written_after_the_statement(device):
    values = np.zeros(64)
    with cuda.mapped(values) as there:
        accumulate[64, 1](there, 1_000_000)
    assert (values > 0).all()
    with pytest.raises(ZeroDivisionError), cuda.mapped(values) as there:
        there[:] = 5
        raise ZeroDivisionError
    assert (values == 5).all()


@pytest.mark.parametrize("wrap", [cuda.Out, cuda.InOut])
def test_argument_that_is_written_is_copied_back(device, wrap):
    values = np.ones(4)
    double[1, 4](wrap(values))
    assert values.tolist() == [2] * 4


def test_argument_that_is_read_is_not_copied_back(device):
    values = np.ones(4)
    double[1, 4](cuda.In(values))
    assert values.tolist() == [1] * 4


def test_argument_that_is_read_uses_the_stream_of_the_launch(device):
    for each in cuda.gpus:
        with each:
            stream, result = cuda.stream(), cuda.device_array(4)
        copy_elements[1, 4, stream](cuda.In(np.ones(4)), result)
        stream.synchronize()
        assert result.copy_to_host().tolist() == [1] * 4
        assert cuda.In(np.ones(4)).given(stream).device == each.device


def test_arrays_of_other_libraries_are_viewed(device):
    array = ep.full(3, 7, "int32", device=device)
    there = cuda.as_cuda_array(array)
    there[0] = 1
    assert array.copy_to_host().numpy().tolist() == [1, 7, 7]
    assert cuda.is_cuda_array(array)
    assert cuda.is_cuda_array(there)
    assert not cuda.is_cuda_array(np.zeros(3))
    with pytest.raises(TypeError, match="ndarray"):
        cuda.as_cuda_array(np.zeros(3))
    with pytest.raises(cuda.NotServedError, match="sync=False"):
        cuda.as_cuda_array(array, sync=False)


def test_array_for_numpy_is_a_copy(device):
    there = cuda.to_device(np.arange(3))
    assert np.asarray(there).tolist() == [0, 1, 2]
    assert (np.ones(3, int) + np.asarray(there)).tolist() == [1, 2, 3]


POINT = np.dtype([("x", "f4"), ("y", "f4")])


@cuda.jit
def move(points):
    i = cuda.grid(1)
    points[i].x += points[i]["y"]


def test_records_are_copied_and_changed(runner):
    points = np.zeros(4, POINT)
    points["y"] = np.arange(4)
    (points,) = runner.run(move, 1, 4, points)
    assert points["x"].tolist() == [0, 1, 2, 3]
    there = cuda.to_device(points)
    assert (there.dtype, there["y"].copy_to_host().tolist()) == (POINT, [0, 1, 2, 3])


def test_records_use_the_stream_and_the_order_c(device):
    stream = cuda.stream()
    there = cuda.device_array(4, POINT, stream=stream)
    assert there["x"].array.queue == stream.queue
    with pytest.raises(cuda.NotServedError, match="ascontiguousarray"):
        cuda.device_array((2, 3), POINT, order="F")


def test_shape_strides_and_dtype_are_those_of_the_order():
    assert cuda.prepare_shape_strides_dtype(3, None, "f4", "C") == ((3,), (4,), np.dtype("f4"))
    assert cuda.prepare_shape_strides_dtype((2, 3), None, "f4", "F")[1] == (4, 8)


def test_strides_for_a_new_array_are_refused():
    with pytest.raises(cuda.NotServedError, match="take a slice"):
        cuda.device_array((2, 2), strides=(4, 8))
