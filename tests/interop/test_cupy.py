"""CuPy: DLPack and the CUDA array interface both ways, on its default stream and on one of its
own.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.pairs import (
    COPIES,
    LAYOUTS,
    NUMPY_DTYPES,
    Cannot,
    In,
    Out,
    SynchronizingPeer,
    View,
    Way,
    matrix,
)
from support import cuda_kernels
from support.c_interface import c_interface
from support.places import CUDA, Place

cupy = pytest.importorskip("cupy")
cupyx = pytest.importorskip("cupyx")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.cupy]

MORE_DTYPES = {"ml_dtypes": ("bfloat16", "float8_e4m3fn")}
ON_DEVICE = [place for place in CUDA if place.kind != "host"]


@functools.cache
def slow_kernel() -> Any:
    return cupy.RawKernel(cuda_kernels.SOURCE, "slow")


class CuPy(SynchronizingPeer):
    name = "cupy"

    @functools.cached_property
    def stream(self) -> Any:
        return cupy.cuda.Stream(non_blocking=True) if self.own_stream else cupy.cuda.Stream.null

    def on(self) -> contextlib.AbstractContextManager[Any]:
        return self.stream

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        allocate = (
            cupy.cuda.malloc_managed
            if place.kind == "shared"
            else cupy.get_default_memory_pool().malloc
        )
        with self.on(), cupy.cuda.using_allocator(allocate):
            return LAYOUTS[layout](
                cupy.arange(24, dtype="int32").reshape(4, 6).astype(dtype), cupy.broadcast_to
            )

    def view(self, obj: Any) -> View:
        return View(
            obj.data.ptr, obj.shape, tuple(stride // obj.itemsize for stride in obj.strides), False
        )

    def values(self, obj: Any) -> np.ndarray:
        with self.on():
            return cupy.asnumpy(obj)

    def start_slow_kernel(self, obj: Any) -> None:
        with self.on():
            slow_kernel()((1,), (1,), (obj, np.int64(1)))
            self.stream.synchronize()
            obj.fill(0)
            slow_kernel()((1,), (1,), (obj, np.int64(cuda_kernels.TURNS)))

    def is_idle(self, obj: Any) -> bool:
        return self.stream.done


NO_FLAG = "CuPy has no read-only arrays: what it makes of one may be written"
WAITS = Cannot("CuPy waits on the host for the stream of CAI", AssertionError)
NO_FLOAT8 = {
    "dtype float8_e4m3fn": Cannot(
        "CuPy has no float8", (TypeError, ValueError, BufferError, RuntimeError)
    )
}
NO_BFLOAT16 = {
    "dtype bfloat16": Cannot(
        "CAI has no word for bfloat16", (TypeError, ValueError, BufferError, ep.ExchangeError)
    ),
}
COPIES_BFLOAT16 = {
    "dtype bfloat16": Cannot("CuPy copies by the buffer protocol what CAI has no word for", COPIES)
}
UNSIGNED = {
    "negative strides": Cannot(
        "CuPy's capsules say negative strides as unsigned numbers", ep.ExchangeError
    )
}


def ways(peer: CuPy) -> list[Way]:
    name = peer.stream_name
    cannot_make = Cannot.lacks(NO_FLAG, "read-only") | NO_FLOAT8
    cannot_take = {"read-only": Cannot(NO_FLAG, AssertionError)} | NO_FLOAT8
    return [
        In(
            f"asarray(x), {name}",
            peer,
            peer.on_stream(ep.asarray),
            ON_DEVICE,
            NUMPY_DTYPES,
            cannot_make,
            more_dtypes=MORE_DTYPES,
            at_once=True,
        ),
        In(
            f"asarray(x, protocol='dlpack'), {name}",
            peer,
            peer.on_stream(lambda x: ep.asarray(x, protocol="dlpack")),
            ON_DEVICE,
            NUMPY_DTYPES,
            cannot_make | UNSIGNED,
            more_dtypes=MORE_DTYPES,
            at_once=True,
        ),
        In(
            f"asarray(x, protocol='cai'), {name}",
            peer,
            peer.on_stream(lambda x: ep.asarray(x, protocol="cai")),
            ON_DEVICE,
            NUMPY_DTYPES,
            cannot_make | NO_BFLOAT16,
            more_dtypes=MORE_DTYPES,
            at_once=True,
        ),
        Out(
            f"cupy.from_dlpack(a), {name}",
            peer,
            peer.on_stream(cupy.from_dlpack),
            ON_DEVICE,
            NUMPY_DTYPES,
            cannot_take,
            more_dtypes=MORE_DTYPES,
            at_once=True,
        ),
        *(
            Out(
                f"cupy.asarray(a), {name}",
                peer,
                peer.on_stream(cupy.asarray),
                [place],
                NUMPY_DTYPES,
                cannot_take
                | {"at once": WAITS}
                | (COPIES_BFLOAT16 if place.host_accessible else NO_BFLOAT16),
                more_dtypes=MORE_DTYPES,
                at_once=True,
            )
            for place in ON_DEVICE
        ),
    ]


WAYS = [way for own_stream in (False, True) for way in ways(CuPy(own_stream=own_stream))]

test_pair = matrix(WAYS)


@pytest.mark.cuda
def test_cupy_stream_is_a_queue() -> None:
    for stream in (
        cupy.cuda.Stream(non_blocking=True),
        cupy.cuda.Stream(),
        cupy.cuda.Stream.null,
        cupy.cuda.Stream.ptds,
    ):
        array = ep.full(4, 3, "int32", queue=stream)
        stream.synchronize()
        assert cupy.asarray(array).tolist() == [3] * 4


@pytest.mark.cuda
def test_queue_of_array_keeps_cupys_stream_alive() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        queue = ep.asarray(cupy.zeros(4)).queue
    assert queue.__cuda_stream__()[1] == stream.ptr
    alive = weakref.ref(stream)
    del stream
    gc.collect()
    assert alive() is not None
    del queue
    gc.collect()
    assert alive() is None


@pytest.mark.cuda
def test_c_handle_keeps_cupys_stream_alive() -> None:
    table = c_interface()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        handle = table.from_object(cupy.zeros(4), 0)
        native = ctypes.c_void_p.from_address(table.native_queue(handle))
    assert native.value == stream.ptr
    alive = weakref.ref(stream)
    del stream
    gc.collect()
    assert alive() is not None
    table.release(handle)
    gc.collect()
    assert alive() is None


@pytest.mark.cuda
def test_queue_is_a_cupy_stream() -> None:
    queue = ep.Queue("cuda:0")
    with cupy.cuda.ExternalStream(queue.__cuda_stream__()[1]):
        array = cupy.arange(4)
    assert ep.asarray(array, queue=queue).copy_to_host().numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.cuda
def test_pinned_memory_is_imported_as_host_memory() -> None:
    theirs = cupyx.zeros_pinned((4, 6), "int32")
    array = ep.asarray(theirs)
    assert (array.data_ptr, array.kind) == (theirs.ctypes.data, "host")
    ep.fill(array, 7).wait()
    assert set(theirs.ravel().tolist()) == {7}


@pytest.mark.cuda
@pytest.mark.parametrize(
    ("take", "kind"),
    [
        (cupy.asarray, "host"),
        (cupy.asarray, "shared"),
        (cupy.from_dlpack, "shared"),  # it refuses pinned memory
    ],
    ids=["cai-host", "cai-shared", "dlpack-shared"],
)
def test_host_consumer_waits_for_cupys_kernel(take: Any, kind: str) -> None:
    peer = CuPy(own_stream=True)
    array = ep.zeros(2, "int32", device="cuda:0", kind=kind)
    with peer.on():
        theirs = take(array)
        peer.start_slow_kernel(theirs)
        assert not peer.is_idle(theirs), (
            "the kernel must be slow enough for a test to mean anything"
        )
        seen = np.from_dlpack(array)
        assert seen.ctypes.data == array.data_ptr
        assert seen[0] == cuda_kernels.RESULT
