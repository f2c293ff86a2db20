"""dpctl's raw memory: SUAI both ways, sub-devices with their own contexts, and out-of-order
queues."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop import slow
from interop.pairs import SHAPED, Cannot, In, Out, Peer, View, host_values, matrix, numbers
from support.malformed import Speaker
from support.places import SYCL, Place

dpctl = pytest.importorskip("dpctl")
dpmem = pytest.importorskip("dpctl.memory")
pytestmark = [pytest.mark.host, pytest.mark.sycl, pytest.mark.numpy, pytest.mark.dpctl]

CLASSES = {
    "host": dpmem.MemoryUSMHost,
    "device": dpmem.MemoryUSMDevice,
    "shared": dpmem.MemoryUSMShared,
}


class Dpctl(Peer):
    """Bytes without a shape: dpctl.memory wraps the bytes of an array."""

    name = "dpctl"

    def make(self, place: Place, dtype: str = "uint8", layout: str = "whole") -> Any:
        return self.make_on(dpctl.SyclQueue(place.selector), place.kind)

    def make_on(self, queue: Any, kind: str) -> Any:
        memory = CLASSES[kind](numbers().nbytes, queue=queue)
        memory.copy_from_host(self.expected(numbers()))
        return memory

    def start_slow_kernel(self, obj: Any) -> None:
        slow.launch_on_dpctl(obj.sycl_queue, obj)

    def view(self, obj: Any) -> View:
        return View(obj._pointer, (obj.nbytes,))

    def values(self, obj: Any) -> np.ndarray:
        return np.frombuffer(obj.tobytes(), "u1").copy()

    def write(self, obj: Any, value: int) -> None:
        whole = self.values(obj)
        whole[0] = value
        obj.copy_from_host(whole)

    def address_of(self, array: ep.Array) -> int:
        return array.data_ptr + array.itemsize * sum(
            step * (extent - 1)
            for step, extent in zip(array.strides, array.shape, strict=True)
            if step < 0
        )

    def expected(self, values: np.ndarray) -> np.ndarray:
        begin, end = np.lib.array_utils.byte_bounds(values)
        return np.frombuffer(ctypes.string_at(begin, end - begin), "u1")


PEER = Dpctl()

SHAPELESS = Cannot.lacks("raw memory is a run of bytes: it has no shape and no strides", *SHAPED)
FLAGLESS = "raw memory has no read-only flag, and dpctl ignores that of others"
NEVER_READ_ONLY = Cannot.lacks(FLAGLESS, "read-only")
NO_FLAG = Cannot.lacks(FLAGLESS, "read-only", "writable")
ONE_AT_LEAST = {
    "zero-size": Cannot("dpctl counts one element of an array that has none", AssertionError)
}

WAYS = [
    In("asarray(m)", PEER, ep.asarray, SYCL, ["uint8"], SHAPELESS | NEVER_READ_ONLY),
    In(
        "ep.memory.as_usm_memory(m)",
        PEER,
        lambda m: ep.asarray(ep.memory.as_usm_memory(m)),
        SYCL,
        ["uint8"],
        SHAPELESS | NEVER_READ_ONLY,
    ),
    Out("as_usm_memory(a)", PEER, dpmem.as_usm_memory, SYCL, (), ONE_AT_LEAST | NO_FLAG),
]

test_pair = matrix(WAYS)


@pytest.mark.parametrize("kind", CLASSES)
class TestSubDevices:
    """A queue on a sub-device has a context of its own, in which other memory is unknown."""

    def test_memory_of_sub_device_is_imported(self, sub_devices: list[Any], kind: str) -> None:
        queues = [dpctl.SyclQueue(part) for part in sub_devices]
        memories = [PEER.make_on(queue, kind) for queue in queues]
        for memory, queue, part in zip(memories, queues, sub_devices, strict=True):
            array = ep.asarray(memory)
            assert (array.data_ptr, array.kind) == (memory._pointer, kind)
            assert array.context == queue.sycl_context
            assert array.device == part
            assert host_values(array).tolist() == PEER.values(memory).tolist()

    def test_array_on_each_sub_device_is_exported(self, sub_devices: list[Any], kind: str) -> None:
        for part in sub_devices:
            queue = ep.Queue(ep.device(part))
            array = ep.zeros(24, "int32", queue=queue, kind=kind)
            memory = dpmem.as_usm_memory(array)
            assert (memory._pointer, memory.get_usm_type()) == (array.data_ptr, kind)
            assert array.context == memory.sycl_context, (
                "ours asks first: dpctl says of what is not its own that it differs"
            )
            PEER.write(memory, 77)
            assert host_values(array)[0] == 77

    def test_context_of_other_sub_device_is_refused(
        self, sub_devices: list[Any], kind: str
    ) -> None:
        first, second = (dpctl.SyclQueue(part) for part in sub_devices)
        memory = PEER.make_on(first, kind)
        interface = memory.__sycl_usm_array_interface__
        with pytest.raises(ep.InterfaceError, match="another context"):
            ep.asarray(
                Speaker(
                    "__sycl_usm_array_interface__", interface | {"syclobj": second}, keep=memory
                )
            )
        assert ep.asarray(memory).data_ptr == memory._pointer, (
            "the same object still works afterwards"
        )

    def test_copy_between_sub_devices_waits_for_kernel(
        self, sub_devices: list[Any], kind: str
    ) -> None:
        first, second = (PEER.make_on(dpctl.SyclQueue(part), kind) for part in sub_devices)
        slow.launch_on_dpctl(first.sycl_queue, first)
        ep.copy(ep.asarray(second), ep.asarray(first)).wait()
        assert PEER.values(second)[0] == slow.RESULT


def test_access_waits_for_later_work_of_a_consumer_of_two_arrays() -> None:
    """Both are exported before the consumer begins. Entrepot's first use of one array comes
    before the consumer's use of the other."""
    queue, ours = ep.Queue("opencl:cpu"), ep.Queue("opencl:cpu")
    arrays = [ep.zeros(24, "int32", queue=queue, kind="device") for _ in range(2)]
    for array, memory in [(array, dpmem.as_usm_memory(array)) for array in arrays]:
        slow.launch_on_dpctl(memory.sycl_queue, memory)
        seen = ep.empty(24, "int32", queue=ours)
        ep.copy(seen, array, queue=ours)
        assert host_values(seen)[0] == slow.RESULT, "read before the consumer's kernel was done"


def test_host_waits_for_later_work_of_a_consumer() -> None:
    array = ep.empty(1 << 20, "int32", queue=ep.Queue("opencl:cpu"), kind="shared")
    ep.fill(array, 0)  # Entrepot's work in the queue, which the consumer adds to later
    memory = dpmem.as_usm_memory(array)
    slow.launch_on_dpctl(memory.sycl_queue, memory)
    assert memoryview(array)[0] == slow.RESULT, "read before the consumer's kernel was done"
