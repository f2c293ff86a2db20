"""The CUDA array interface both ways: every key, every stream, and refusals. Most of it needs a
CUDA device."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import pytest

import entrepot as ep
from support import cuda_kernels, cuda_streams
from support.cuda_streams import LEGACY, PER_THREAD, DefaultStream, Stream
from support.malformed import Speaker
from support.places import elements

pytestmark = pytest.mark.host

ATTRIBUTE = "__cuda_array_interface__"
MEMORY = (ctypes.c_float * 12)(*range(12))


def host_dict(**changes: object) -> dict[str, Any]:
    """Host memory, which no driver knows: for refusals before a driver is asked."""
    return {
        "shape": (4, 3),
        "typestr": "<f4",
        "data": (ctypes.addressof(MEMORY), False),
        "strides": None,
        "version": 3,
    } | changes


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"version": None}, "'version' is missing; 3 is expected"),
            ({"version": -1}, "'version' is -1"),
            ({"shape": None}, "'shape' is missing"),
            ({"shape": 12}, "'shape' must be a tuple"),
            ({"shape": (-1, 3)}, "negative"),
            ({"strides": (12,)}, "'strides' has 1"),
            ({"strides": (6, 4)}, "no multiple of the item size"),
            ({"typestr": None}, "'typestr' is missing"),
            ({"typestr": ">f4"}, "swapped"),
            ({"typestr": "<V2"}, r"bfloat16 and float8.* go by DLPack"),
            ({"typestr": "|V1"}, r"bfloat16 and float8.* go by DLPack"),
            ({"data": None}, "'data' is missing"),
            ({"data": 12}, r"'data' must be a pair"),
            ({"data": (-1, False)}, "'data' must begin with an address"),
            ({"mask": object()}, "has a 'mask'"),
            ({"offset": 4}, "an 'offset' of 4, which the protocol does not know"),
            ({"stream": 0}, "'stream' is 0, which may mean two streams"),
            ({"stream": -1}, "'stream' must be None or an int of 0 to"),
            ({"stream": 2**64}, "'stream' must be None or an int of 0 to"),
            ({"stream": "1"}, "'stream' must be None or an int of 0 to"),
        ],
    )
    def test_malformed_interface_is_refused_with_reason(
        self, changes: dict[str, object], words: str
    ) -> None:
        producer = Speaker(ATTRIBUTE, host_dict(**changes))
        gone = weakref.ref(producer)
        with pytest.raises(ep.InterfaceError, match=words):
            ep.asarray(producer)
        del producer
        gc.collect()
        assert gone() is None

    def test_memory_unknown_to_cuda_is_refused(self) -> None:
        with pytest.raises(ep.InterfaceError, match=r"unknown to CUDA's driver|there are none"):
            ep.asarray(Speaker(ATTRIBUTE, host_dict()))
        with pytest.raises(ep.InterfaceError, match="must be a dict"):
            ep.asarray(Speaker(ATTRIBUTE, [1]))

    def test_host_memory_has_no_interface(self) -> None:
        array = ep.zeros(3, "float32", device="host")
        assert not hasattr(array, ATTRIBUTE)
        with pytest.raises(AttributeError, match="memory of CUDA and HIP devices only"):
            getattr(array, ATTRIBUTE)


@pytest.fixture
def memory() -> ep.Array:
    """Twelve floats of device memory, 0 to 11."""
    array = ep.empty((4, 3), "float32", device="cuda:0")
    ep.copy(array, ep.asarray(MEMORY).reshape(4, 3)).wait()
    return array


def truth(memory: ep.Array, **changes: object) -> dict[str, Any]:
    return host_dict(**{"data": (memory.data_ptr, False)} | changes)


def take(memory: ep.Array, **changes: object) -> ep.Array:
    return ep.asarray(Speaker(ATTRIBUTE, truth(memory, **changes), keep=memory))


@pytest.mark.cuda
@pytest.mark.numpy
class TestImport:
    def test_interface_is_imported_without_copy(self, memory: ep.Array) -> None:
        view = take(memory)
        assert (view.data_ptr, view.shape, str(view.dtype), view.read_only) == (
            memory.data_ptr,
            (4, 3),
            "float32",
            False,
        )
        assert (view.kind, view.device, view.context) == ("device", memory.device, memory.context)
        assert elements(view) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]

    @pytest.mark.parametrize("kind", ["host", "device", "shared"])
    def test_driver_determines_kind(self, kind: str) -> None:
        memory = ep.zeros((4, 3), "float32", device="cuda:0", kind=kind)
        assert take(memory).kind == kind

    def test_strides_are_in_bytes(self, memory: ep.Array) -> None:
        view = take(memory, shape=(2, 3), strides=(-12, 4), data=(memory.data_ptr + 12, True))
        assert (view.strides, view.read_only) == ((-3, 1), True)
        assert elements(view) == [[3, 4, 5], [0, 1, 2]]

    def test_versions_and_ignored_keys_are_accepted(self, memory: ep.Array) -> None:
        for version in (0, 1, 2, 3, 4):
            assert (
                take(memory, version=version, descr=[("", "<f4")], mask=None, stream=None).data_ptr
                == memory.data_ptr
            )

    def test_empty_memory_is_imported(self, memory: ep.Array) -> None:
        for address in (0, 1, memory.data_ptr, 2**64 - 1):
            interface = truth(memory, shape=(0, 3)) | {"data": (address, False)}
            view = ep.asarray(Speaker(ATTRIBUTE, interface))
            assert (view.shape, view.size, str(view.device)) == ((0, 3), 0, "cuda:0")

    def test_elements_outside_of_the_allocation_are_refused(self) -> None:
        memory = ep.empty(1 << 20, "uint8", device="cuda:0")
        end = memory.data_ptr + memory.nbytes
        for changes in (
            {"data": (end - 4, False), "shape": (1 << 40,)},
            {"data": (memory.data_ptr, False), "shape": (2,), "strides": (1 << 40,)},
            {"data": (memory.data_ptr, False), "shape": (2,), "strides": (-(1 << 40),)},
        ):
            with pytest.raises(
                ep.InterfaceError,
                match=r"'strides' are in bytes|unknown to CUDA's driver|leaves the address space",
            ):
                take(memory, **changes)

    def test_producer_is_kept_and_not_the_dict(self, memory: ep.Array) -> None:
        interface = truth(memory)
        producer = Speaker(ATTRIBUTE, interface, keep=memory)
        gone = weakref.ref(producer)
        view = ep.asarray(producer)
        assert view.owner is producer
        part = view[1:]
        del producer, view
        gc.collect()
        assert gone() is not None
        del part
        gc.collect()
        assert gone() is None

    def test_cai_is_tried_last(self, memory: ep.Array) -> None:
        assert ep.asarray(memory.copy_to_host().numpy()).kind == "host"
        assert (
            ep.asarray(Speaker(ATTRIBUTE, truth(memory)), protocol="cai").data_ptr
            == memory.data_ptr
        )


@pytest.mark.cuda
@pytest.mark.numpy
class TestOrder:
    """The import returns while the stream's kernel spins, and reads are ordered after it."""

    @pytest.mark.parametrize("stream", [LEGACY, PER_THREAD, "own"])
    def test_import_waits_for_the_producers_stream(self, stream: Any) -> None:
        memory = ep.zeros((4, 3), "int32", device="cuda:0")
        memory.queue.wait()
        far = Stream() if stream == "own" else DefaultStream(stream)
        done = cuda_kernels.launch(memory, ep.Queue(far))
        view = take(memory, typestr="<i4", stream=far.handle)
        assert not done.done, "the import waited"
        copied = ep.empty(memory.shape, "int32", device="cuda:0")
        ep.copy(copied, view)
        assert not done.done, "the copy waited"
        assert elements(copied)[0][0] == cuda_kernels.RESULT

    def test_stream_is_not_used_after_its_producer(self) -> None:
        """The producer keeps its stream as long as the object ("Lifetime", version 3), and no
        longer."""
        memory, copied = (ep.zeros((4, 3), "int32", device="cuda:0") for _ in range(2))
        memory.queue.wait()
        copied.queue.wait()
        far, queue = Stream(), ep.Queue("cuda:0")
        done = cuda_kernels.launch(memory, queue)
        memory.__dlpack__(stream=far.handle)  # which makes the stream wait for the kernel
        producer = Speaker(
            ATTRIBUTE, truth(memory, typestr="<i4", stream=far.handle), keep=(memory, far)
        )
        view = ep.asarray(producer)
        ep.copy(copied, view)  # on the stream
        gone = weakref.ref(far)
        assert not done.done
        del producer, view, far
        done.wait()
        assert elements(copied)[0][0] == cuda_kernels.RESULT
        ep.empty(1, "uint8", device="cuda:0")  # releases what is finished
        assert gone() is None
        others = [Stream() for _ in range(8)]  # one of them may reuse its handle
        ep.fill(copied, 1)
        ep.fill(memory, 1)
        assert elements(copied) == elements(memory) == [[1] * 3] * 4
        del others

    def test_host_read_waits_for_stream(self) -> None:
        memory = ep.zeros((4, 3), "int32", device="cuda:0", kind="shared")
        memory.queue.wait()
        far = Stream()
        cuda_kernels.launch(memory, ep.Queue(far))
        view = take(memory, typestr="<i4", stream=far.handle)
        assert view.numpy()[0, 0] == cuda_kernels.RESULT


@pytest.mark.cuda
@pytest.mark.numpy
class TestExport:
    def test_exported_interface_has_all_fields(self, memory: ep.Array) -> None:
        interface = getattr(memory, ATTRIBUTE)
        assert interface == {
            "shape": (4, 3),
            "typestr": "<f4",
            "data": (memory.data_ptr, False),
            "strides": None,
            "version": 3,
            "stream": None,
        }

    def test_strides_are_in_bytes(self, memory: ep.Array) -> None:
        assert getattr(memory[::2, ::-1], ATTRIBUTE)["strides"] == (24, -4)

    def test_empty_memory_has_address_zero(self, memory: ep.Array) -> None:
        assert getattr(memory[4:], ATTRIBUTE)["data"] == (0, False)

    def test_broadcast_view_is_exported_as_read_only(self, memory: ep.Array) -> None:
        assert getattr(memory[0].broadcast_to(2, 3), ATTRIBUTE)["data"][1] is True

    @pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
    def test_types_without_a_typestr_are_refused_with_advice(self, dtype: str) -> None:
        array = ep.empty(3, dtype, device="cuda:0")
        with pytest.raises(AttributeError, match=f"{dtype} has no typestr; use DLPack"):
            getattr(array, ATTRIBUTE)

    def test_host_view_has_no_cai(self) -> None:
        pinned = ep.zeros(3, "float32", device="cuda:0", kind="host")
        assert hasattr(pinned, ATTRIBUTE)
        assert not hasattr(pinned.host(), ATTRIBUTE)

    def test_consumer_waits_for_pending_work(self) -> None:
        array = ep.zeros((4, 3), "int32", device="cuda:0")
        array.queue.wait()
        other = ep.Queue("cuda:0")
        done = cuda_kernels.launch(array, other)
        stream = getattr(array, ATTRIBUTE)["stream"]
        assert not done.done, "the export waited"
        assert stream == array.queue.__cuda_stream__()[1]
        array.queue.wait()
        assert done.done, "the named stream must wait for the other one"
        assert getattr(array, ATTRIBUTE)["stream"] is None

    def test_later_copy_waits_for_consumer_on_the_named_stream(self) -> None:
        """The library does not see the consumer's work, which it submits to the array's queue."""
        array, busy = (ep.zeros((4, 3), "int32", device="cuda:0") for _ in range(2))
        other = ep.Queue("cuda:0")
        copied = ep.zeros((4, 3), "int32", device="cuda:0", queue=other)
        for queue in (array.queue, busy.queue, other):
            queue.wait()
        done = cuda_kernels.launch(array)
        stream = getattr(array, ATTRIBUTE)["stream"]
        assert not done.done
        array.queue.wait()  # so that the copy need not wait for the kernel

        done = cuda_kernels.launch(busy, ep.Queue(DefaultStream(stream)))
        cuda_streams.fill(array.data_ptr, 7, array.size, stream)
        ep.copy(copied, array, queue=other)
        assert not done.done, "the copy waited on the host"
        assert elements(copied) == [[7] * 3] * 4
