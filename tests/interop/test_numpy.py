"""NumPy: every way in and out, on every memory that the host can reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.pairs import (
    HOST_ACCESSIBLE,
    LAYOUTS,
    NUMPY_DTYPES,
    In,
    Out,
    Peer,
    View,
    matrix,
    numbers,
)
from support.places import Place

pytestmark = [pytest.mark.host, pytest.mark.numpy]


ML_DTYPES = {
    "ml_dtypes": tuple(
        "bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz "
        "float8_e5m2 float8_e5m2fnuz "
        "float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn".split()
    )
}


class NumPy(Peer):
    name = "numpy"

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> np.ndarray:
        return LAYOUTS[layout](numbers().astype(self.type_of(dtype)), np.broadcast_to)

    def type_of(self, dtype: str) -> str | type:
        if dtype in NUMPY_DTYPES:
            return dtype
        import ml_dtypes

        return getattr(ml_dtypes, dtype)

    def view(self, obj: np.ndarray) -> View:
        strides = tuple(stride // obj.itemsize for stride in obj.strides)
        return View(obj.ctypes.data, obj.shape, strides, not obj.flags.writeable)

    def values(self, obj: np.ndarray) -> np.ndarray:
        return obj.copy()

    def write(self, obj: np.ndarray, value: int) -> None:
        obj[0, 0] = value

    def make_read_only(self, place: Place) -> np.ndarray:
        obj = numbers()
        obj.flags.writeable = False
        return obj


PEER = NumPy()


def by(protocol: str, **more: Any) -> In:
    return In(
        f"asarray(x, protocol={protocol!r})",
        PEER,
        lambda x: ep.asarray(x, protocol=protocol),
        dtypes=NUMPY_DTYPES,
        **more,
    )


WAYS = [
    In("asarray(x)", PEER, ep.asarray, dtypes=NUMPY_DTYPES, more_dtypes=ML_DTYPES),
    by("numpy", more_dtypes=ML_DTYPES),
    by("dlpack"),
    by("buffer"),
    by("array_interface"),
    by("array_struct"),
    Out("np.asarray(a)", PEER, np.asarray, HOST_ACCESSIBLE, NUMPY_DTYPES, more_dtypes=ML_DTYPES),
    Out(
        "np.from_dlpack(a, device='cpu')",
        PEER,
        lambda a: np.from_dlpack(a, device="cpu"),
        HOST_ACCESSIBLE,
        NUMPY_DTYPES,
    ),
    Out(
        "np.from_dlpack(a.host())",
        PEER,
        lambda a: np.from_dlpack(a.host()),
        HOST_ACCESSIBLE,
        NUMPY_DTYPES,
    ),
    Out(
        "a.numpy()", PEER, lambda a: a.numpy(), HOST_ACCESSIBLE, NUMPY_DTYPES, more_dtypes=ML_DTYPES
    ),
    Out(
        "np.array(a, copy=False)",
        PEER,
        lambda a: np.array(a, copy=False),
        HOST_ACCESSIBLE,
        NUMPY_DTYPES,
        more_dtypes=ML_DTYPES,
    ),
]

test_pair = matrix(WAYS)


@pytest.mark.sycl
class TestDeviceMemory:
    """Device memory never becomes an array of something else, such as Python objects."""

    def array(self) -> ep.Array:
        return ep.zeros((4, 6), "int32", device="opencl:cpu", kind="device")

    def test_device_memory_is_refused_with_advice(self) -> None:
        with pytest.raises(ep.ExchangeError, match="copy_to_host"):
            np.asarray(self.array())
        with pytest.raises(BufferError, match=r"\.to\('host'\)"):
            np.from_dlpack(self.array(), device="cpu")

    def test_device_memory_is_copied_on_request(self) -> None:
        assert np.from_dlpack(self.array(), device="cpu", copy=True).tolist() == [[0] * 6] * 4


@pytest.mark.sycl
def test_usm_needs_device_cpu_or_a_host_view() -> None:
    """np.from_dlpack and dpnp.from_dlpack make the same request, and dpnp must get USM."""
    array = ep.zeros(4, "int32", device="opencl:cpu", kind="shared")
    with pytest.raises((RuntimeError, BufferError), match="Unsupported device"):
        np.from_dlpack(array)
    assert (
        np.from_dlpack(array, device="cpu").ctypes.data
        == np.from_dlpack(array.host()).ctypes.data
        == array.data_ptr
    )
