"""nanobind: its own arrays, in an extension that is independent of Entrepot, on the host and on
CUDA."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.driver_memory import OnStream, producer
from interop.pairs import (
    HOST_ACCESSIBLE,
    LAYOUTS,
    NUMPY_DTYPES,
    Cannot,
    In,
    Out,
    Peer,
    View,
    host_values,
    matrix,
    numbers,
)
from support.cuda_streams import DefaultStream
from support.modules import load_module
from support.places import CUDA, HOST, Place

pytest.importorskip("nanobind")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.nanobind]

ON_DEVICE = [place for place in CUDA if place.kind == "device"]
MORE_DTYPES = (*NUMPY_DTYPES, *"bfloat16 float8_e4m3fn float8_e5m2".split())


@functools.cache
def extension() -> Any:
    from interop.nanobind_extension import built

    return load_module(built(), "nanobind_arrays")


class Nanobind(Peer):
    """Arrays that the extension holds; NumPy and Entrepot's copies read and write them."""

    name = "nanobind"

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        row = LAYOUTS[layout](
            numbers().astype(dtype),
            lambda x, shape: np.lib.stride_tricks.as_strided(x, shape, (0, *x.strides)),
        )
        return extension().take(row)

    def view(self, obj: Any) -> View:
        return View(obj.address, tuple(obj.shape), tuple(obj.strides), obj.read_only)

    def values(self, obj: Any) -> np.ndarray:
        return host_values(ep.asarray(obj.give()))

    def write(self, obj: Any, value: int) -> None:
        ep.fill(ep.asarray(obj.give())[0, 0, ...], value).wait()

    def dtype_of(self, obj: Any) -> str:
        return {4: "bfloat16", 6: "bool", 10: "float8_e4m3fn", 12: "float8_e5m2"}.get(
            obj.dtype[0],
            f"{({0: 'int', 1: 'uint', 2: 'float', 5: 'complex'}).get(obj.dtype[0])}{obj.dtype[1]}",
        )

    def make_read_only(self, place: Place) -> Any:
        whole = numbers()
        whole.flags.writeable = False
        return extension().take_read_only(whole)


class NanobindCuda(OnStream, Nanobind):
    """Device memory passed to the extension, ready on the default stream: it names no stream."""

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        return extension().take(producer(dtype, layout))

    def make_read_only(self, place: Place) -> Any:
        return extension().take_read_only(producer(read_only=True))

    def values(self, obj: Any) -> np.ndarray:
        return host_values(ep.asarray(obj.give(), queue=DefaultStream()))


PEER = Nanobind()


def take(array: ep.Array) -> Any:
    return extension().take_read_only(array) if array.read_only else extension().take(array)


def given(held: Any) -> ep.Array:
    return ep.asarray(held.give())


# An array without a stream is treated as used on the legacy default stream.
KNOWS_NO_STREAM = {"order": Cannot("nanobind's arrays know no stream", AssertionError)}

WAYS = [
    In("asarray(nb::ndarray)", PEER, given, (HOST,), NUMPY_DTYPES),
    *(
        In(
            f"asarray(nb::ndarray), {peer.stream_name}",
            peer,
            given,
            ON_DEVICE,
            MORE_DTYPES,
            cannot,
            at_once=True,
        )
        for peer, cannot in ((NanobindCuda(), {}), (NanobindCuda(own_stream=True), KNOWS_NO_STREAM))
    ),
    Out("nb::ndarray(a)", PEER, take, HOST_ACCESSIBLE, MORE_DTYPES),
    Out("nb::ndarray(a)", NanobindCuda(), take, ON_DEVICE, MORE_DTYPES, at_once=True),
]

test_pair = matrix(WAYS)
