"""NumPy: every way in and out, on every memory that the host can reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interop.pairs import HOST_ACCESSIBLE, NUMPY_DTYPES, Cannot, In, Out, Peer, View, matrix, numbers
from places import SYCL, Place

import entrepot as ep

pytestmark = [pytest.mark.host, pytest.mark.numpy]


class NumPy(Peer):
    name = "numpy"

    def make(self, place: Place, dtype: str) -> np.ndarray:
        return numbers().astype(dtype)

    def view(self, obj: np.ndarray) -> View:
        strides = tuple(stride // obj.itemsize for stride in obj.strides)
        return View(obj.ctypes.data, obj.shape, strides, not obj.flags.writeable)

    def values(self, obj: np.ndarray) -> np.ndarray:
        return obj.copy()

    def write(self, obj: np.ndarray, value: int) -> None:
        obj[0, 0] = value

    def broadcast(self, obj: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return np.broadcast_to(obj, shape)

    def make_read_only(self, place: Place) -> np.ndarray:
        obj = numbers()
        obj.flags.writeable = False
        return obj


PEER = NumPy()


class Disguised:
    """An array that shows one attribute only, as an object of a library that NumPy does not know."""

    def __init__(self, array: np.ndarray, attribute: str) -> None:
        self.array = array
        setattr(self, attribute, getattr(array, attribute))


def by(protocol: str) -> In:
    return In(f"asarray(x, protocol={protocol!r})", PEER, lambda x: ep.asarray(x, protocol=protocol), dtypes=NUMPY_DTYPES)


WAYS = [
    In("asarray(x)", PEER, ep.asarray, dtypes=NUMPY_DTYPES),
    by("numpy"),
    by("dlpack"),
    by("buffer"),
    by("array_interface"),
    by("array_struct"),
    Out("np.asarray(a)", PEER, np.asarray, HOST_ACCESSIBLE, NUMPY_DTYPES),
    Out("np.from_dlpack(a, device='cpu')", PEER, lambda a: np.from_dlpack(a, device="cpu"), HOST_ACCESSIBLE, NUMPY_DTYPES),
    Out("np.from_dlpack(a.host())", PEER, lambda a: np.from_dlpack(a.host()), HOST_ACCESSIBLE, NUMPY_DTYPES),
    Out("a.numpy()", PEER, lambda a: a.numpy(), HOST_ACCESSIBLE, NUMPY_DTYPES),
    Out("np.array(a, copy=False)", PEER, lambda a: np.array(a, copy=False), HOST_ACCESSIBLE, NUMPY_DTYPES),
]

test_pair = matrix(WAYS)
