"""cuda.core: StridedMemoryView both ways, its streams as queues, and queues as its streams."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop import driver_memory
from interop.driver_memory import OnStream
from interop.pairs import (
    NUMPY_DTYPES,
    SHAPED,
    Cannot,
    In,
    Out,
    View,
    Way,
    host_values,
    is_released,
    matrix,
    write_by_driver,
)
from support import cuda_kernels
from support.cuda_streams import LEGACY
from support.places import CUDA, Place, values_of

core = pytest.importorskip("cuda.core")
utils = pytest.importorskip("cuda.core.utils")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.cuda, pytest.mark.cuda_core]


def current_device() -> Any:
    device = core.Device(0)
    device.set_current()
    return device


@pytest.fixture(autouse=True)
def device() -> Any:
    return current_device()


def numbers() -> ep.Array:
    array = ep.empty((4, 6), "int32", device="cuda:0")
    for row in range(4):
        ep.fill(array[row], row)
    return array


class CudaCore(OnStream):
    """Views, read by copies that Entrepot makes after the work of the views' stream."""

    name = "cuda_core"

    @functools.cached_property
    def stream(self) -> Any:
        return current_device().create_stream()

    @property
    def number(self) -> int:
        return int(self.stream.handle) if self.own_stream else LEGACY

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        return utils.StridedMemoryView.from_dlpack(
            driver_memory.producer(dtype, layout), stream_ptr=-1
        )

    def make_read_only(self, place: Place) -> Any:
        return utils.StridedMemoryView.from_dlpack(
            driver_memory.producer(read_only=True), stream_ptr=-1
        )

    def view(self, obj: Any) -> View:
        return View(obj.ptr, tuple(obj.shape), obj.strides and tuple(obj.strides), obj.readonly)

    def values(self, obj: Any) -> np.ndarray:
        if self.own_stream:
            self.stream.sync()
        return host_values(ep.asarray(obj))

    def write(self, obj: Any, value: int) -> None:
        write_by_driver(obj.ptr, value)

    def dtype_of(self, obj: Any) -> str:
        return str(obj.dtype)


class Buffers(CudaCore):
    """Buffers of bytes, which belong to the stream that they were allocated on."""

    def make(self, place: Place, dtype: str = "int8", layout: str = "whole") -> Any:
        buffer = current_device().allocate(driver_memory.BYTES, stream=self.stream)
        self.stream.sync()
        driver_memory.put(int(buffer.handle), np.arange(24, dtype="int32"))
        return buffer

    def view(self, obj: Any) -> View:
        return View(int(obj.handle), (obj.size,), read_only=False)

    def values(self, obj: Any) -> np.ndarray:
        return driver_memory.got(int(obj.handle), "int8", obj.size)

    def write(self, obj: Any, value: int) -> None:
        write_by_driver(int(obj.handle), value)

    def expected(self, values: np.ndarray) -> np.ndarray:
        return np.frombuffer(values.tobytes(), "int8")


ON_DEVICE = [place for place in CUDA if place.kind == "device"]
REACHABLE = [place for place in CUDA if place.kind != "host"]
NO_STREAM = Cannot("cuda.core's DLPack exports are ordered after no stream", AssertionError)
NO_OWN_STREAM = Cannot(
    "the table of cuda.core's views says that their stream is the default one", AssertionError
)
NO_BUFFER = Cannot.lacks("buffers of cuda.core have no shape", *SHAPED) | Cannot.lacks(
    "they may be written", "read-only"
)


def ways(peer: CudaCore) -> list[Way]:
    name = peer.stream_name
    by_table = {"order": NO_OWN_STREAM} if peer.own_stream else {}
    by_dlpack = {"order": NO_STREAM} if peer.own_stream else {}
    return [
        In(
            f"asarray(view), {name}",
            peer,
            ep.asarray,
            ON_DEVICE,
            NUMPY_DTYPES,
            by_table,
            at_once=True,
        ),
        In(
            f"asarray(view, protocol='dlpack'), {name}",
            peer,
            lambda view: ep.asarray(view, protocol="dlpack"),
            ON_DEVICE,
            NUMPY_DTYPES,
            by_dlpack,
            at_once=True,
        ),
        *(
            Out(
                f"StridedMemoryView.from_{protocol}(a), {name}",
                peer,
                functools.partial(view_of, protocol=protocol, stream=peer.number),
                REACHABLE,
                NUMPY_DTYPES,
                at_once=True,
            )
            for protocol in VIEWS
        ),
    ]


def view_of(array: ep.Array, *, protocol: str, stream: int) -> Any:
    current_device()  # whose event it is that one stream waits for
    return VIEWS[protocol](array, stream)


VIEWS = {
    "dlpack": lambda array, stream: utils.StridedMemoryView.from_dlpack(array, stream_ptr=stream),
    "cai": lambda array, stream: utils.StridedMemoryView.from_cuda_array_interface(
        array, stream_ptr=stream
    ),
}


WAYS = [way for own_stream in (False, True) for way in ways(CudaCore(own_stream=own_stream))]
WAYS += [
    In(
        "asarray(buffer), own stream",
        Buffers(own_stream=True),
        ep.asarray,
        ON_DEVICE,
        ("int8",),
        NO_BUFFER | {"order": NO_STREAM},
        at_once=True,
    )
]

test_pair = matrix(WAYS)


@pytest.mark.parametrize("protocol", VIEWS)
class TestOut:
    def test_view_shares_the_memory(self, protocol: str) -> None:
        array = numbers()
        view = VIEWS[protocol](array, 1)
        assert (view.ptr, tuple(view.shape), view.device_id, view.is_device_accessible) == (
            array.data_ptr,
            (4, 6),
            0,
            True,
        )
        part = VIEWS[protocol](array[1:, ::2], 1)
        assert (part.ptr, tuple(part.strides)) == (array[1:, ::2].data_ptr, (6, 2))

    def test_view_keeps_the_memory_alive(self, protocol: str) -> None:
        memory = numbers()
        owner = Owner(memory)
        array, gone = ep.asarray(owner), weakref.ref(owner)
        view = VIEWS[protocol](array, 1)
        del owner, array
        gc.collect()
        assert gone() is not None
        del view
        gc.collect()
        assert is_released(gone)

    def test_stream_of_the_view_waits_for_pending_work(self, protocol: str, device: Any) -> None:
        array, stream = (
            ep.zeros(6, "int32", device="cuda:0", queue=ep.Queue("cuda:0")),
            device.create_stream(),
        )
        array.queue.wait()
        done = cuda_kernels.launch(array)
        VIEWS[protocol](array, int(stream.handle))
        assert not done.done, "the call waited"
        stream.sync()
        assert done.done


class Owner:
    def __init__(self, memory: ep.Array) -> None:
        self.memory = memory

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.memory.__cuda_array_interface__


class TestIn:
    def test_strided_memory_view_is_imported(self) -> None:
        array = numbers()
        view = VIEWS["dlpack"](array, 1)
        again = ep.asarray(view)
        assert (again.data_ptr, again.shape) == (array.data_ptr, array.shape)
        assert values_of(again)[3].tolist() == [3] * 6

    def test_buffer_is_imported(self, device: Any) -> None:
        stream = device.create_stream()
        buffer = device.allocate(64, stream=stream)
        array = ep.asarray(buffer)
        assert (array.data_ptr, array.nbytes, array.kind) == (int(buffer.handle), 64, "device")
        ep.fill(array, 3).wait()
        assert set(values_of(array).tolist()) == {3}


class TestStreams:
    def test_cuda_core_stream_is_a_queue(self, device: Any) -> None:
        stream = device.create_stream()
        array = ep.full(4, 3, "int32", queue=stream)
        stream.sync()
        assert values_of(array).tolist() == [3] * 4
        assert ep.Queue(stream).__cuda_stream__() == (0, int(stream.handle))

    def test_queue_is_accepted_as_a_stream(self, device: Any) -> None:
        queue = ep.Queue("cuda:0")
        assert int(device.create_stream(queue).handle) == queue.__cuda_stream__()[1]
