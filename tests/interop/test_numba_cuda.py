"""numba-cuda: the CUDA array interface both ways."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import cuda_kernels
import entrepot as ep
from interop.pairs import NUMPY_DTYPES, Cannot, Out, Peer, View, matrix, values_of, write_by_driver
from places import CUDA, values

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # NumPy 2.5 dropped it, and numba-cuda 0.30 looks for it

pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.numba_cuda, pytest.mark.cuda]


@pytest.fixture(scope="module")
def cuda() -> Any:
    return pytest.importorskip("numba.cuda")


def address_of(device_array: Any) -> int:
    return device_array.__cuda_array_interface__["data"][0]


class Numba(Peer):
    """Device arrays over our memory, which are read by copies of ours."""

    name = "numba_cuda"

    def view(self, obj: Any) -> View:
        return View(address_of(obj), obj.shape, tuple(stride // obj.dtype.itemsize for stride in obj.strides), False)

    def values(self, obj: Any) -> np.ndarray:
        return values_of(ep.asarray(obj))

    def write(self, obj: Any, value: int) -> None:
        write_by_driver(address_of(obj), value)


CANNOT_TAKE = {
    "read-only": Cannot("numba-cuda has no read-only arrays: what it makes of one may be written", AssertionError),
    "broadcast strides": Cannot("numba-cuda does not follow strides of 0", AssertionError),
    "at once": Cannot("numba-cuda waits on the host for the stream of CAI", AssertionError),
}


def as_cuda_array(array: ep.Array) -> Any:
    return pytest.importorskip("numba.cuda").as_cuda_array(array)


ON_DEVICE = [place for place in CUDA if place.kind == "device"]
WAYS = [Out("numba.cuda.as_cuda_array(a)", Numba(), as_cuda_array, ON_DEVICE, NUMPY_DTYPES, CANNOT_TAKE, at_once=True)]

test_pair = matrix(WAYS)


class TestIn:
    @pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "float16", "float32", "float64", "complex64"])
    def test_every_layout(self, cuda: Any, dtype: str) -> None:
        numbers = np.arange(24).reshape(4, 6).astype(dtype)
        whole = cuda.to_device(numbers)
        for index in (np.s_[:], np.s_[1:3, 2:], np.s_[:, ::2], np.s_[4:]):
            array = ep.asarray(whole[index])
            assert array.shape == numbers[index].shape
            if array.size:
                assert array.data_ptr == whole.__cuda_array_interface__["data"][0] + (
                    numbers[index].ctypes.data - numbers.ctypes.data
                )
                assert values(array).tolist() == numbers[index].tolist()
        assert values(ep.asarray(whole.T)).tolist() == numbers.T.tolist()

    def test_a_write_is_seen_on_both_sides_and_the_object_is_kept(self, cuda: Any) -> None:
        theirs = cuda.to_device(np.zeros(6, "int32"))
        array, gone = ep.asarray(theirs), weakref.ref(theirs)
        ep.fill(array, 7).wait()
        assert theirs.copy_to_host().tolist() == [7] * 6
        theirs.copy_to_device(np.arange(6, dtype="int32"))
        cuda.synchronize()  # the call returns before the device has the elements
        assert values(array).tolist() == [0, 1, 2, 3, 4, 5]
        del theirs
        gc.collect()
        assert gone() is not None
        del array
        gc.collect()
        assert gone() is None

    def test_its_streams_are_queues(self, cuda: Any) -> None:
        stream = cuda.stream()
        if not hasattr(stream, "__cuda_stream__"):
            pytest.skip("this numba-cuda's streams do not speak __cuda_stream__")
        array = ep.full(4, 3, "int32", queue=stream)
        stream.synchronize()
        assert values(array).tolist() == [3] * 4


class TestOut:
    @pytest.mark.parametrize("kind", ["device", "shared"])
    def test_it_is_the_same_memory(self, cuda: Any, kind: str) -> None:
        array = ep.full((4, 6), 3, "int32", device="cuda:0", kind=kind)
        theirs = cuda.as_cuda_array(array)
        assert (address_of(theirs), theirs.shape, theirs.strides) == (array.data_ptr, (4, 6), (24, 4))
        assert theirs.copy_to_host().tolist() == [[3] * 6] * 4
        assert cuda.as_cuda_array(array[1:, ::2]).strides == (24, 8)
        theirs.copy_to_device(np.arange(24, dtype="int32").reshape(4, 6))
        cuda.synchronize()
        assert values(array)[3].tolist() == list(range(18, 24))

    def test_it_keeps_the_memory(self, cuda: Any) -> None:
        array = ep.full(6, 3, "int32", device="cuda:0")
        gone = weakref.ref(array)
        theirs = cuda.as_cuda_array(array)
        del array
        gc.collect()
        assert gone() is not None
        assert theirs.copy_to_host().tolist() == [3] * 6
        del theirs
        gc.collect()
        assert gone() is None

    def test_it_comes_behind_our_work(self, cuda: Any) -> None:
        array = ep.zeros(6, "int32", device="cuda:0", queue=ep.Queue("cuda:0"))
        cuda_kernels.launch(array)
        assert cuda.as_cuda_array(array).copy_to_host()[0] == cuda_kernels.RESULT
