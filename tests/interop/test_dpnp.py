"""dpnp: DLPack and SUAI in, DLPack and its own array protocol out, in device, host and shared memory, in the right order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interop import slow
from interop.pairs import NUMPY_DTYPES, In, Out, Peer, View, matrix, numbers, ours, values_of
from places import SYCL, Place

import entrepot as ep

dpctl = pytest.importorskip("dpctl")
dpnp = pytest.importorskip("dpnp")
pytestmark = [pytest.mark.host, pytest.mark.sycl, pytest.mark.numpy, pytest.mark.dpctl, pytest.mark.dpnp]


class Dpnp(Peer):
    name = "dpnp"

    def make(self, place: Place, dtype: str) -> Any:
        return self.make_on(dpctl.SyclQueue(place.selector), place.kind, dtype)

    def make_on(self, queue: Any, kind: str, dtype: str = "int32") -> Any:
        return dpnp.asarray(numbers().astype(dtype), usm_type=kind, sycl_queue=queue)

    def broadcast(self, obj: Any, shape: tuple[int, ...]) -> Any:
        return dpnp.broadcast_to(obj, shape)

    def make_read_only(self, place: Place) -> Any:
        obj = self.make(place, "int32")
        obj.flags.writable = False
        return obj

    def start_slow_kernel(self, obj: Any) -> None:
        slow.launch_on_dpctl(obj.sycl_queue, obj.get_array().usm_data)

    def view(self, obj: Any) -> View:
        if isinstance(obj, dpnp.ndarray):
            obj = obj.get_array()
        return View(obj._pointer, obj.shape, obj.strides, not obj.flags.writable)

    def values(self, obj: Any) -> np.ndarray:
        return dpnp.tensor.asnumpy(obj) if isinstance(obj, dpnp.tensor.usm_ndarray) else dpnp.asnumpy(obj)

    def write(self, obj: Any, value: int) -> None:
        obj[0, 0] = value
        obj.sycl_queue.wait()


PEER = Dpnp()

WAYS = [
    In("asarray(x)", PEER, ep.asarray, SYCL, NUMPY_DTYPES),
    In("asarray(x, protocol='suai')", PEER, lambda x: ep.asarray(x, protocol="suai"), SYCL, NUMPY_DTYPES),
    In("asarray(x, protocol='dlpack')", PEER, lambda x: ep.asarray(x, protocol="dlpack"), SYCL, NUMPY_DTYPES),
    Out("dpnp.from_dlpack(a)", PEER, dpnp.from_dlpack, SYCL, NUMPY_DTYPES),
    Out("dpnp.asarray(a)", PEER, dpnp.asarray, SYCL, NUMPY_DTYPES),
    Out("dpnp.tensor.from_dlpack(a)", PEER, dpnp.tensor.from_dlpack, SYCL, NUMPY_DTYPES),
]

test_pair = matrix(WAYS)
