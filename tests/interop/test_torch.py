"""PyTorch on the CPU: the C exchange API and DLPack in, DLPack, buffers and NumPy's interface out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interop.pairs import HOST_ACCESSIBLE, NUMPY_DTYPES, Cannot, In, Out, Peer, View, matrix, numbers
from places import Place

import entrepot as ep

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.torch]

MORE_DTYPES = (
    *NUMPY_DTYPES,
    *"bfloat16 complex32 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split(),
)


class Torch(Peer):
    name = "torch"

    def make(self, place: Place, dtype: str) -> Any:
        return torch.arange(24, dtype=torch.int32).reshape(4, 6).to(getattr(torch, dtype))

    def view(self, obj: Any) -> View:
        return View(obj.data_ptr(), tuple(obj.shape), obj.stride())

    def values(self, obj: Any) -> np.ndarray:
        return np.array(obj.tolist())

    def write(self, obj: Any, value: int) -> None:
        obj[0, 0] = value


PEER = Torch()
NO_NEGATIVE = Cannot("PyTorch has no negative strides", Exception)
NO_FLAG = Cannot("PyTorch has no read-only tensors", AssertionError)
CANNOT_MAKE = {
    "negative strides": NO_NEGATIVE,
    "read-only": Cannot("PyTorch has no read-only tensors", how=None),
}
CANNOT_TAKE = {"negative strides": NO_NEGATIVE, "read-only": NO_FLAG}

WAYS = [
    In("asarray(t)", PEER, ep.asarray, dtypes=MORE_DTYPES, cannot=CANNOT_MAKE),
    In("asarray(t, protocol='dlpack')", PEER, lambda t: ep.asarray(t, protocol="dlpack"), dtypes=MORE_DTYPES, cannot=CANNOT_MAKE),
    Out("torch.from_dlpack(a.host())", PEER, lambda a: torch.from_dlpack(a.host()), HOST_ACCESSIBLE, MORE_DTYPES, CANNOT_TAKE),
    Out("torch.asarray(a)", PEER, torch.asarray, HOST_ACCESSIBLE, NUMPY_DTYPES, CANNOT_TAKE),
    Out("torch.as_tensor(a)", PEER, torch.as_tensor, HOST_ACCESSIBLE, NUMPY_DTYPES, CANNOT_TAKE),
]

test_pair = matrix(WAYS)
