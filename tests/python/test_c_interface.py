"""The C interface's queue of an array: it stays the same while the handle lives. (Extensions
test the rest.)"""

from __future__ import annotations

import ctypes
import gc
import weakref

import pytest

import entrepot as ep
from support.c_interface import c_interface
from support.cuda_streams import NamesStream


class Foreign:
    """Memory with a context of its own and without a queue: Entrepot makes a queue for its work."""

    def __init__(self, device: ep.Device) -> None:
        self.context = ep.Context([device])
        self.memory = ep.empty(
            4, "float32", kind="shared", queue=ep.Queue(device, context=self.context)
        )
        self.__sycl_usm_array_interface__ = dict(
            self.memory.__sycl_usm_array_interface__, syclobj=self.context
        )


@pytest.mark.sycl
def test_native_queues_stay_valid() -> None:
    table = c_interface()
    objects = [Foreign(ep.device("opencl:cpu")) for _ in range(20)]
    handles = [table.from_object(each, 0) for each in objects]
    queues = [table.native_queue(handle) for handle in handles]
    assert len(set(queues)) == len(queues)
    assert [table.native_queue(handle) for handle in handles] == queues
    for handle in handles:
        table.release(handle)


@pytest.mark.host
def test_host_has_no_native_queue() -> None:
    table = c_interface()
    handle = table.from_object(bytearray(4), 0)
    assert table.native_queue(handle) is None
    table.release(handle)


@pytest.mark.cuda
def test_handle_keeps_the_named_stream_alive() -> None:
    table = c_interface()
    producer = NamesStream()
    owner = weakref.ref(producer)
    handle = table.from_object(producer, 0)
    stream = ctypes.c_void_p.from_address(table.native_queue(handle))
    assert stream.value == producer.stream.handle
    del producer
    gc.collect()
    assert owner() is not None
    assert table.before_use(handle, 1) == table.after_use(handle, 1) == 0
    table.release(handle)
    gc.collect()
    assert owner() is None
