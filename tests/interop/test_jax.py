"""JAX on the CPU, whose arrays are immutable: DLPack both ways, and the alignment that it asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interop.pairs import HOST_ACCESSIBLE, Cannot, In, Out, Peer, View, matrix
from places import Place

import entrepot as ep

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.jax]

DTYPES = tuple(
    "bool int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64 bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()
)


class Jax(Peer):
    name = "jax"

    def make(self, place: Place, dtype: str) -> Any:
        return jnp.arange(24, dtype="int32").reshape(4, 6).astype(dtype)

    def make_read_only(self, place: Place) -> Any:
        return self.make(place, "int32")

    def view(self, obj: Any) -> View:
        return View(obj.unsafe_buffer_pointer(), obj.shape)

    def values(self, obj: Any) -> np.ndarray:
        return np.array(obj)


PEER = Jax()

WAYS = [
    In("asarray(x)", PEER, ep.asarray, dtypes=DTYPES),
    In("asarray(x, protocol='dlpack')", PEER, lambda x: ep.asarray(x, protocol="dlpack"), dtypes=DTYPES),
    In("asarray(x, protocol='buffer')", PEER, lambda x: ep.asarray(x, protocol="buffer"), dtypes=DTYPES),
    Out("jax.dlpack.from_dlpack(a.host(), copy=False)", PEER, lambda a: jax.dlpack.from_dlpack(a.host(), copy=False), HOST_ACCESSIBLE, DTYPES),
]

test_pair = matrix(WAYS)
