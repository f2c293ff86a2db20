"""CUDA streams in every protocol: all values of DLPack's `stream`, the C exchange API's, and
`__cuda_stream__`."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import entrepot as ep
from support import cuda_kernels
from support.cuda_streams import (
    LEGACY,
    PER_THREAD,
    DefaultStream,
    NamesStream,
    Stream,
    current_context,
    inside,
    primary_context,
)
from support.places import elements
from support.tables import publish, table_of
from support.tensors import Held, Legacy, Producer, Versioned, content

pytestmark = [pytest.mark.host, pytest.mark.cuda, pytest.mark.numpy]

CUDA, CUDA_HOST, CUDA_MANAGED, CPU = 2, 3, 13, 1
TYPES = {"device": CUDA, "host": CUDA_HOST, "shared": CUDA_MANAGED}


def zeros(kind: str = "device") -> ep.Array:
    array = ep.zeros((4, 3), "int32", device="cuda:0", kind=kind)
    array.queue.wait()
    return array


def tensor_in(capsule: object) -> Any:
    return content(capsule, Versioned).dl_tensor


class Announced(Held):
    """A producer of an Array's memory that records the requested streams and makes them wait for
    its own queue."""

    def __init__(self, array: ep.Array, device: tuple[int, int], **changes: Any) -> None:
        super().__init__(
            array.data_ptr,
            array,
            shape=array.shape,
            strides=array.strides,
            dtype=(0, 32, 1),
            device=device,
            **changes,
        )
        self.array = array
        self.streams: list[object] = []

    def __dlpack__(self, *, stream: object = "none at all", **keywords: object) -> object:
        self.streams.append(stream)
        if isinstance(stream, int):
            self.array.__dlpack__(stream=stream)
        return self.capsule()


@pytest.fixture(scope="module", autouse=True)
def runtime_is_initialized() -> None:
    """The first question for PyTorch's current stream initializes CUDA's runtime, which makes a
    context current.
    """
    exported = zeros()
    exported.__dlpack__()  # its consumer may be PyTorch
    exported.copy_to_host()


@pytest.fixture(autouse=True)
def the_callers_context_stays() -> Iterator[None]:
    before = current_context()
    yield
    assert current_context() == before


class TestDevices:
    @pytest.mark.parametrize("kind", TYPES)
    def test_kind_determines_dlpack_device(self, kind: str) -> None:
        array = zeros(kind)
        assert array.__dlpack_device__() == (TYPES[kind], 0)
        tensor = tensor_in(array[1:, 1:].__dlpack__(max_version=(1, 3)))
        assert (tensor.device.device_type, tensor.device.device_id) == (TYPES[kind], 0)
        assert tensor.data + tensor.byte_offset == array[1:, 1:].data_ptr

    def test_accessible_memory_is_exported_as_cpu_memory(self) -> None:
        for kind in ("host", "shared"):
            array = zeros(kind)
            for capsule in (
                array.__dlpack__(max_version=(1, 3), dl_device=(CPU, 0)),
                array.host().__dlpack__(max_version=(1, 3)),
            ):
                tensor = tensor_in(capsule)
                assert (tensor.device.device_type, tensor.data + tensor.byte_offset) == (
                    CPU,
                    array.data_ptr,
                )
        with pytest.raises(ep.ExchangeError, match="which the host cannot reach"):
            zeros().__dlpack__(dl_device=(CPU, 0))

    def test_managed_memory_is_the_devices_too(self) -> None:
        array = zeros("shared")
        tensor = tensor_in(array.__dlpack__(max_version=(1, 3), dl_device=(CUDA, 0)))
        assert (tensor.device.device_type, tensor.data) == (CUDA, array.data_ptr)
        for kind, asked in (("host", CUDA), ("device", CUDA_MANAGED), ("device", CUDA_HOST)):
            with pytest.raises(ep.ExchangeError, match="was asked for, but the array is on"):
                zeros(kind).__dlpack__(dl_device=(asked, 0))

    @pytest.mark.parametrize("wanted", [(CPU, 0), (CUDA, 0), (CUDA_HOST, 0), (CUDA_MANAGED, 0)])
    @pytest.mark.parametrize("kind", TYPES)
    def test_copy_is_made_on_the_requested_device(self, kind: str, wanted: tuple[int, int]) -> None:
        array = zeros(kind)
        ep.fill(array, 7)
        copied = ep.asarray(
            array.__dlpack__(max_version=(1, 3), dl_device=wanted, copy=True), copy=True
        )
        assert elements(copied) == [[7] * 3] * 4

    @pytest.mark.parametrize("type", [CUDA, CUDA_HOST, CUDA_MANAGED])
    @pytest.mark.parametrize("kind", TYPES)
    def test_imported_memory_has_the_drivers_kind(self, kind: str, type: int) -> None:
        array = zeros(kind)
        ep.fill(array, 3).wait()
        for form in (Legacy, Versioned):
            view = ep.asarray(Announced(array, (type, 0), form=form))
            assert (view.kind, str(view.device), view.data_ptr) == (kind, "cuda:0", array.data_ptr)
            assert elements(view) == [[3] * 3] * 4

    def test_unknown_memory_and_device_numbers_are_refused(self) -> None:
        host = (ctypes.c_int * 12)()
        for type in (CUDA, CUDA_HOST, CUDA_MANAGED):
            with pytest.raises(ep.ExchangeError, match="its driver does not know"):
                ep.asarray(
                    Producer(ctypes.addressof(host), host, dtype=(0, 32, 1), device=(type, 0))
                )
        with pytest.raises(ep.ExchangeError, match="numbered from 0"):
            ep.asarray(Producer(zeros().data_ptr, dtype=(0, 32, 1), device=(CUDA, 99)))

    def test_byte_offset_is_applied(self) -> None:
        array = ep.empty(24, "int32", device="cuda:0")
        ep.copy(array, ep.asarray((ctypes.c_int * 24)(*range(24)))).wait()
        producer = Announced(array, (CUDA, 0), byte_offset=12 * 4)
        producer.shape, producer.strides = (4, 3), (3, 1)
        assert elements(ep.asarray(producer))[0] == [12, 13, 14]

    def test_own_capsule_keeps_kind_and_context(self) -> None:
        array = zeros()
        again = ep.asarray(array.__dlpack__(max_version=(1, 3)))
        ep.fill(again, 5)
        assert elements(array) == [[5] * 3] * 4
        assert (again.context, again.kind) == (array.context, array.kind)


class TestConsumersStream:
    @pytest.mark.parametrize("stream", [0, 3, 4095, -2, 2**64, -(2**70)])
    @pytest.mark.parametrize("kind", TYPES)
    def test_invalid_stream_number_is_refused(self, kind: str, stream: int) -> None:
        with pytest.raises(
            ep.ExchangeError, match=f"stream {stream} means nothing on kDLCUDA.*; pass 1 "
        ):
            zeros(kind).__dlpack__(stream=stream)

    def test_invalid_stream_is_refused(self) -> None:
        with pytest.raises(TypeError, match="a queue was expected"):
            zeros().__dlpack__(stream=object())
        with pytest.raises(ep.ExchangeError, match="which has no streams"):
            zeros("host").__dlpack__(dl_device=(CPU, 0), stream=1)

    @pytest.mark.parametrize("name", ["None", "1", "2", "handle", "object", "queue"])
    def test_consumer_stream_waits_and_the_host_does_not(self, name: str) -> None:
        array, other = zeros(), ep.Queue("cuda:0")
        own = Stream()
        stream: Any = {
            "None": None,
            "1": LEGACY,
            "2": PER_THREAD,
            "handle": own.handle,
            "object": own,
            "queue": ep.Queue(own),
        }[name]
        far = ep.Queue(
            {
                "None": DefaultStream(LEGACY),
                "1": DefaultStream(LEGACY),
                "2": DefaultStream(PER_THREAD),
            }.get(name, own)
        )
        done = cuda_kernels.launch(array, other)
        array.__dlpack__(max_version=(1, 3), stream=stream)
        assert not done.done, "the export waited"
        far.wait()
        assert done.done, "the stream did not wait for the array's work"

    def test_stream_minus_one_does_not_wait(self) -> None:
        array, own = zeros(), Stream()
        done = cuda_kernels.launch(array, ep.Queue("cuda:0"))
        array.__dlpack__(stream=-1)
        own.wait()
        assert not done.done
        done.wait()

    @pytest.mark.parametrize("kind", ["host", "shared"])
    def test_export_without_a_stream_waits_on_the_host(self, kind: str) -> None:
        choices: list[dict[str, Any]] = [{}, {"dl_device": (CPU, 0)}]
        for keywords in choices:
            array = zeros(kind)
            done = cuda_kernels.launch(array)
            array.__dlpack__(max_version=(1, 3), **keywords)
            assert done.done

    def test_access_waits_for_later_work_of_a_default_stream(self) -> None:
        array, legacy = zeros(), ep.Queue(DefaultStream(LEGACY))
        capsule = array.__dlpack__(max_version=(1, 3))
        foreign = ep.asarray(capsule, queue=legacy).view("int32")
        done = cuda_kernels.launch(ep.asarray(Announced(array, (CUDA, 0))), legacy)
        assert not done.done
        assert elements(array)[0][0] == cuda_kernels.RESULT
        del foreign

    def test_stream_handle_is_not_used_after_the_call(self) -> None:
        array, other = zeros(), ep.Queue("cuda:0")
        own = Stream()
        done = cuda_kernels.launch(array, other)
        array.__dlpack__(stream=own.handle)
        gone = weakref.ref(own)
        del own
        assert gone() is None
        others = [Stream() for _ in range(8)]
        ep.fill(array[1:], 9)
        assert elements(array)[0][0] == cuda_kernels.RESULT
        assert done.done
        del array, others
        gc.collect()
        ep.memory.trim()


class TestProducersStream:
    def test_import_passes_a_stream_and_later_work_waits(self) -> None:
        array = zeros()
        done = cuda_kernels.launch(array, ep.Queue("cuda:0"))
        producer = Announced(array, (CUDA, 0))
        view = ep.asarray(producer)
        assert not done.done, "the import waited"
        [stream] = producer.streams
        assert type(stream) is int
        assert stream > PER_THREAD
        assert elements(view)[0][0] == cuda_kernels.RESULT

    def test_queue_of_caller_is_passed_to_producer(self) -> None:
        own = Stream()
        for queue, handle in (
            (own, own.handle),
            (ep.Queue(own), own.handle),
            (DefaultStream(LEGACY), LEGACY),
            (DefaultStream(PER_THREAD), 2),
        ):
            producer = Announced(zeros(), (CUDA, 0))
            view = ep.asarray(producer, queue=queue)
            assert producer.streams == [handle]
            assert view.queue.__cuda_stream__() == (0, handle)

    def test_producer_without_streams_uses_the_legacy_one(self) -> None:
        class Simple(Announced):
            def __dlpack__(self) -> object:  # type: ignore[override]
                return self.capsule()

        array, legacy = zeros(), ep.Queue(DefaultStream(LEGACY))
        done = cuda_kernels.launch(array, legacy)
        view = ep.asarray(Simple(array, (CUDA, 0)))
        assert not done.done
        assert elements(view)[0][0] == cuda_kernels.RESULT

    def test_stream_destroyed_before_its_memory_is_not_used(self) -> None:
        """The garbage collector finds the object and its stream in one cycle, and destroys the
        stream first."""
        for _ in range(20):
            producer: Any = NamesStream()
            producer.array = ep.asarray(producer)
            assert producer.array.data_ptr == producer.memory.data_ptr
            dict(producer.array.__cuda_array_interface__)  # a consumer may work on it from here on
            died = weakref.ref(producer)
            del producer
            gc.collect()
            assert died() is None
            zeros().copy_to_host()  # the release has begun a quarantine, which asks all streams

    def test_queue_of_array_keeps_the_named_stream_alive(self) -> None:
        producer: Any = NamesStream()
        owner, stream = weakref.ref(producer), producer.stream
        queue = ep.asarray(producer).queue
        assert queue.__cuda_stream__() == (0, stream.handle)
        del producer
        gc.collect()
        assert owner() is not None
        zeros().copy_to_host()
        del queue
        gc.collect()
        assert owner() is None

    @pytest.mark.parametrize("has_array", [False, True])
    def test_cycle_through_queue_of_array_is_collected(self, has_array: bool) -> None:
        for _ in range(20):
            producer: Any = NamesStream()
            array = ep.asarray(producer)
            producer.queue = array.queue
            if has_array:
                producer.array = array
            del array
            died = weakref.ref(producer)
            gc.collect()
            assert died() is producer
            del producer
            gc.collect()
            assert died() is None
            zeros().copy_to_host()  # the release has begun a quarantine, which asks all streams

    def test_pinned_memory_is_imported_without_stream(self) -> None:
        producer = Announced(zeros("host"), (CUDA_HOST, 0))
        ep.asarray(producer)
        assert producer.streams == ["none at all"]


class TestExchangeApi:
    def current_stream(self) -> int | None:
        out = ctypes.c_void_p()
        assert table_of(ep.Array).current_stream(CUDA, 0, out) == 0
        return out.value

    def test_current_stream_is_the_innermost_queues_of_this_thread(self) -> None:
        default = ep.device("cuda:0").queue
        assert self.current_stream() == default.__cuda_stream__()[1]
        own, seen = Stream(), []
        with ep.Queue(own):
            assert self.current_stream() == own.handle
            with ep.device_context(DefaultStream(LEGACY)):
                assert self.current_stream() == LEGACY
            thread = threading.Thread(target=lambda: seen.append(self.current_stream()))
            thread.start()
            thread.join()
            assert self.current_stream() == own.handle
        with ep.Queue("host"):
            assert self.current_stream() == default.__cuda_stream__()[1]
        assert seen == [default.__cuda_stream__()[1]]

    def test_consumer_queue_waits_and_the_host_does_not(self) -> None:
        array, own = zeros(), Stream()
        done = cuda_kernels.launch(array, ep.Queue("cuda:0"))
        out = ctypes.c_void_p()
        with ep.Queue(own):
            assert table_of(ep.Array).from_object(array, out) == 0
        assert not done.done
        own.wait()
        assert done.done
        managed = Versioned.from_address(out.value or 0)
        assert (managed.dl_tensor.device.device_type, managed.dl_tensor.device.device_id) == (
            CUDA,
            0,
        )
        managed.delete()

    @pytest.mark.parametrize("name", ["NULL", "1", "2", "handle"])
    def test_import_waits_for_the_producers_current_stream(self, name: str) -> None:
        array, own = zeros(), Stream()
        number = {"NULL": None, "1": LEGACY, "2": PER_THREAD, "handle": own.handle}[name]
        far = ep.Queue(own if name == "handle" else DefaultStream(number or LEGACY))
        given = [array]
        kind, table = publish(lambda: Announced(given[0], (CUDA, 0)))

        def current_stream(type: int, device: int, out: Any) -> int:
            assert (type, device) == (CUDA, 0)
            out[0] = number
            return 0

        table.current_stream = keep = table.CurrentStream(current_stream)
        done = cuda_kernels.launch(array, far)
        view = ep.asarray(kind())
        assert not done.done, "the import waited"
        copied = ep.empty(view.shape, "int32", device="cuda:0")
        ep.copy(copied, view)
        assert not done.done, "the copy waited"
        assert elements(copied)[0][0] == cuda_kernels.RESULT
        del keep
        given.clear()  # the type stays, as types with a table do

    def test_driver_determines_kind(self) -> None:
        given, host = [zeros("shared")], (ctypes.c_int * 12)()
        kind, _ = publish(lambda: Announced(given[0], (CUDA, 0)))
        assert ep.asarray(kind()).kind == "shared"
        given.clear()
        liar, _ = publish(
            lambda: Producer(ctypes.addressof(host), host, dtype=(0, 32, 1), device=(CUDA, 0))
        )
        with pytest.raises(ep.ExchangeError, match="its driver does not know"):
            ep.asarray(liar())

    @pytest.mark.parametrize("kind", TYPES)
    def test_allocations_have_the_requested_kind(self, kind: str) -> None:
        producer = Producer(None, dtype=(0, 32, 1), device=(TYPES[kind], 0))
        prototype = producer.tensor().dl_tensor
        out, errors = ctypes.c_void_p(), []
        table = table_of(ep.Array)
        on_error = table.SetError(lambda _, kind, message: errors.append((kind, message)))
        assert table.allocate(ctypes.addressof(prototype), out, None, on_error) == 0, errors
        managed = Versioned.from_address(out.value or 0)
        assert managed.dl_tensor.device.device_type == TYPES[kind]
        managed.delete()


class TestCudaStream:
    def test_queue_implements_cuda_stream(self) -> None:
        queue = ep.Queue("cuda:0")
        version, handle = queue.__cuda_stream__()
        assert version == 0
        assert handle > PER_THREAD
        assert ep.Queue(Foreign(queue)) == queue

    @pytest.mark.parametrize(
        "use",
        [
            ep.Queue,
            lambda stream: ep.empty(3, "int32", queue=stream).queue,
            lambda stream: ep.zeros(3, "int32", queue=stream).queue,
            lambda stream: ep.full(3, 1, "int32", queue=stream).queue,
            lambda stream: ep.asarray(zeros(), queue=stream).queue,
            lambda stream: zeros().to(queue=stream).queue,
            lambda stream: ep.device_context(stream),
        ],
    )
    def test_streams_are_accepted_as_queues(self, use: Callable[[Any], ep.Queue]) -> None:
        own = Stream()
        assert use(own).__cuda_stream__() == (0, own.handle)

    def test_work_on_wrapped_stream_completes(self) -> None:
        own, array = Stream(), zeros()
        ep.fill(array, 5, queue=own)
        own.wait()
        copied = ep.empty(array.shape, "int32", device="cuda:0")
        ep.copy(copied, array, queue=own)
        cuda_kernels.launch(copied, own).wait()
        assert elements(copied)[1] == [5, 5, 5]

    def test_queue_keeps_its_stream_object_alive(self) -> None:
        own = Stream()
        gone = weakref.ref(own)
        array = ep.asarray(zeros(), queue=own)
        del own
        gc.collect()
        assert gone() is not None
        ep.fill(array, 3).wait()
        del array
        gc.collect()
        ep.memory.trim()
        assert gone() is None

    @pytest.mark.parametrize(
        "answer", [None, (), (0,), (0, "1"), (1, 5), (0, -1), (0, 2**64), "01"]
    )
    def test_invalid_cuda_stream_answers_are_refused(self, answer: object) -> None:
        class Wrong:
            def __cuda_stream__(self) -> object:
                return answer

        with pytest.raises(
            TypeError, match=r"__cuda_stream__\(\) returned .*; \(0, CUstream\) is expected"
        ):
            ep.Queue(Wrong())

    def test_queue_of_another_backend_is_not_a_cuda_stream(self) -> None:
        with pytest.raises(
            ep.DeviceError, match="is no CUDA stream: it belongs to the host backend"
        ):
            ep.Queue("host").__cuda_stream__()

    def test_memory_unreachable_from_the_queue_is_refused(self) -> None:
        with pytest.raises(ep.ExchangeError, match="no work of the queue can use it"):
            ep.asarray(zeros(), queue=ep.Queue("host"))

    def test_exchange_works_while_another_context_is_current(self) -> None:
        with inside(primary_context()):
            before = current_context()
            array = ep.asarray(Announced(zeros(), (CUDA, 0)))
            array.__dlpack__(stream=LEGACY)
            assert array.__cuda_array_interface__["data"][0] == array.data_ptr
            assert current_context() == before


class Foreign:
    """Another library's object for a stream that it did not create."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return self.stream.__cuda_stream__()


@pytest.mark.two_cuda
class TestTwoDevices:
    def test_memory_is_exported_with_its_device(self) -> None:
        for number in (0, 1):
            array = ep.full((4, 3), number, "int32", device=f"cuda:{number}")
            assert array.__dlpack_device__() == (CUDA, number)
            for view in (
                ep.asarray(Announced(array, (CUDA, number))),
                ep.asarray(array.__dlpack__(max_version=(1, 3))),
            ):
                assert str(view.device) == f"cuda:{number}"
                assert elements(view) == [[number] * 3] * 4

    def test_pointer_decides_the_device_over_the_number(self) -> None:
        array = ep.full((4, 3), 7, "int32", device="cuda:1")
        view = ep.asarray(Announced(array, (CUDA, 0)))
        assert (str(view.device), view.context) == ("cuda:1", array.context)

    def test_default_streams_are_those_of_the_memorys_device(self) -> None:
        array = ep.zeros((4, 3), "int32", device="cuda:1")
        array.queue.wait()
        done = cuda_kernels.launch(array, ep.Queue("cuda:1"))
        array.__dlpack__(stream=LEGACY)
        assert not done.done
        with inside(primary_context(1)):
            far = ep.Queue(DefaultStream(LEGACY))
        assert str(far.device) == "cuda:1"
        far.wait()
        assert done.done

    def test_export_to_other_device_needs_copy(self) -> None:
        array = ep.full((4, 3), 7, "int32", device="cuda:1")
        with pytest.raises(ep.ExchangeError, match="pass copy=True"):
            array.__dlpack__(dl_device=(CUDA, 0))
        copied = ep.asarray(
            array.__dlpack__(max_version=(1, 3), dl_device=(CUDA, 0), copy=True), copy=True
        )
        assert (str(copied.device), elements(copied)) == ("cuda:0", [[7] * 3] * 4)
