"""entrepot.memory as a drop-in for dpctl.memory: making, wrapping, copying, pickling, subclasses,
lifetime and order.
"""

from __future__ import annotations

import ctypes
import gc
import pickle
import subprocess
import sys
import threading
import time
import timeit
import weakref
from array import array
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

import entrepot as ep
import entrepot.memory
from entrepot.memory import (
    Memory,
    MemoryUSMDevice,
    MemoryUSMHost,
    MemoryUSMShared,
    USMAllocationError,
    as_usm_memory,
)
from support.sycl_capsules import capsule_of

pytestmark = pytest.mark.sycl

KINDS = {"host": MemoryUSMHost, "shared": MemoryUSMShared, "device": MemoryUSMDevice}
NUMBERS = {"host": 3, "shared": 2, "device": 1}

every_class = pytest.mark.parametrize("cls", KINDS.values(), ids=KINDS)
AnyMemory = TypeVar("AnyMemory", bound=Memory)
HostAccessible = MemoryUSMHost | MemoryUSMShared
host_accessible = pytest.mark.parametrize(
    "cls", [MemoryUSMHost, MemoryUSMShared], ids=["host", "shared"]
)


def kind_of(cls: type[Memory]) -> str:
    return next(kind for kind, of_kind in KINDS.items() if of_kind is cls)


class Speaker:
    """An object with the interface of another, with some entries changed."""

    def __init__(self, source: Any, **entries: object) -> None:
        self.source, self.entries = source, entries

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, object]:
        return {**self.source.__sycl_usm_array_interface__, **self.entries}


def counted(cls: type[AnyMemory], count: int) -> AnyMemory:
    memory = cls(count)
    memory.copy_from_host(bytes(i % 256 for i in range(count)))
    return memory


@every_class
class TestAllocation:
    def test_memory_has_size_and_kind(self, cls: type[Memory]) -> None:
        memory = cls(1000)
        assert (memory.nbytes, memory.size, len(memory)) == (1000, 1000, 1000)
        assert memory.get_usm_type() == kind_of(cls)
        assert memory.get_usm_type_enum() == NUMBERS[kind_of(cls)]
        assert memory.reference_obj is None
        assert isinstance(memory, Memory)
        assert cls.__name__ in repr(memory) and "1000" in repr(memory)
        assert sys.getsizeof(memory) > 1000

    def test_default_device_is_a_sycl_device(self, cls: type[Memory]) -> None:
        memory = cls(64)
        assert memory.sycl_device == ep.device("default") or str(memory.sycl_device) in map(
            str, ep.devices()
        )
        assert memory.sycl_queue is memory.sycl_queue is memory._queue
        assert memory.sycl_context == memory.sycl_queue.context
        assert memory._context == memory.sycl_context

    def test_queue_argument_is_kept(self, cls: type[Memory]) -> None:
        queue = ep.Queue(ep.device("opencl:cpu"))
        memory = cls(64, queue=queue)
        assert memory.sycl_queue is queue
        assert memory.sycl_device == queue.device

    def test_address_has_requested_alignment(self, cls: type[Memory]) -> None:
        for alignment in (1, 64, 4096, 65536):
            assert cls(100, alignment=alignment)._pointer % alignment == 0
        assert cls(100, alignment=-1).nbytes == 100

    def test_alignment_must_be_a_power_of_two(self, cls: type[Memory]) -> None:
        with pytest.raises(ValueError, match="alignment"):
            cls(100, alignment=3)

    @pytest.mark.parametrize("count", [0, -1])
    def test_size_must_be_positive(self, cls: type[Memory], count: int) -> None:
        with pytest.raises(ValueError, match="positive"):
            cls(count)

    def test_size_beyond_memory_is_an_allocation_error(self, cls: type[Memory]) -> None:
        with pytest.raises(USMAllocationError) as refusal:
            cls(1 << 50)
        assert isinstance(refusal.value, MemoryError)
        with pytest.raises(OverflowError):
            cls(1 << 70)

    @pytest.mark.parametrize("other", [3.5, "12", b"abc", None])
    def test_other_arguments_are_refused(self, cls: type[Memory], other: object) -> None:
        with pytest.raises(ValueError, match=type(other).__name__):
            cls(other)

    def test_wrong_arguments_are_refused(self, cls: type[Memory]) -> None:
        with pytest.raises(TypeError, match="missing its argument 'nbytes'"):
            cls()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="1 positional argument"):
            cls(64, 64)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="color"):
            cls(64, color=3)  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            cls(64, alignment="a")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            cls(64, queue=7)

    @pytest.mark.numpy
    def test_numpy_array_is_refused_with_advice(self, cls: type[Memory]) -> None:
        import numpy as np

        values = np.arange(10.0)
        for keywords in ({}, {"copy": True}):
            with pytest.raises(ValueError, match=r"copy=True\) copies what it takes"):
                cls(values, **keywords)
        assert cls(ep.asarray(values), copy=True).copy_to_host().tobytes() == values.tobytes()

    @pytest.mark.numpy
    def test_numpy_integer_is_accepted_as_size(self, cls: type[Memory]) -> None:
        import numpy as np

        assert cls(np.int64(48)).nbytes == 48

    def test_attributes_cannot_be_set(self, cls: type[Memory]) -> None:
        with pytest.raises(AttributeError):
            cls(8).color = 3  # type: ignore[attr-defined]


@every_class
class TestResources:
    def test_allocations_come_from_the_current_resource(self, cls: type[Memory]) -> None:
        statistics = ep.memory.statistics()
        with ep.memory.use_resource(statistics):
            memory = cls(1000)
            copy = cls(memory, copy=True)
            view = as_usm_memory(memory)
        assert (statistics.current_bytes, statistics.total_count) == (2000, 2)
        del memory, copy
        assert statistics.current_bytes == 1000, "the view keeps the memory"
        del view
        assert statistics.current_bytes == 0

    def test_limit_raises_allocation_error(self, cls: type[Memory]) -> None:
        with ep.memory.use_resource(ep.memory.limit(1000)):
            kept = cls(600)
            with pytest.raises(USMAllocationError, match="600"):
                cls(600)
            assert kept.nbytes == 600


def test_base_class_is_not_instantiable() -> None:
    with pytest.raises(TypeError, match="MemoryUSMHost"):
        Memory(64)


@every_class
class TestCopies:
    def test_copy_through_host_keeps_content(self, cls: type[Memory]) -> None:
        content = bytes(range(256)) * 4
        memory = cls(len(content))
        assert memory.copy_from_host(content) is None  # type: ignore[func-returns-value]
        assert memory.tobytes() == bytes(memory) == content
        target = bytearray(len(content) + 10)
        assert memory.copy_to_host(target) is target
        assert target == content + bytes(10)
        assert bytearray(content) == memory.copy_to_host()

    @pytest.mark.numpy
    def test_copy_to_host_returns_a_new_array(self, cls: type[Memory]) -> None:
        import numpy as np

        memory = counted(cls, 100)
        copy = memory.copy_to_host()
        assert isinstance(copy, np.ndarray) and copy.dtype == np.uint8
        copy[:] = 0
        assert memory.tobytes() == bytes(range(100))

    def test_short_source_fills_the_front(self, cls: type[Memory]) -> None:
        memory = cls(10)
        memory.memset(1)
        memory.copy_from_host(b"ab")
        assert memory.tobytes() == b"ab" + b"\1" * 8

    def test_typed_buffer_is_copied_as_bytes(self, cls: type[Memory]) -> None:
        memory = cls(16)
        memory.copy_from_host(array("d", [1.0, 2.0]))
        assert memory.tobytes() == array("d", [1.0, 2.0]).tobytes()

    def test_copy_of_other_size_is_refused(self, cls: type[Memory]) -> None:
        memory = counted(cls, 10)
        with pytest.raises(ValueError, match="11 bytes and the destination 10"):
            memory.copy_from_host(b"a" * 11)
        with pytest.raises(ValueError, match="10 bytes and the destination 9"):
            memory.copy_to_host(bytearray(9))
        with pytest.raises(ValueError, match="11 bytes and the destination 10"):
            memory.copy_from_device(cls(11))
        assert memory.tobytes() == bytes(range(10))

    def test_copy_of_non_buffer_is_refused(self, cls: type[Memory]) -> None:
        memory = cls(10)
        for wrong in (3, None, "abc"):
            with pytest.raises(TypeError):
                memory.copy_from_host(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            memory.copy_to_host(3)
        with pytest.raises(BufferError):
            memory.copy_to_host(bytes(10))
        with pytest.raises((ValueError, BufferError)):
            memory.copy_from_host(memoryview(bytes(20))[::2])

    @pytest.mark.parametrize("other", KINDS.values(), ids=KINDS)
    def test_copy_from_device_accepts_usm_objects(
        self, cls: type[Memory], other: type[Memory]
    ) -> None:
        source, memory = counted(other, 100), cls(128)
        memory.memset(7)
        assert memory.copy_from_device(source) is None  # type: ignore[func-returns-value]
        assert memory.tobytes() == bytes(range(100)) + b"\7" * 28
        memory.memset(0)
        memory.copy_from_device(Speaker(source, shape=(10,), offset=5))
        assert memory.tobytes()[:11] == bytes(range(5, 15)) + b"\0"
        memory.copy_from_device(ep.asarray(source)[20:30])
        assert memory.tobytes()[:10] == bytes(range(20, 30))

    def test_copy_from_device_refuses_other_objects(self, cls: type[Memory]) -> None:
        for wrong in (3, b"abc"):
            with pytest.raises(ValueError, match="copy_from_host"):
                cls(16).copy_from_device(wrong)

    def test_copy_between_contexts_keeps_content(self, cls: type[Memory]) -> None:
        one, two = sub_devices()
        source, target = cls(300, queue=ep.Queue(one)), cls(300, queue=ep.Queue(two))
        source.copy_from_host(b"abc" * 100)
        target.copy_from_device(source)
        assert target.tobytes() == b"abc" * 100

    def test_memset_fills_all_bytes_or_refuses(self, cls: type[Memory]) -> None:
        memory = cls(5000)
        assert memory.memset(65) is None  # type: ignore[func-returns-value]
        assert memory.tobytes() == b"A" * 5000
        memory.memset()
        assert memory.tobytes() == bytes(5000)
        memory.memset(val=255)
        assert memory.tobytes() == b"\xff" * 5000
        for wrong in (-1, 256, 300):
            with pytest.raises(OverflowError):
                memory.memset(wrong)
        assert memory.tobytes() == b"\xff" * 5000


def sub_devices() -> list[ep.Device]:
    device = ep.device("opencl:cpu")
    try:
        return device.sub_devices(equally=1)[:2]
    except ep.DeviceError as reason:
        pytest.skip(str(reason))


class TestBuffer:
    @host_accessible
    def test_buffer_shares_memory(self, cls: type[HostAccessible]) -> None:
        memory = counted(cls, 100)
        view = memoryview(memory)
        assert (view.format, view.shape, view.readonly, view.nbytes) == ("B", (100,), False, 100)
        assert view == bytes(range(100))
        view[3] = 77
        assert memory.tobytes()[3] == 77
        memory.memset(1)
        assert view == b"\1" * 100
        assert ctypes.addressof(ctypes.c_char.from_buffer(memory)) == memory._pointer

    @host_accessible
    def test_buffer_keeps_memory_alive(self, cls: type[HostAccessible]) -> None:
        memory = counted(cls, 100)
        gone = weakref.ref(memory)
        view = memoryview(memory)
        del memory
        assert gone() is not None
        assert view == bytes(range(100))
        view.release()
        assert gone() is None

    def test_device_memory_has_no_buffer(self) -> None:
        with pytest.raises(TypeError):
            memoryview(MemoryUSMDevice(8))  # type: ignore[arg-type]


@pytest.mark.numpy
def test_numpy_view_of_device_memory_is_refused() -> None:
    """NumPy makes an array of objects of anything without an array protocol."""
    import numpy as np

    memory = MemoryUSMDevice(8)
    with pytest.raises(
        ep.ExchangeError,
        match=r"NumPy: this is device memory of \S+, .*copy it with memory.copy_to_host\(\)",
    ):
        np.asarray(memory)
    shared = MemoryUSMShared(8)
    assert (
        np.asarray(shared).ctypes.data
        == np.asarray(shared.__array__()).ctypes.data
        == shared._pointer
    )


@every_class
class TestWrapping:
    def test_usm_memory_of_usm_memory_shares_it(self, cls: type[Memory]) -> None:
        memory = counted(cls, 100)
        other = cls(memory)
        assert other is not memory and other._pointer == memory._pointer
        assert other.reference_obj is None
        assert other.sycl_queue == memory.sycl_queue
        del memory
        assert other.tobytes() == bytes(range(100))

    def test_as_usm_memory_finds_the_class(self, cls: type[Memory]) -> None:
        memory = counted(cls, 100)
        for source in (memory, Speaker(memory), ep.asarray(memory)):
            other = as_usm_memory(source)
            assert type(other) is cls
            assert other._pointer == memory._pointer and other.nbytes == 100
            assert other.sycl_context == memory.sycl_context

    def test_wrapped_memory_keeps_producer_alive(self, cls: type[Memory]) -> None:
        producer = Speaker(counted(cls, 100))
        gone = weakref.ref(producer)
        memory = as_usm_memory(producer)
        assert memory.reference_obj is producer
        del producer
        assert gone() is not None, "the memory must keep its producer alive"
        assert memory.tobytes() == bytes(range(100))
        del memory
        gc.collect()
        assert gone() is None, "and release it"

    @pytest.mark.parametrize("entries, lowest, count", [
        ({"shape": (10,), "strides": (2,), "offset": 8}, 8, 19),
        ({"shape": (2, 2), "strides": (10, -2), "offset": 9}, 7, 13),
        ({"shape": (3,), "typestr": "<i4", "offset": 2}, 8, 12),
        ({"shape": ()}, 0, 1),
    ])  # fmt: skip
    def test_strided_interface_spans_touched_bytes(
        self, cls: type[Memory], entries: dict[str, object], lowest: int, count: int
    ) -> None:
        memory = cls(64)
        part = as_usm_memory(Speaker(memory, **entries))
        assert (part._pointer - memory._pointer, part.nbytes) == (lowest, count)
        memory.memset(1)
        part.memset(2)
        assert memory.tobytes() == b"\1" * lowest + b"\2" * count + b"\1" * (64 - lowest - count)

    def test_array_with_offset_is_wrapped(self, cls: type[Memory]) -> None:
        whole = ep.empty(100, "uint8", device="opencl:cpu", kind=kind_of(cls))
        part = cls(whole[10:20])
        assert (part._pointer, part.nbytes) == (whole.data_ptr + 10, 10)

    def test_empty_memory_keeps_its_kind(self, cls: type[Memory]) -> None:
        nothing = as_usm_memory(Speaker(cls(64), shape=(0,)))
        assert type(nothing) is cls and nothing.nbytes == 0 and nothing.tobytes() == b""

    def test_memory_of_other_kind_must_be_copied(self, cls: type[Memory]) -> None:
        memory = counted(cls, 100)
        for other in KINDS.values():
            if other is not cls:
                with pytest.raises(ValueError, match="copy=True"):
                    other(memory)
            copy = other(memory, copy=True)
            assert type(copy) is other and copy._pointer != memory._pointer
            assert copy.tobytes() == bytes(range(100))
            assert copy.sycl_queue == memory.sycl_queue

    def test_copy_of_same_kind_has_own_memory(self, cls: type[Memory]) -> None:
        memory = counted(cls, 100)
        for source in (memory, Speaker(memory), ep.asarray(memory)):
            copy = cls(source, copy=True)
            copy.memset(0)
            assert copy.reference_obj is None
            assert memory.tobytes() == bytes(range(100))

    def test_copy_uses_the_requested_queue(self, cls: type[Memory]) -> None:
        queue = ep.Queue(sub_devices()[0])
        copy = cls(counted(cls, 100), queue=queue, copy=True)
        assert copy.sycl_queue is queue and copy.tobytes() == bytes(range(100))

    def test_other_queue_of_same_context_is_accepted(self, cls: type[Memory]) -> None:
        memory = cls(64)
        queue = ep.Queue(memory.sycl_device)
        assert cls(memory, queue=queue).sycl_queue is queue
        if ep.Queue(sub_devices()[0]).context == memory.sycl_context:
            pytest.skip("sub-devices share the context here")
        with pytest.raises(ValueError, match="bound to"):
            cls(memory, queue=ep.Queue(sub_devices()[0]))

    def test_read_only_is_kept(self, cls: type[Memory]) -> None:
        memory = counted(cls, 100)
        pointer = memory._pointer
        part = as_usm_memory(Speaker(memory, data=(pointer, True)))
        for write in (
            lambda: part.memset(1),
            lambda: part.copy_from_host(b"a"),
            lambda: part.copy_from_device(memory),
        ):
            with pytest.raises(ValueError, match="read-only"):
                write()
        assert part.__sycl_usm_array_interface__["data"] == (pointer, True)
        assert ep.asarray(part).read_only
        if not isinstance(part, MemoryUSMDevice):
            assert memoryview(part).readonly
        assert memory.tobytes() == part.tobytes() == bytes(range(100))
        cls(part, copy=True).memset(0)

    def test_host_view_is_wrapped_with_its_kind(self, cls: type[Memory]) -> None:
        memory = counted(cls, 100)
        if cls is MemoryUSMDevice:
            pytest.skip("the host does not see it")
        queue = ep.Queue(ep.device("host"))
        for seen in (ep.asarray(memory).host(), ep.asarray(memory, queue=queue)):
            for view in (as_usm_memory(seen), cls(seen)):
                assert type(view) is cls
                assert (view._pointer, view.nbytes) == (memory._pointer, 100)
                assert view.sycl_queue.context == memory.sycl_queue.context


class TestRefusedInterfaces:
    @pytest.mark.parametrize("entries", [
        {"version": 0}, {"data": ()}, {"shape": (-64,)}, {"shape": None}, {"typestr": "invalid"},
        {"typestr": "O"},
        {"strides": Ellipsis}, {"shape": (1 << 40,)}, {"offset": 1 << 40}, {"syclobj": 4},
        {"syclobj": None},
        {"data": (0, False)},
    ], ids=str)  # fmt: skip
    def test_malformed_interface_is_refused(self, entries: dict[str, object]) -> None:
        memory = MemoryUSMShared(64)
        with pytest.raises(ValueError):
            as_usm_memory(Speaker(memory, **entries))
        assert as_usm_memory(Speaker(memory)).nbytes == 64, "the same object still serves"

    def test_other_context_is_refused(self) -> None:
        one, two = sub_devices()
        first, second = (
            MemoryUSMShared(64, queue=ep.Queue(one)),
            MemoryUSMShared(64, queue=ep.Queue(two)),
        )
        if first.sycl_context == second.sycl_context:
            pytest.skip("sub-devices share the context here")
        for foreign in (second.sycl_queue, second.sycl_context):
            with pytest.raises(ValueError, match="context"):
                as_usm_memory(Speaker(first, syclobj=foreign))

    def test_host_memory_is_no_usm_memory(self) -> None:
        host = ep.asarray(bytearray(b"abcd"))
        for make in (MemoryUSMHost, as_usm_memory):
            with pytest.raises(ValueError, match="ordinary host memory"):
                make(host)
        assert MemoryUSMDevice(host, copy=True).tobytes() == b"abcd"

    def test_object_without_interface_is_refused(self) -> None:
        for wrong in (3, None, b"abc", array("i")):
            with pytest.raises(ValueError, match="__sycl_usm_array_interface__"):
                as_usm_memory(wrong)

    def test_producers_error_propagates(self) -> None:
        class Broken:
            @property
            def __sycl_usm_array_interface__(self) -> dict[str, object]:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            as_usm_memory(Broken())


@every_class
class TestInterface:
    def test_interface_has_all_fields(self, cls: type[Memory]) -> None:
        memory = cls(100)
        interface = memory.__sycl_usm_array_interface__
        assert interface == {
            "data": (memory._pointer, False),
            "shape": (100,),
            "strides": None,
            "offset": 0,
            "typestr": "|u1",
            "version": 1,
            "syclobj": memory.sycl_queue,
        }
        assert interface["syclobj"] is memory.sycl_queue

    def test_asarray_shares_the_memory(self, cls: type[Memory]) -> None:
        memory = counted(cls, 100)
        view = ep.asarray(memory)
        assert (view.data_ptr, view.shape, str(view.dtype)) == (memory._pointer, (100,), "uint8")
        assert (view.kind, view.read_only, view.queue) == (kind_of(cls), False, memory.sycl_queue)
        del memory
        assert bytes(view.copy_to_host()) == bytes(range(100))

    def test_kind_in_a_context(self, cls: type[Memory]) -> None:
        memory = cls(100)
        for same in (None, memory.sycl_queue, memory.sycl_context):
            assert memory.get_usm_type(same) == memory.get_usm_type(syclobj=same) == kind_of(cls)
            assert memory.get_usm_type_enum(same) == NUMBERS[kind_of(cls)]
        other = ep.Queue(sub_devices()[0])
        if other.context != memory.sycl_context:
            assert memory.get_usm_type(other) in ("unknown", kind_of(cls))
        wrong: object
        for wrong in (Ellipsis, [], 3, "opencl:cpu"):
            with pytest.raises(TypeError):
                memory.get_usm_type(wrong)
            with pytest.raises(TypeError):
                memory.get_usm_type_enum(wrong)


class Tagged(MemoryUSMShared):
    """A subclass with further arguments."""

    def __new__(cls, nbytes: object, tag: str = "", **options: Any) -> Tagged:
        return super().__new__(cls, nbytes, **options)

    def __init__(self, nbytes: object, tag: str = "", **options: object) -> None:
        self.tag = tag


class Second(MemoryUSMShared):
    """A subclass that exports only the second half of its memory."""

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, object]:
        interface = super().__sycl_usm_array_interface__
        return {**interface, "shape": (len(self) // 2,), "offset": len(self) // 2}


class TestSubclasses:
    def test_subclass_has_own_arguments_and_attributes(self) -> None:
        memory = Tagged(64, "mine", alignment=256)
        assert (memory.tag, memory.nbytes, memory._pointer % 256) == ("mine", 64, 0)
        assert memory.get_usm_type() == "shared" and "Tagged" in repr(memory)
        assert memoryview(memory).nbytes == 64
        assert Tagged(memory, "too")._pointer == memory._pointer
        assert type(as_usm_memory(memory)) is MemoryUSMShared

    def test_unknown_arguments_are_refused(self) -> None:
        class Careless(MemoryUSMShared):
            def __init__(self, nbytes: int, extra: int) -> None:
                self.extra = extra

        with pytest.raises(TypeError):
            Careless(64, 2)

    def test_interface_of_subclass_is_used(self) -> None:
        memory = Second(100)
        memory.copy_from_host(bytes(range(100)))
        half = ep.asarray(memory)
        assert bytes(half.copy_to_host()) == bytes(range(50, 100))
        assert as_usm_memory(memory).tobytes() == bytes(range(50, 100))

    def test_subclass_in_cycle_is_collected(self) -> None:
        memory = Tagged(64)
        memory.tag = memory  # type: ignore[assignment]
        gone = weakref.ref(memory)
        del memory
        gc.collect()
        assert gone() is None

    def test_subclass_instances_release_their_class(self) -> None:
        before = sys.getrefcount(Tagged)
        for _ in range(3):
            kept = [Tagged(64, str(i)) for i in range(200)]
            assert kept[-1].tag == "199"
            del kept
        assert sys.getrefcount(Tagged) == before


class TestPickling:
    @every_class
    def test_pickle_keeps_content(self, cls: type[Memory]) -> None:
        memory = counted(cls, 1000)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            other = pickle.loads(pickle.dumps(memory, protocol))
            assert type(other) is cls and other._pointer != memory._pointer
            assert other.tobytes() == memory.tobytes()

    def test_pickle_keeps_subclass_and_attributes(self) -> None:
        memory = Tagged(64, "mine")
        other = pickle.loads(pickle.dumps(memory))
        assert type(other) is Tagged and other.tag == "mine"

    def test_pickle_of_part_has_the_part(self) -> None:
        part = as_usm_memory(ep.asarray(counted(MemoryUSMHost, 100))[10:20])
        assert pickle.loads(pickle.dumps(part)).tobytes() == bytes(range(10, 20))

    def test_pickle_of_wrong_kind_is_refused(self) -> None:
        good = pickle.dumps(MemoryUSMDevice(64))
        at = good.rfind(b"device")
        with pytest.raises(ValueError):
            pickle.loads(good[:at] + b"u" + good[at + 1 :])


class Cycle:
    memory: Memory

    def __init__(self, source: Memory) -> None:
        self.source = source

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, object]:
        return self.source.__sycl_usm_array_interface__


class TestLifetime:
    @every_class
    def test_weak_reference_to_memory_dies_with_it(self, cls: type[Memory]) -> None:
        memory = cls(64)
        gone = weakref.ref(memory)
        assert gone() is memory
        del memory
        assert gone() is None

    def test_cycle_through_owner_is_collected(self) -> None:
        owner = Cycle(MemoryUSMShared(64))
        owner.memory = as_usm_memory(owner)
        gone = weakref.ref(owner)
        del owner
        gc.collect()
        assert gone() is None

    def test_references_are_released(self) -> None:
        queue = ep.Queue(ep.device("opencl:cpu"))
        before = sys.getrefcount(queue)
        memory = [MemoryUSMDevice(64, queue=queue) for _ in range(100)]
        views = [MemoryUSMDevice(m) for m in memory]
        assert sys.getrefcount(queue) == before + 200
        del memory, views
        assert sys.getrefcount(queue) == before
        with pytest.raises(ValueError):
            MemoryUSMDevice(0, queue=queue)
        assert sys.getrefcount(queue) == before


SLOW = """
__kernel void slow(__global uchar *data, long turns) {
    uint x = data[0];
    for (long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    data[1] = x == 0 ? 43 : 42;
}
"""


@pytest.fixture(scope="module")
def slow() -> Callable[[Memory], ep.Event]:
    """Starts a kernel that writes 42 to byte 1 of the memory after half a second or so."""
    kernel = ep.Program(SLOW, ep.device("opencl:cpu")).kernel("slow")
    memory = MemoryUSMDevice(64)
    turns = 10_000_000
    kernel[1](ep.asarray(memory), ep.Scalar(1, "int64")).wait()
    taken = min(
        timeit.repeat(
            lambda: kernel[1](ep.asarray(memory), ep.Scalar(turns, "int64")).wait(),
            number=1,
            repeat=3,
        )
    )
    slow_turns = int(turns * 0.5 / taken)
    return lambda memory: kernel[1](
        ep.asarray(memory), ep.Scalar(slow_turns, "int64"), queue=memory.sycl_queue
    )


@pytest.fixture
def running() -> Iterator[Callable[[], int]]:
    """Counts on another thread while the GIL is free; returns the progress since the last call."""
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    def since() -> int:
        result, counted[0] = counted[0], 0
        return result

    thread = threading.Thread(target=count)
    thread.start()
    yield since
    stop.set()
    thread.join()


@pytest.mark.alone
class TestOrder:
    @every_class
    def test_memory_in_use_by_kernel_is_dropped_without_wait(
        self, cls: type[Memory], slow: Callable[[Memory], ep.Event]
    ) -> None:
        producer = Speaker(cls(4096))
        gone = weakref.ref(producer)
        owned, borrowed = cls(4096), as_usm_memory(producer)
        events = [slow(owned), slow(borrowed)]
        address = owned._pointer
        del producer
        start = time.perf_counter()
        del owned, borrowed
        assert time.perf_counter() - start < 0.1, "dropping must not wait for the kernel"
        assert gone() is not None, "the kernel still uses the memory"
        others = [cls(4096, queue=ep.Queue(ep.device("opencl:cpu"))) for _ in range(20)]
        assert address not in [other._pointer for other in others], "and it must not be reused"
        for event in events:
            event.wait()
        deadline = time.perf_counter() + 5
        while gone() is not None and time.perf_counter() < deadline:
            cls(64)
            gc.collect()
        assert gone() is None, "it must be released once the kernel is done"

    # a block of device memory may be reused at once by work ordered after the kernel
    @host_accessible
    def test_memory_is_freed_after_the_kernel(
        self, cls: type[HostAccessible], slow: Callable[[Memory], ep.Event]
    ) -> None:
        pool = ep.memory.pool(ep.memory.direct())
        with ep.memory.use_resource(pool):
            memory = cls(4096)
        event = slow(memory)
        del memory
        assert pool.waiting_bytes >= 4096
        event.wait()
        deadline = time.perf_counter() + 5
        while pool.waiting_bytes and time.perf_counter() < deadline:
            cls(64)
            pool.trim()
        assert (pool.waiting_bytes, pool.used_bytes) == (0, 0)

    @every_class
    def test_reading_waits_for_work_of_producer(
        self, cls: type[Memory], slow: Callable[[Memory], ep.Event]
    ) -> None:
        producer = Speaker(cls(64))
        producer.source.memset(0)
        gone = weakref.ref(producer)
        event = slow(producer.source)
        assert as_usm_memory(producer).tobytes()[1] == 42, "reading must wait for it"
        event.wait()
        event = slow(producer.source)
        memory = as_usm_memory(producer)
        del memory, producer
        assert gone() is None, "the release must not: the producer keeps its memory alive"
        event.wait()

    @every_class
    @pytest.mark.parametrize(
        "read",
        [
            Memory.tobytes,
            Memory.copy_to_host,
            lambda memory: pickle.loads(pickle.dumps(memory)).tobytes(),
        ],
        ids=["tobytes", "copy_to_host", "pickle"],
    )
    def test_reading_waits_for_the_kernel(
        self, cls: type[Memory], slow: Callable[[Memory], ep.Event], read: Callable
    ) -> None:
        memory = cls(64)
        memory.memset(0)
        slow(memory)
        assert read(memory)[1] == 42

    @host_accessible
    def test_buffer_waits_for_kernel(
        self,
        cls: type[HostAccessible],
        slow: Callable[[Memory], ep.Event],
        running: Callable[[], int],
    ) -> None:
        memory = cls(64)
        memory.memset(0)
        slow(memory)
        running()
        assert memoryview(memory)[1] == 42
        assert running() > 20, "other threads must run meanwhile"

    def test_writing_waits_for_the_kernel(self, slow: Callable[[Memory], ep.Event]) -> None:
        for write in (lambda m: m.memset(7), lambda m: m.copy_from_host(b"\7" * 64)):
            memory = MemoryUSMShared(64)
            slow(memory)
            write(memory)
            assert memory.tobytes() == b"\7" * 64

    @pytest.mark.parametrize(
        "wait",
        [
            lambda memory: memory.memset(1),
            lambda memory: memory.copy_to_host(bytearray(64)),
            lambda memory: memory.copy_from_host(bytes(64)),
            lambda memory: memory.tobytes(),
            lambda memory: MemoryUSMHost(memory, copy=True),
        ],
        ids=["memset", "copy_to_host", "copy_from_host", "tobytes", "copy"],
    )
    def test_waiting_releases_the_gil(
        self, slow: Callable[[Memory], ep.Event], running: Callable[[], int], wait: Callable
    ) -> None:
        memory = MemoryUSMDevice(64)
        slow(memory)
        running()
        wait(memory)
        assert running() > 20

    def test_host_buffer_is_held_during_copy(self, slow: Callable[[Memory], ep.Event]) -> None:
        memory, target = MemoryUSMDevice(64), bytearray(64)
        slow(memory)
        thread = threading.Thread(target=memory.copy_to_host, args=(target,))
        thread.start()
        time.sleep(0.2)
        with pytest.raises(BufferError):
            target.extend(b"more")
        thread.join()
        target.extend(b"more")
        assert target[1] == 42


class TestThreads:
    def test_allocate_copy_and_drop(self) -> None:
        errors: list[BaseException] = []

        def work(seed: int) -> None:
            try:
                for i in range(300):
                    memory = list(KINDS.values())[(seed + i) % 3](64 + 64 * (i % 50))
                    memory.memset(seed)
                    other = as_usm_memory(Speaker(memory))
                    del memory
                    assert other.tobytes() == bytes([seed]) * other.nbytes
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors, errors[0]


def test_works_without_dpctl_and_numpy() -> None:
    program = """
import sys
sys.modules["dpctl"] = sys.modules["numpy"] = None
from entrepot.memory import MemoryUSMShared
memory = MemoryUSMShared(16)
memory.memset(7)
assert memory.copy_to_host() == bytearray(b"\\7" * 16)
assert type(memory.sycl_queue).__module__.startswith("entrepot")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.dpctl
class TestWithDpctl:
    """dpctl's queues, contexts and memory as arguments."""

    @every_class
    def test_dpctl_queue_is_kept(self, cls: type[Memory]) -> None:
        import dpctl

        queue = dpctl.SyclQueue("opencl:cpu")
        memory = cls(64, queue=queue)
        assert memory.sycl_queue is memory._queue is queue
        assert memory.__sycl_usm_array_interface__["syclobj"] is queue
        assert memory.sycl_context == memory._context == queue.sycl_context
        assert memory.sycl_device == queue.sycl_device
        for same in (queue, queue.sycl_context):
            assert memory.get_usm_type(same) == kind_of(cls)
        assert cls(memory).sycl_queue is queue
        other = dpctl.SyclQueue("opencl:cpu", property="in_order")
        assert cls(memory, queue=other).sycl_queue is other
        assert cls(memory, queue=other, copy=True).sycl_queue is other

    @every_class
    def test_dpctl_device_is_accepted(self, cls: type[Memory]) -> None:
        import dpctl

        device = dpctl.SyclDevice("opencl:cpu")
        assert cls(64, queue=device).sycl_device == device
        assert ep.empty(4, "int8", device=device).device == ep.device("opencl:cpu")
        before, mine = ep.memory.get_resource(device), ep.memory.statistics(ep.memory.direct())
        try:
            ep.memory.set_resource(device, mine)
            assert ep.memory.get_resource("opencl:cpu") == mine
            kept = cls(64, queue=device)
            assert mine.current_bytes >= 64
            del kept
        finally:
            ep.memory.set_resource(device, before)

    @every_class
    def test_dpctl_memory_is_exchanged_both_ways(self, cls: type[Memory]) -> None:
        import dpctl.memory

        theirs: Any = getattr(dpctl.memory, cls.__name__)(100)
        theirs.copy_from_host(bytes(range(100)))
        ours = as_usm_memory(theirs)
        assert type(ours) is cls and ours._pointer == theirs._pointer
        assert id(ours.reference_obj) == id(theirs)
        assert ours.tobytes() == bytes(range(100))
        ours.memset(7)
        assert theirs.tobytes() == b"\7" * 100

        mine = counted(cls, 100)
        taken = dpctl.memory.as_usm_memory(mine)
        assert taken._pointer == mine._pointer and taken.tobytes() == bytes(range(100))
        assert type(taken).__name__ == cls.__name__
        theirs.copy_from_device(mine)
        assert theirs.tobytes() == bytes(range(100))

    def test_forms_of_syclobj_are_accepted(self) -> None:
        import dpctl

        queue = dpctl.SyclQueue("opencl:cpu")
        memory = MemoryUSMShared(64, queue=queue)

        class Duck:
            def __init__(self, syclobj: object) -> None:
                self.syclobj = syclobj

            def _get_capsule(self) -> object:
                return capsule_of(self.syclobj)

        context = queue.sycl_context
        for form in (
            queue,
            Duck(queue),
            queue._get_capsule(),
            context,
            Duck(context),
            context._get_capsule(),
            queue.sycl_device.filter_string,
        ):
            other = as_usm_memory(Speaker(memory, syclobj=form))
            assert other._pointer == memory._pointer and other.sycl_context == context

    def test_wrong_context_raises(self) -> None:
        import dpctl

        device = dpctl.SyclDevice("opencl:cpu")
        if device.max_compute_units < 2:
            pytest.skip("one compute unit cannot be divided")
        halves = device.create_sub_devices(partition=device.max_compute_units // 2)
        memory = MemoryUSMShared(64, queue=dpctl.SyclQueue(halves[0]))
        foreign = dpctl.SyclQueue(halves[1])
        for form in (foreign, foreign.sycl_context):
            with pytest.raises(ValueError, match="context"):
                as_usm_memory(Speaker(memory, syclobj=form))
