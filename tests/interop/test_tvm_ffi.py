"""apache-tvm-ffi: the C exchange API for arguments and results of its functions, DLPack for its
tensors."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.driver_memory import OnStream, producer
from interop.pairs import (
    EVERYWHERE,
    LAYOUTS,
    NUMPY_DTYPES,
    Cannot,
    In,
    Out,
    Peer,
    View,
    Way,
    host_values,
    matrix,
    numbers,
)
from support.places import CUDA, Place, every_place
from support.tensors import Legacy

tvm_ffi = pytest.importorskip("tvm_ffi")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.tvm_ffi]

REAL_DTYPES = tuple(dtype for dtype in NUMPY_DTYPES if "complex" not in dtype)
MORE_DTYPES = (
    *REAL_DTYPES,
    *"bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz "
    "float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu".split(),
)


def writable_broadcast(row: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(
        row, shape, (0, *row.strides)
    )  # NumPy's own is read-only, which a tensor cannot be


class TvmFfi(Peer):
    """Tensors are handles: a library that imports them reads and writes them."""

    name = "tvm_ffi"

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        if dtype not in REAL_DTYPES:  # NumPy gives none of these by DLPack
            return tvm_ffi.from_dlpack(ep.empty((4, 6), dtype, device="host"))
        return tvm_ffi.from_dlpack(LAYOUTS[layout](numbers().astype(dtype), writable_broadcast))

    def view(self, obj: Any) -> View:
        return View(obj.data_ptr(), tuple(obj.shape), tuple(obj.strides), False)

    def values(self, obj: Any) -> np.ndarray:
        if obj.device.type == "cpu":
            return np.from_dlpack(obj).copy()
        ep.asarray(
            obj
            # the current stream, on which the API has it ready: a host waits for that itself
        ).device.queue.wait()
        return host_values(ep.asarray(obj))

    def write(self, obj: Any, value: int) -> None:
        ep.fill(ep.asarray(obj)[0, 0, ...], value).wait()


class TvmFfiCuda(OnStream, TvmFfi):
    """Device memory of another owner; functions work on the stream that is set."""

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        return tvm_ffi.from_dlpack(producer(dtype, layout, form=Legacy))

    def on(self) -> contextlib.AbstractContextManager[Any]:
        return (
            tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), self.number)
            if self.own_stream
            else contextlib.nullcontext()
        )


PEER = TvmFfi()


def as_argument(array: ep.Array) -> Any:
    """The argument that a function receives when called with the array."""
    arguments: list[Any] = []
    tvm_ffi.convert(arguments.append)(array)
    return arguments.pop()


NO_FLAG = "tensors of tvm_ffi have no read-only flag"
CANNOT_MAKE = Cannot.lacks(NO_FLAG, "read-only")
KNOWS_NO_STREAM = {
    "order": Cannot("a tensor's __dlpack__ passes over the stream that it is given", AssertionError)
}
CANNOT_TAKE = {
    "read-only": Cannot(NO_FLAG, AssertionError),
    "sub-devices": Cannot(
        "DLPack has no word for a context; a.host() is the host's", ep.ExchangeError
    ),
}

ON_DEVICE = [place for place in CUDA if place.kind == "device"]
ELSEWHERE = [place for place in EVERYWHERE if place not in ON_DEVICE]
ON_DEVICE_DTYPES = (
    *MORE_DTYPES,
    "complex64",
    "complex128",
)  # NumPy gives no complex ones by DLPack
NO_CONTEXTS = {name: cannot for name, cannot in CANNOT_TAKE.items() if name != "sub-devices"}


def on_device(peer: TvmFfiCuda) -> list[Way]:
    name = peer.stream_name
    return [
        In(
            f"asarray(t), {name}",
            peer,
            peer.on_stream(ep.asarray),
            ON_DEVICE,
            ON_DEVICE_DTYPES,
            CANNOT_MAKE | (KNOWS_NO_STREAM if peer.own_stream else {}),
            at_once=True,
        ),
        Out(
            f"tvm_ffi.from_dlpack(a), {name}",
            peer,
            peer.on_stream(tvm_ffi.from_dlpack),
            ON_DEVICE,
            MORE_DTYPES,
            NO_CONTEXTS,
            at_once=True,
        ),
        Out(
            f"function(a), {name}",
            peer,
            peer.on_stream(as_argument),
            ON_DEVICE,
            MORE_DTYPES,
            NO_CONTEXTS,
            at_once=True,
        ),
    ]


WAYS = [
    In("asarray(t)", PEER, ep.asarray, dtypes=MORE_DTYPES, cannot=CANNOT_MAKE),
    Out("tvm_ffi.from_dlpack(a)", PEER, tvm_ffi.from_dlpack, ELSEWHERE, MORE_DTYPES, CANNOT_TAKE),
    Out("function(a)", PEER, as_argument, ELSEWHERE, MORE_DTYPES, CANNOT_TAKE),
    *(way for own_stream in (False, True) for way in on_device(TvmFfiCuda(own_stream=own_stream))),
]

test_pair = matrix(WAYS)


@every_place
def test_array_round_trips_through_a_function(place: Place) -> None:
    """Both directions of Entrepot's exchange API: tvm_ffi makes results in the type of the
    arguments."""
    array = place.empty((4, 6), "float32")
    back = tvm_ffi.get_global_func("testing.echo")(array[1:, ::2])
    assert type(back) is ep.Array
    assert (back.data_ptr, back.shape, back.strides) == (array[1:].data_ptr, (3, 3), (6, 2))
    assert (back.kind, back.device, back.context) == (array.kind, array.device, array.context)
