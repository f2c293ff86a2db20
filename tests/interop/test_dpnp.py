"""dpnp: DLPack and SUAI in, DLPack and its own array protocol out, in every kind of memory, in
order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop import slow
from interop.pairs import (
    COPIES,
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
from support.places import SYCL, Place

dpctl = pytest.importorskip("dpctl")
dpnp = pytest.importorskip("dpnp")
pytestmark = [
    pytest.mark.host,
    pytest.mark.sycl,
    pytest.mark.numpy,
    pytest.mark.dpctl,
    pytest.mark.dpnp,
]


class Dpnp(Peer):
    name = "dpnp"

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        return LAYOUTS[layout](
            self.make_on(dpctl.SyclQueue(place.selector), place.kind, dtype), dpnp.broadcast_to
        )

    def make_on(self, queue: Any, kind: str, dtype: str = "int32") -> Any:
        return dpnp.asarray(numbers().astype(dtype), usm_type=kind, sycl_queue=queue)

    def make_read_only(self, place: Place) -> Any:
        obj = self.make(place)
        obj.flags.writable = False
        return obj

    def start_slow_kernel(self, obj: Any) -> None:
        slow.launch_on_dpctl(obj.sycl_queue, obj.get_array().usm_data)

    def view(self, obj: Any) -> View:
        if isinstance(obj, dpnp.ndarray):
            obj = obj.get_array()
        return View(obj._pointer, obj.shape, obj.strides, not obj.flags.writable)

    def values(self, obj: Any) -> np.ndarray:
        return (
            dpnp.tensor.asnumpy(obj)
            if isinstance(obj, dpnp.tensor.usm_ndarray)
            else dpnp.asnumpy(obj)
        )

    def write(self, obj: Any, value: int) -> None:
        obj[0, 0] = value
        obj.sycl_queue.wait()


PEER = Dpnp()


def on_its_memory(array: ep.Array) -> Any:
    """An array made by hand over dpctl's raw memory, which knows the context."""
    memory = dpctl.memory.as_usm_memory(array)
    begin = (array.data_ptr - memory._pointer) // array.itemsize
    return dpnp.tensor.usm_ndarray(
        array.shape, dtype=str(array.dtype), buffer=memory, strides=array.strides, offset=begin
    )


BY_DLPACK = {"sub-devices": Cannot("DLPack has no word for a context", ep.ExchangeError)}
BY_SUAI = {"sub-devices": Cannot("dpnp.asarray copies what it gets by SUAI", COPIES)}
FLAGLESS = {"read-only": Cannot("dpctl's raw memory has no flag", AssertionError)}

WAYS = [
    In("asarray(x)", PEER, ep.asarray, SYCL, NUMPY_DTYPES),
    In(
        "asarray(x, protocol='suai')",
        PEER,
        lambda x: ep.asarray(x, protocol="suai"),
        SYCL,
        NUMPY_DTYPES,
    ),
    In(
        "asarray(x, protocol='dlpack')",
        PEER,
        lambda x: ep.asarray(x, protocol="dlpack"),
        SYCL,
        NUMPY_DTYPES,
    ),
    Out("dpnp.from_dlpack(a)", PEER, dpnp.from_dlpack, SYCL, NUMPY_DTYPES, BY_DLPACK),
    Out("dpnp.asarray(a)", PEER, dpnp.asarray, SYCL, NUMPY_DTYPES, BY_SUAI),
    Out("dpnp.tensor.from_dlpack(a)", PEER, dpnp.tensor.from_dlpack, SYCL, NUMPY_DTYPES, BY_DLPACK),
    Out(
        "dpnp.tensor.usm_ndarray(buffer=as_usm_memory(a))",
        PEER,
        on_its_memory,
        SYCL,
        NUMPY_DTYPES,
        FLAGLESS,
    ),
]

test_pair = matrix(WAYS)


@pytest.mark.parametrize("kind", ["host", "device", "shared"])
class TestSubDevices:
    """Each has a context of its own: SUAI can name it, DLPack cannot."""

    def test_array_of_sub_device_is_imported(self, sub_devices: list[Any], kind: str) -> None:
        for part in sub_devices:
            obj = PEER.make_on(dpctl.SyclQueue(part), kind)
            array = ep.asarray(obj)
            assert (array.data_ptr, array.kind) == (PEER.view(obj).address, kind)
            assert array.context == obj.sycl_context
            assert array.device == part
            assert host_values(array).tolist() == numbers().tolist()

    def test_dlpack_export_of_a_sub_device_needs_a_copy(
        self, sub_devices: list[Any], kind: str
    ) -> None:
        array = ep.zeros(24, "int32", queue=ep.Queue(ep.device(sub_devices[0])), kind=kind)
        with pytest.raises(BufferError, match="__sycl_usm_array_interface__"):
            dpnp.from_dlpack(array)


@pytest.mark.sycl
class TestHostViews:
    """The host's view of an Array that was imported before dpnp's later work."""

    @pytest.mark.parametrize("view", [memoryview, np.asarray], ids=["memoryview", "numpy.asarray"])
    def test_host_view_waits_for_later_work_of_dpnp(self, view: Callable[[ep.Array], Any]) -> None:
        theirs = dpnp.zeros(1 << 22, dtype="float32", usm_type="shared")
        array = ep.asarray(theirs)
        np.asarray(array)  # the kind of the memory is known from here on
        for turn in range(1, 4):
            for _ in range(8):
                dpnp.add(theirs, dpnp.float32(1), out=theirs)
            assert float(view(array)[-1]) == 8 * turn
