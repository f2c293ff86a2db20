"""CUDA graph capture: captured work, memory owned by graphs, refusals, and captures that stay
valid."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import entrepot as ep
import entrepot.kernel as kernels
from entrepot import memory
from support import cuda_graphs, cuda_kernels
from support.cuda_graphs import Graph, capture
from support.cuda_streams import LEGACY, DefaultStream, Stream, driver, has_clusters
from support.places import values_of
from support.polling import eventually_equal

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.cuda, pytest.mark.numpy]

DEVICE = "cuda:0"
MEMORY_TYPE = 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE
ADD = """
extern "C" __global__ void add(int *to, const int *from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] += from[i];
}
"""


@kernels.kernel
def plus(to, source):
    i = kernels.get_global_id(0)
    to[i] += source[i]


every_mode = pytest.mark.parametrize("mode", cuda_graphs.MODES.values(), ids=cuda_graphs.MODES)


@pytest.fixture(scope="module")
def add() -> Any:
    kernel = ep.Program(ADD, DEVICE).kernel("add")

    def launch(to: Any, source: Any, queue: ep.Queue) -> ep.Event:
        count = ep.asarray(to).size
        return kernel[count](to, source, ep.Scalar(count, "int32"), queue=queue)

    return launch


@pytest.fixture
def stream() -> Stream:
    return Stream()


@pytest.fixture
def queue(stream: Stream) -> ep.Queue:
    return ep.Queue(stream)


def numbers(value: int, *, kind: str = "device", size: int = 100) -> ep.Array:
    array = ep.full(size, value, "int32", device=DEVICE, kind=kind)
    array.queue.wait()
    return array


def content(array: ep.Array) -> set[int]:
    return set(values_of(array).tolist())


@every_mode
class TestCapturedWork:
    def test_launches_copies_and_fills_run_with_the_graph(
        self, mode: int, stream: Stream, queue: ep.Queue, add: Any
    ) -> None:
        a, b, c = numbers(1), numbers(0), numbers(0)
        with capture(stream, mode) as graph:
            assert queue.is_captured
            ep.copy(b, a, queue=queue)
            add(b, a, queue)
            ep.fill(c[::2], 7, queue=queue)
            ep.copy(c[1::2], b[1::2], queue=queue)
        assert not queue.is_captured
        assert content(b) == {0}, "it ran at once"
        for value in (1, 20):
            ep.fill(a, value).wait()
            graph.run(stream)
            assert content(b) == {2 * value}
            assert values_of(c).tolist() == [7, 2 * value] * 50

    @pytest.mark.parametrize("kind", ["host", "shared"])
    def test_host_accessible_memory_is_captured_too(
        self, mode: int, kind: str, stream: Stream, queue: ep.Queue
    ) -> None:
        a, b = numbers(1, kind=kind), numbers(0, kind=kind)
        with capture(stream, mode) as graph:
            ep.copy(b, a, queue=queue)
            ep.fill(a[:50], 3, queue=queue)
        assert (content(a), content(b)) == ({1}, {0})
        graph.run(stream)
        graph.run(stream)
        assert values_of(b).tolist() == [3] * 50 + [1] * 50

    def test_ordinary_memory_of_the_host(self, mode: int, stream: Stream, queue: ep.Queue) -> None:
        source, a, back = np.arange(100, dtype="int32"), numbers(0), np.zeros(100, "int32")
        with capture(stream, mode) as graph:
            ep.copy(a, source, queue=queue)
            ep.copy(back, a, queue=queue)
        assert not back.any()
        graph.run(stream)
        assert back.tolist() == list(range(100))

    def test_kernels_written_in_python(self, mode: int, stream: Stream, queue: ep.Queue) -> None:
        a, b = numbers(1), numbers(2)
        plus[100](numbers(0), b).wait()  # compiled now
        with capture(stream, mode) as graph:
            plus[100](a, b, queue=queue)
        graph.run(stream)
        graph.run(stream)
        assert content(a) == {5}

    def test_groups_that_work_together(self, mode: int, stream: Stream, queue: ep.Queue) -> None:
        kernel = ep.Program(ADD, DEVICE).kernel("add")
        a, b, count = numbers(1), numbers(2), ep.Scalar(100, "int32")
        clusters: dict[str, Any] = {"cluster": 2} if has_clusters() else {}
        with capture(stream, mode) as graph:
            kernel[128, 32](a, b, count, queue=queue, cooperative=True)
            kernel[128, 32](a, b, count, queue=queue, **clusters)
        graph.run(stream)
        assert content(a) == {5}

    def test_queues_fork_and_join_by_events(
        self, mode: int, stream: Stream, queue: ep.Queue, add: Any
    ) -> None:
        a, b, other = numbers(1), numbers(2), ep.Queue(DEVICE)
        with capture(stream, mode) as graph:
            start = queue.record()
            assert "captured" in repr(start)
            other.wait_for(start)
            assert other.is_captured
            add(b, b, other)
            add(a, a, queue)
            queue.wait_for(other.record())
            add(a, b, queue)
        graph.run(stream)
        assert content(a) == {6}
        assert not other.is_captured

    def test_arrays_order_queues_of_one_capture(
        self, mode: int, stream: Stream, queue: ep.Queue, add: Any
    ) -> None:
        a, b, other = numbers(1), numbers(2), ep.Queue(DEVICE)
        with capture(stream, mode) as graph:
            other.wait_for(queue.record())
            add(a, b, queue)
            add(b, a, other)
            add(a, b, queue)  # which joins, too
        graph.run(stream)
        assert (content(a), content(b)) == ({8}, {5})

    def test_capture_waits_for_earlier_work(
        self, mode: int, stream: Stream, queue: ep.Queue, add: Any
    ) -> None:
        a, b, before = ep.zeros(2, "int32", device=DEVICE), numbers(0, size=2), ep.Queue(DEVICE)
        done = cuda_kernels.launch(a, before)
        with capture(stream, mode) as graph:
            add(b, a, queue)
            assert done.done
        graph.run(stream)
        assert values_of(b)[0] == cuda_kernels.RESULT

    def test_work_outside_capture_runs_immediately(
        self, mode: int, stream: Stream, queue: ep.Queue, add: Any
    ) -> None:
        a, b, other = numbers(1), numbers(0), ep.Queue(DEVICE)
        with capture(stream, mode) as graph:
            add(a, a, queue)
            add(b, a, other)
            other.wait()
            assert not other.is_captured
        assert content(b) == {1}
        graph.run(stream)
        assert (content(a), content(b)) == ({2}, {1})


class TestMemory:
    def test_memory_allocated_in_a_capture_belongs_to_the_graph(
        self, stream: Stream, queue: ep.Queue, add: Any
    ) -> None:
        a, b = numbers(1, size=1 << 20), numbers(0, size=1 << 20)
        with capture(stream) as graph:
            middle = ep.empty(1 << 20, "int32", queue=queue)
            ep.copy(middle, a, queue=queue)
            add(b, middle, queue)
            address = middle.data_ptr
            del middle
            gc.collect()
            others = [ep.empty(1 << 20, "int32", device=DEVICE) for _ in range(8)]
        others += [
            ep.empty(1 << 20, "int32", queue=where) for where in (queue, None) for _ in range(8)
        ]
        assert address not in [other.data_ptr for other in others]
        for _ in range(3):
            graph.run(stream)
        assert content(b) == {3}

    @pytest.mark.parametrize("kind", ["host", "shared"])
    def test_host_accessible_memory_belongs_to_the_graph(
        self, kind: str, stream: Stream, queue: ep.Queue, add: Any
    ) -> None:
        a, b = numbers(1), numbers(0)
        counted = memory.statistics(memory.pool())
        with memory.use_resource(counted), capture(stream) as graph:
            middle = ep.empty(100, "int32", queue=queue, kind=kind)
            assert middle.kind == kind
            ep.copy(middle, a, queue=queue)
            add(b, middle, queue)
            address = middle.data_ptr
            del middle
            gc.collect()
            others = [ep.empty(100, "int32", device=DEVICE, kind=kind) for _ in range(8)]
        with memory.use_resource(counted):
            others += [ep.empty(100, "int32", queue=queue, kind=kind) for _ in range(8)]
        assert address not in [other.data_ptr for other in others]
        for _ in range(3):
            graph.run(stream)
        assert content(b) == {3}
        graph.drop()
        del others
        assert eventually_true(lambda: counted.current_bytes == 0)

    def test_graph_keeps_arrays_and_kernels_alive(self, stream: Stream, queue: ep.Queue) -> None:
        held, b = numbers(5), numbers(0)
        owner = Owner(held)
        gone = weakref.ref(owner)
        program = ep.Program(ADD.replace("+=", "="), DEVICE)
        with capture(stream) as graph:
            program.kernel("add")[100](b, owner, ep.Scalar(100, "int32"), queue=queue)
        del program, owner
        gc.collect()
        memory.trim()
        graph.run(stream)
        assert content(b) == {5}
        assert gone() is not None
        graph.drop()
        queue.wait()
        assert eventually_true(lambda: gone() is None)

    def test_pool_regains_memory_after_the_graph_is_dropped(
        self, stream: Stream, queue: ep.Queue
    ) -> None:
        numbers_of = memory.statistics(memory.pool())
        with memory.use_resource(numbers_of):
            with capture(stream) as graph:
                ep.fill(ep.empty(1000, "int32", queue=queue), 1, queue=queue)
            assert numbers_of.current_bytes == 4000
            graph.run(stream)
            graph.drop()
            assert eventually_true(lambda: numbers_of.current_bytes == 0)

    def test_shared_memory_released_in_a_capture_is_closed_after_it(
        self, stream: Stream, queue: ep.Queue
    ) -> None:
        with memory.use_resource(memory.shareable()):
            shared = numbers(3)
        address = shared.data_ptr

        def is_mapped() -> bool:
            kind = ctypes.c_uint()
            return (
                driver().cuPointerGetAttribute(
                    ctypes.byref(kind), MEMORY_TYPE, ctypes.c_void_p(address)
                )
                == 0
            )

        with capture(stream) as graph:
            ep.fill(numbers(1), 2, queue=queue)
            del shared
            gc.collect()
            memory.trim()
            assert is_mapped()
        assert graph.status == 0
        memory.trim()
        assert not is_mapped()


class Owner:
    def __init__(self, array: ep.Array) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.array.__cuda_array_interface__


def eventually_true(is_so: Any) -> bool:
    """True if it comes true in time: the driver releases a graph's references on its own thread."""
    for _ in range(200):
        ep.empty(1, "uint8", device="host")
        if is_so():
            return True
        threading.Event().wait(0.02)
    return False


REFUSED = {
    "wait": lambda queue, array: queue.wait(),
    "is_idle": lambda queue, array: queue.is_idle,
    "event.done": lambda queue, array: queue.record().done,
    "event.wait": lambda queue, array: queue.record().wait(),
    "another queue's host": lambda queue, array: ep.fill(array, 1, queue=queue).wait(),
    "read by the host": lambda queue, array: array.to(queue=queue).copy_to_host().numpy(),
    "moved to the host": lambda queue, array: array.to(queue=queue).to("host").numpy(),
    "a strided copy from the host": lambda queue, array: ep.copy(
        array, np.zeros(200, "int32")[::2], queue=queue
    ),
    "a strided copy to the host": lambda queue, array: ep.copy(
        np.zeros(200, "int32")[::2], array, queue=queue
    ),
}


class TestNotCaptured:
    def test_sharing_array_written_by_capture_is_refused(
        self, stream: Stream, queue: ep.Queue
    ) -> None:
        with memory.use_resource(memory.shareable()):
            array = numbers(1)
        with capture(stream) as graph:
            ep.fill(array, 5, queue=queue)
            with pytest.raises(ep.DeviceError, match="captured"):
                array.share()
        graph.run(stream)
        assert content(array.share().open()) == {5}

    @pytest.mark.two_cuda
    @every_mode
    def test_copy_between_devices_is_refused(
        self, mode: int, stream: Stream, queue: ep.Queue
    ) -> None:
        here, there = numbers(1), ep.full(100, 0, "int32", device="cuda:1")
        there.queue.wait()
        with capture(stream, mode) as graph:
            ep.fill(here, 5, queue=queue)
            with pytest.raises(ep.DeviceError, match="captured"):
                ep.copy(there, here, queue=queue)
        graph.run(stream)
        assert (content(here), content(there)) == ({5}, {0})

    @every_mode
    @pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
    def test_blocking_call_in_a_capture_is_refused(
        self, call: Any, mode: int, stream: Stream, queue: ep.Queue, add: Any
    ) -> None:
        a, b = numbers(1), numbers(1)
        with capture(stream, mode) as graph:
            add(a, b, queue)
            with pytest.raises(ep.DeviceError, match="captured"):
                call(queue, b)
            add(a, b, queue)
        graph.run(stream)
        assert content(a) == {3}

    def test_event_of_other_capture_is_refused(self, stream: Stream, queue: ep.Queue) -> None:
        second = Stream()
        other = ep.Queue(second)
        with capture(stream, cuda_graphs.RELAXED) as graph:
            event = queue.record()
            with (
                capture(second, cuda_graphs.RELAXED) as far,
                pytest.raises(ep.DeviceError, match="another graph capture"),
            ):
                other.wait_for(event)
        assert (graph.status, far.status) == (0, 0)
        with pytest.raises(ep.DeviceError, match="has ended"):
            other.wait_for(event)

    def test_legacy_stream_is_refused_while_a_blocking_one_captures(self) -> None:
        blocking, array = Stream(blocking=True), numbers(1)
        legacy = ep.Queue(DefaultStream(LEGACY))
        with (
            capture(blocking) as graph,
            pytest.raises(ep.DeviceError, match="legacy default stream"),
        ):
            ep.fill(array, 2, queue=legacy)
        assert graph.status == 0
        ep.fill(array, 2, queue=legacy).wait()
        assert content(array) == {2}


def other_things() -> None:
    """Calls of a program that are forbidden on a thread while another thread captures."""
    queue = ep.Queue(DEVICE)
    for kind in ("device", "host", "shared"):
        array = ep.full(1 << 16, 3, "int32", queue=queue, kind=kind)
        event = queue.record()
        event.done  # noqa: B018
        event.wait()
        assert queue.is_idle
        array.copy_to_host().numpy()
        ep.copy(array, np.zeros(1 << 16, "int32")).wait()
    escaped = ep.full(1 << 16, 3, "int32", queue=queue)
    escaped.__dlpack__(stream=-1)
    del array, escaped
    memory.trim()
    with memory.use_resource(memory.direct()):
        ep.full(1 << 20, 3, "int32", queue=queue).copy_to_host()
    memory.trim()
    del queue
    ep.Program(ADD.replace("add", "unlike"), DEVICE).kernel("unlike")
    gc.collect()


class TestCaptureByOthers:
    @every_mode
    def test_sharing_and_opening_other_memory(
        self, mode: int, stream: Stream, queue: ep.Queue
    ) -> None:
        a = numbers(1)
        with memory.use_resource(memory.shareable()):
            shared = numbers(3)
        handle = shared.share()
        with capture(stream, mode) as graph:
            ep.fill(a, 9, queue=queue)
            opened = [shared.share().open(), handle.open()]
        assert graph.status == 0
        graph.run(stream)
        assert content(a) == {9}
        assert [content(each) for each in opened] == [{3}, {3}]

    @every_mode
    @pytest.mark.parametrize("elsewhere", [False, True], ids=["this thread", "another thread"])
    def test_other_calls_do_not_invalidate_the_capture(
        self, mode: int, elsewhere: bool, stream: Stream, queue: ep.Queue
    ) -> None:
        a = numbers(1)
        other_things()
        with capture(stream, mode) as graph:
            ep.fill(a, 9, queue=queue)
            if elsewhere:
                worker = threading.Thread(target=other_things)
                worker.start()
                worker.join()
            else:
                other_things()
            ep.fill(a[:50], 8, queue=queue)
        graph.run(stream)
        assert values_of(a).tolist() == [8] * 50 + [9] * 50

    def test_memory_released_during_a_capture_is_freed_after_it(
        self, stream: Stream, queue: ep.Queue
    ) -> None:
        counted = memory.statistics(memory.pool())
        with memory.use_resource(counted):
            array = ep.full(1 << 16, 1, "int32", queue=queue)
            with capture(stream) as graph:
                array.__dlpack__(stream=-1)
                del array
                gc.collect()
                memory.trim()
        assert graph.status == 0
        queue.wait()
        assert eventually_true(lambda: counted.current_bytes == 0)


class TestAbortedCapture:
    @pytest.fixture
    def aborted(self, stream: Stream, queue: ep.Queue) -> ep.Array:
        array = numbers(1)
        with capture(stream) as graph:
            made = ep.empty(100, "int32", queue=queue)
            ep.fill(made, 4, queue=queue)
            ep.fill(array, 5, queue=queue)
            driver().cuStreamQuery(ctypes.c_void_p(stream.handle))  # the user's own mistake
            with pytest.raises(ep.DeviceError):
                ep.fill(array, 6, queue=queue)
            with pytest.raises(ep.DeviceError):
                ep.empty(100, "int32", queue=queue)
        assert graph.status != 0
        return array

    def test_queue_works_after_aborted_capture(
        self, aborted: ep.Array, stream: Stream, queue: ep.Queue, add: Any
    ) -> None:
        assert content(aborted) == {1}
        ep.fill(aborted, 2, queue=queue).wait()
        assert content(aborted) == {2}
        other_things()
        with capture(stream) as graph:
            add(aborted, aborted, queue)
        graph.run(stream)
        assert content(aborted) == {4}


@pytest.mark.torch
class TestTorch:
    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    def test_torch_and_entrepot_work_in_one_graph(self, torch: Any, add: Any) -> None:
        array = numbers(1)
        tensor = torch.zeros(100, dtype=torch.int32, device="cuda")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            stream = torch.cuda.current_stream()
            queue = ep.Queue(stream)
            theirs = torch.from_dlpack(array)
            theirs += 1
            add(tensor, array, queue)
            made = ep.empty(100, "int32", queue=queue)
            ep.copy(made, tensor, queue=queue)
            tensor *= torch.from_dlpack(made)
            del made
            other_things()
        assert content(array) == {1}
        graph.replay()
        torch.cuda.synchronize()
        assert (content(array), tensor.unique().tolist()) == ({2}, [4])
        graph.replay()
        torch.cuda.synchronize()
        assert (content(array), tensor.unique().tolist()) == ({3}, [49])

    def test_capture_of_unknown_stream_is_unaffected(self, torch: Any) -> None:
        tensor = torch.zeros(100, dtype=torch.int32, device="cuda")
        ep.asarray(tensor)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tensor += 1
            other_things()
        graph.replay()
        torch.cuda.synchronize()
        assert tensor.unique().tolist() == [1]


@pytest.mark.cupy
@pytest.mark.parametrize("non_blocking", [False, True], ids=["blocking", "non-blocking"])
class TestCupy:
    def test_cupy_and_entrepot_work_in_one_graph(self, non_blocking: bool, add: Any) -> None:
        import cupy

        array, stream = numbers(1), cupy.cuda.Stream(non_blocking=non_blocking)
        with stream:
            theirs = cupy.zeros(100, "int32")
            warm = cupy.asarray(numbers(1))
            theirs += warm
            theirs -= warm
        stream.synchronize()
        with stream:
            stream.begin_capture()
            queue = ep.Queue(stream)
            try:
                theirs += cupy.from_dlpack(array)
                add(array, theirs, queue)
                other_things()
            finally:
                graph = stream.end_capture()
        assert (content(array), theirs.get().tolist()) == ({1}, [0] * 100)
        graph.launch(stream)
        stream.synchronize()
        assert (content(array), set(theirs.get().tolist())) == ({2}, {1})

    def test_cupy_allocations_in_a_capture_belong_to_the_graph(self, non_blocking: bool) -> None:
        import cupy

        stream, old = cupy.cuda.Stream(non_blocking=non_blocking), cupy.cuda.get_allocator()
        with stream:
            a = cupy.arange(100, dtype="int32")
            (a + a).sum()
            stream.synchronize()
            ep.allocators.use_in_cupy()
            try:
                stream.begin_capture()
                twice = a + a
                address = twice.data.ptr
                a += twice
                del twice
                graph = stream.end_capture()
                others = [cupy.empty(100, "int32") for _ in range(64)]
            finally:
                cupy.cuda.set_allocator(old)
            assert address not in [other.data.ptr for other in others]
            for other in others:
                other.fill(-1)
            graph.launch(stream)
            graph.launch(stream)
            assert a.get().tolist() == [9 * i for i in range(100)]


def test_graphs_dropped_on_threads_release_memory(stream: Stream, queue: ep.Queue) -> None:
    """Graphs release their references on other threads, which run no Python code then."""
    counted = memory.statistics(memory.pool())
    graphs: list[Graph] = []
    with memory.use_resource(counted):
        for _ in range(20):
            with capture(stream) as graph:
                ep.fill(ep.empty(1000, "int32", queue=queue), 1, queue=queue)
            graphs.append(graph)
    assert counted.current_bytes == 20 * 4000
    with ThreadPoolExecutor(max_workers=len(graphs)) as workers:
        drops = [workers.submit(graph.drop) for graph in graphs]
    for drop in drops:
        drop.result()
    assert eventually_equal(lambda: counted.current_bytes, 0)
