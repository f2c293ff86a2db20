"""numba-cuda: the CUDA array interface both ways, on the default stream and on one of the arrays'
own.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.driver_memory import OnStream
from interop.pairs import (
    LAYOUTS,
    NUMPY_DTYPES,
    Cannot,
    In,
    Out,
    View,
    host_values,
    matrix,
    numbers,
    write_by_driver,
)
from support import cuda_kernels
from support.places import CUDA, Place, values_of

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # NumPy 2.5 dropped it, and numba-cuda 0.30 looks for it

pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.numba_cuda, pytest.mark.cuda]


@pytest.fixture(scope="module")
def cuda() -> Any:
    return pytest.importorskip("numba.cuda")


def address_of(device_array: Any) -> int:
    return device_array.__cuda_array_interface__["data"][0]


class Numba(OnStream):
    """Device arrays with no stream or a bound one; Entrepot's copies read them."""

    name = "numba_cuda"

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        cuda = pytest.importorskip("numba.cuda")
        content = numbers().astype(dtype)
        part = LAYOUTS[layout](content, np.broadcast_to)
        whole = cuda.to_device(content)
        cuda.synchronize()  # the call returns before the device has the elements
        interface = {
            "version": 3,
            "shape": part.shape,
            "strides": part.strides,
            "typestr": part.dtype.str,
            "data": (address_of(whole) + part.ctypes.data - content.ctypes.data, False),
        }
        if self.own_stream:
            interface["stream"] = self.number
        return cuda.from_cuda_array_interface(interface, owner=whole)

    def view(self, obj: Any) -> View:
        return View(
            address_of(obj),
            obj.shape,
            tuple(stride // obj.dtype.itemsize for stride in obj.strides),
            False,
        )

    def values(self, obj: Any) -> np.ndarray:
        return host_values(ep.asarray(obj))

    def write(self, obj: Any, value: int) -> None:
        write_by_driver(address_of(obj), value)


CANNOT_TAKE = {
    "read-only": Cannot(
        "numba-cuda has no read-only arrays: what it makes of one may be written", AssertionError
    ),
    "broadcast strides": Cannot("numba-cuda does not follow strides of 0", AssertionError),
    "at once": Cannot("numba-cuda waits on the host for the stream of CAI", AssertionError),
}


CANNOT_MAKE = {
    **Cannot.lacks("numba-cuda has no read-only arrays", "read-only"),
    "broadcast strides": CANNOT_TAKE["broadcast strides"],
}


def as_cuda_array(array: ep.Array) -> Any:
    return pytest.importorskip("numba.cuda").as_cuda_array(array)


ON_DEVICE = [place for place in CUDA if place.kind == "device"]
WAYS = [
    *(
        In(
            f"asarray(x), {peer.stream_name}",
            peer,
            ep.asarray,
            ON_DEVICE,
            NUMPY_DTYPES,
            CANNOT_MAKE,
            at_once=True,
        )
        for peer in (Numba(), Numba(own_stream=True))
    ),
    Out(
        "numba.cuda.as_cuda_array(a)",
        Numba(),
        as_cuda_array,
        CUDA,
        NUMPY_DTYPES,
        CANNOT_TAKE,
        at_once=True,
    ),
]

test_pair = matrix(WAYS)


class TestIn:
    @pytest.mark.parametrize(
        "dtype", ["bool", "int8", "int32", "float16", "float32", "float64", "complex64"]
    )
    def test_import_keeps_layout(self, cuda: Any, dtype: str) -> None:
        numbers = np.arange(24).reshape(4, 6).astype(dtype)
        whole = cuda.to_device(numbers)
        for index in (np.s_[:], np.s_[1:3, 2:], np.s_[:, ::2], np.s_[4:]):
            array = ep.asarray(whole[index])
            assert array.shape == numbers[index].shape
            if array.size:
                assert array.data_ptr == whole.__cuda_array_interface__["data"][0] + (
                    numbers[index].ctypes.data - numbers.ctypes.data
                )
                assert values_of(array).tolist() == numbers[index].tolist()
        assert values_of(ep.asarray(whole.T)).tolist() == numbers.T.tolist()

    def test_writes_are_shared_and_the_object_is_kept(self, cuda: Any) -> None:
        theirs = cuda.to_device(np.zeros(6, "int32"))
        array, gone = ep.asarray(theirs), weakref.ref(theirs)
        ep.fill(array, 7).wait()
        assert theirs.copy_to_host().tolist() == [7] * 6
        theirs.copy_to_device(np.arange(6, dtype="int32"))
        cuda.synchronize()  # the call returns before the device has the elements
        assert values_of(array).tolist() == [0, 1, 2, 3, 4, 5]
        del theirs
        gc.collect()
        assert gone() is not None
        del array
        gc.collect()
        assert gone() is None

    @pytest.mark.parametrize(
        ("make", "kind"), [("mapped_array", "host"), ("managed_array", "shared")]
    )
    def test_host_accessible_array_is_imported(self, cuda: Any, make: str, kind: str) -> None:
        theirs = getattr(cuda, make)((4, 6), "int32")
        theirs[:] = np.arange(24).reshape(4, 6)
        array = ep.asarray(theirs, protocol="cai")
        assert (array.data_ptr, array.kind, str(array.device)) == (
            theirs.ctypes.data,
            kind,
            "cuda:0",
        )
        assert values_of(array)[3].tolist() == list(range(18, 24))
        ep.fill(array, 7).wait()
        assert set(theirs.ravel().tolist()) == {7}

    def test_pinned_array_is_host_memory(self, cuda: Any) -> None:
        theirs = cuda.pinned_array(6, "int32")
        theirs[:] = 3
        array = ep.asarray(theirs)
        assert (array.data_ptr, array.kind) == (theirs.ctypes.data, "host")
        assert array.numpy().tolist() == [3] * 6

    def test_numba_stream_is_a_queue(self, cuda: Any) -> None:
        stream = cuda.stream()
        if not hasattr(stream, "__cuda_stream__"):
            pytest.skip("this numba-cuda's streams do not speak __cuda_stream__")
        array = ep.full(4, 3, "int32", queue=stream)
        stream.synchronize()
        assert values_of(array).tolist() == [3] * 4


class TestOut:
    @pytest.mark.parametrize("kind", ["device", "shared"])
    def test_device_array_shares_the_memory(self, cuda: Any, kind: str) -> None:
        array = ep.full((4, 6), 3, "int32", device="cuda:0", kind=kind)
        theirs = cuda.as_cuda_array(array)
        assert (address_of(theirs), theirs.shape, theirs.strides) == (
            array.data_ptr,
            (4, 6),
            (24, 4),
        )
        assert theirs.copy_to_host().tolist() == [[3] * 6] * 4
        assert cuda.as_cuda_array(array[1:, ::2]).strides == (24, 8)
        theirs.copy_to_device(np.arange(24, dtype="int32").reshape(4, 6))
        cuda.synchronize()
        assert values_of(array)[3].tolist() == list(range(18, 24))

    def test_device_array_keeps_the_memory_alive(self, cuda: Any) -> None:
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

    def test_device_array_waits_for_pending_work(self, cuda: Any) -> None:
        array = ep.zeros(6, "int32", device="cuda:0", queue=ep.Queue("cuda:0"))
        cuda_kernels.launch(array)
        assert cuda.as_cuda_array(array).copy_to_host()[0] == cuda_kernels.RESULT
