"""PyTorch on the CPU: the C exchange API and DLPack in, DLPack, buffers and NumPy's interface out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.pairs import HOST_ACCESSIBLE, LAYOUTS, NUMPY_DTYPES, Cannot, In, Out, Peer, View, matrix
from places import Place

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.torch]

MORE_DTYPES = (
    *NUMPY_DTYPES,
    *"bfloat16 complex32 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split(),
)


class Torch(Peer):
    name = "torch"

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        whole = torch.arange(24, dtype=torch.int32).reshape(4, 6).to(getattr(torch, dtype))
        return LAYOUTS[layout](whole, torch.broadcast_to)

    def view(self, obj: Any) -> View:
        return View(obj.data_ptr(), tuple(obj.shape), obj.stride(), False)

    def values(self, obj: Any) -> np.ndarray:
        return np.array(obj.tolist())

    def dtype_of(self, obj: Any) -> str:
        return str(obj.dtype).removeprefix("torch.")

    def write(self, obj: Any, value: int) -> None:
        obj[0, 0] = value


PEER = Torch()
NO_FLAG = "PyTorch has no read-only tensors: what it makes of one may be written"
CANNOT_MAKE = {
    "negative strides": Cannot("PyTorch has no negative strides", ValueError),
    "read-only": Cannot(NO_FLAG, how=None),
}
CANNOT_TAKE = {
    "negative strides": Cannot("PyTorch has no negative strides", RuntimeError),
    "read-only": Cannot(NO_FLAG, AssertionError),
}

WAYS = [
    In("asarray(t)", PEER, ep.asarray, dtypes=MORE_DTYPES, cannot=CANNOT_MAKE),
    In("asarray(t, protocol='dlpack')", PEER, lambda t: ep.asarray(t, protocol="dlpack"), dtypes=MORE_DTYPES, cannot=CANNOT_MAKE),
    Out("torch.from_dlpack(a.host())", PEER, lambda a: torch.from_dlpack(a.host()), HOST_ACCESSIBLE, MORE_DTYPES, CANNOT_TAKE),
    Out("torch.as_tensor(a.host())", PEER, lambda a: torch.as_tensor(a.host()), HOST_ACCESSIBLE, MORE_DTYPES, CANNOT_TAKE),
]

test_pair = matrix(WAYS)
