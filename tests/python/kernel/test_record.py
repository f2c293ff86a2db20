"""Work that is recorded into a graph and replayed: contents, order, lifetime, updates and
refusals."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as ek
from kernel.backends import every_device
from support import cuda_kernels
from support.cuda_graphs import capture
from support.cuda_streams import Stream
from support.places import values_of
from support.polling import eventually_equal

pytestmark = pytest.mark.numpy

TURNS = 300_000_000


@ek.kernel
def add(out, amount):
    out[ek.get_global_id(0)] += amount


@ek.kernel
def add_array(out, x):
    i = ek.get_global_id(0)
    out[i] += x[i]


@ek.kernel
def scale(out, factor):
    out[ek.get_global_id(0)] *= factor


@ek.kernel
def slow(out, turns):
    x = ek.uint32(1)
    for _ in range(turns):
        x = x * 1664525 + 1013904223
    out[1] = x
    out[0] = 42


@pytest.fixture
def queue(device: str) -> ep.Queue:
    return ep.Queue(device)


def full(value: float, queue: ep.Queue, size: int = 4, dtype: str = "int32") -> ep.Array:
    array = ep.full(size, value, dtype, queue=queue)
    queue.wait()
    return array


def warm_up(queue: ep.Queue) -> None:
    """Compiles the slow kernel, and lets the host measure it: quick kernels run at once there."""
    slow[1](full(0, queue, 2), 3_000_000).wait()


def content(array: ep.Array) -> set[float]:
    return set(values_of(array).tolist())


@every_device
class TestReplay:
    def test_recorded_launches_run_at_each_replay(self, queue):
        a, b = full(1, queue), full(0, queue)
        with ep.record(queue) as graph:
            add_array[4](b, a)
            add[4](a, 1)
        assert (content(a), content(b)) == ({1}, {0}), "they ran at once"
        for expected in (1, 3, 6):
            graph.replay().wait()
            assert content(b) == {expected}

    def test_recorded_nodes_run_in_order(self, queue):
        a = full(1, queue)
        with ep.record(queue) as graph:
            for _ in range(10):
                add[4](a, 1)
                scale[4](a, 2)
        graph.replay().wait()
        expected = 1
        for _ in range(10):
            expected = (expected + 1) * 2
        assert content(a) == {expected}

    def test_copies_and_fills_are_replayed(self, queue):
        a, b, c = full(1, queue, 6), full(0, queue, 6), full(0, queue, 6)
        with ep.record(queue) as graph:
            ep.copy(b, a, queue=queue)
            ep.fill(c[::2], 7, queue=queue)
            ep.copy(c[1::2], b[1::2], queue=queue)
            ep.fill(a, 5, queue=queue)
        assert [node.kind for node in graph.nodes] == ["copy", "fill", "copy", "fill"]
        assert content(b) == content(c) == {0}, "they ran at once"
        graph.replay().wait()
        assert values_of(c).tolist() == [7, 1] * 3
        graph.replay().wait()
        assert values_of(c).tolist() == [7, 5] * 3

    def test_replays_follow_each_other_without_a_wait(self, queue):
        a = full(0, queue, 1000)
        with ep.record(queue) as graph:
            for _ in range(5):
                add[1000](a, 1)
        for _ in range(40):
            graph.replay()
        assert content(a) == {200}

    def test_eager_work_is_in_order_with_replays(self, queue):
        a = full(0, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)
        graph.replay()
        scale[4](a, 10)
        graph.replay()
        assert content(a) == {11}

    def test_long_nodes_run_in_order(self, queue):
        """On the host such nodes are spread over threads, with short ones between them."""
        size = 3_000_000
        a, b, one = full(1, queue, size), full(0, queue, size), full(0, queue, 1)
        with ep.record(queue) as graph:
            for _ in range(3):
                add_array[size](b, a)
                add[1](one, 1)
                ep.copy(a, b, queue=queue)
        event = graph.replay()
        graph.replay()
        event.wait()
        assert content(b) == {4 * 8}
        assert content(one) == {6}

    def test_empty_recording_replays_nothing(self, queue):
        a = full(1, queue)
        with ep.record(queue) as graph:
            add[0](a, 1)
        assert len(graph) == 0
        graph.replay().wait()
        assert content(a) == {1}

    def test_replay_on_another_queue_of_the_device(self, queue, device):
        a = full(1, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)
        graph.replay(queue=ep.Queue(device))
        graph.replay()
        graph.replay(queue=ep.Queue(device)).wait()
        assert content(a) == {4}

    def test_launch_of_another_thread_runs_at_once(self, queue):
        a, b = full(1, queue), full(1, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)
            thread = threading.Thread(target=lambda: add[4](b, 1).wait())
            thread.start()
            thread.join()
        assert (content(a), content(b)) == ({1}, {2})
        assert len(graph) == 1

    def test_two_threads_record_one_queue(self, queue):
        arrays = [full(0, queue) for _ in range(2)]
        both = threading.Barrier(2)
        graphs: list[ep.Graph] = []

        def record(array: ep.Array) -> None:
            with ep.record(queue) as graph:
                both.wait()
                add[4](array, 1)
                both.wait()
            graphs.append(graph)

        threads = [threading.Thread(target=record, args=(array,)) for array in arrays]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for graph in graphs:
            graph.replay()
        assert [content(array) for array in arrays] == [{1}, {1}]

    def test_eager_launches_keep_their_arguments_meanwhile(self, queue, device):
        """Threads prepare graphs of a kernel while another thread launches it."""
        mine, count, ended = full(0, queue), 0, threading.Event()
        own = ep.Queue(device)

        def record() -> None:
            while not ended.is_set():
                theirs = full(0, own)
                with ep.record(own) as graph:
                    for _ in range(20):
                        add[4](theirs, 100)
                graph.replay().wait()
                assert content(theirs) == {2000}

        recorder = threading.Thread(target=record)
        recorder.start()
        for _ in range(3000):
            add[4](mine, 1)
            count += 1
        ended.set()
        recorder.join()
        assert content(mine) == {count}

    def test_threads_replay_one_graph(self, queue):
        a = full(0, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)

        def replay() -> None:
            for _ in range(20):
                graph.replay()

        threads = [threading.Thread(target=replay) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert content(a) == {80}


@every_device
@pytest.mark.alone
class TestOrder:
    def test_replay_waits_for_work_of_another_queue(self, queue, device):
        a = full(0, queue, 2)
        warm_up(queue)
        with ep.record(queue) as graph:
            add[1](a, 1)
        graph.replay().wait()  # the first one takes longer
        slow[1](a, TURNS, queue=ep.Queue(device))
        graph.replay().wait()
        assert values_of(a)[0] == 43

    def test_recording_waits_for_nothing(self, queue, device):
        a = full(0, queue, 2)
        warm_up(queue)
        running = slow[1](a, TURNS, queue=ep.Queue(device))
        with ep.record(queue) as graph:
            add[1](a, 1)
        assert not running.done
        graph.replay().wait()
        assert values_of(a)[0] == 43

    def test_later_work_of_another_queue_waits_for_the_replay(self, queue, device):
        a, other = full(0, queue, 2), ep.Queue(device)
        warm_up(queue)
        with ep.record(queue) as graph:
            slow[1](a, TURNS)
        graph.replay()
        add[1](a, 1, queue=other).wait()
        assert values_of(a)[0] == 43

    def test_host_access_waits_for_the_replay(self, queue):
        a = full(0, queue, 2)
        warm_up(queue)
        with ep.record(queue) as graph:
            slow[1](a, TURNS)
        graph.replay()
        assert a[0].item() == 42

    def test_replay_waits_for_an_earlier_replay(self, queue, device):
        a = full(0, queue, 2)
        warm_up(queue)
        with ep.record(queue) as graph:
            slow[1](a, TURNS)
            add[1](a, 1)
        graph.replay()
        graph.replay(queue=ep.Queue(device)).wait()
        assert values_of(a)[0] == 43

    def test_dropped_graph_finishes_its_replay(self, queue):
        a = full(0, queue, 2)
        warm_up(queue)
        with ep.record(queue) as graph:
            slow[1](a, TURNS)
            add[1](a, 1)
        event = graph.replay()
        del graph
        gc.collect()
        event.wait()
        assert values_of(a)[0] == 43


@every_device
class TestLifetime:
    def test_graph_keeps_memory_that_was_released_while_recording(self, queue):
        out = full(0, queue)
        with ep.record(queue) as graph:
            scratch = ep.empty(4, "int32", queue=queue)
            ep.fill(scratch, 3, queue=queue)
            add_array[4](out, scratch)
            del scratch
        for _ in range(8):  # of the size that was released
            full(9, queue)
        graph.replay().wait()
        assert content(out) == {3}

    def test_graph_keeps_its_arrays_until_it_is_dropped(self, queue):
        a = full(1, queue)
        alive = weakref.ref(a)
        with ep.record(queue) as graph:
            add[4](a, 1)
        del a
        gc.collect()
        assert alive() is not None
        graph.replay().wait()
        del graph
        gc.collect()
        assert eventually_equal(lambda: alive() is None, True, seconds=5)

    def test_discarded_recording_keeps_nothing(self, queue):
        a = full(1, queue)
        alive = weakref.ref(a)
        with pytest.raises(ZeroDivisionError), ep.record(queue):
            add[4](a, 1)
            del a
            raise ZeroDivisionError
        gc.collect()
        assert alive() is None

    def test_update_releases_the_argument_before(self, queue):
        a, b = full(1, queue), full(1, queue)
        alive = weakref.ref(a)
        with ep.record(queue) as graph:
            add[4](a, 1)
        graph.nodes[0].update(b, 1)
        del a
        gc.collect()
        assert alive() is None

    def test_cycle_through_a_graph_is_collected(self, queue):
        class Number(float):
            graph: ep.Graph

        number, a = Number(1), full(1, queue, dtype="float64")
        with ep.record(queue) as graph:
            add[4](a, number)
        number.graph = graph
        alive = weakref.ref(number)
        del number, graph
        gc.collect()
        assert alive() is None


@every_device
class TestNodes:
    def test_nodes_show_their_launches(self, queue):
        a = full(1, queue)
        with ep.record(queue) as graph:
            event = add[4](a, 2)
            ep.fill(a, 3, queue=queue)
        launch, fill = graph.nodes
        assert (launch.kind, launch.name, launch.kernel) == ("launch", "add", add)
        assert launch.arguments[0] is a
        assert launch.arguments[1] == 2
        assert repr(launch) == "<entrepot.GraphNode add(int32 array of 1 dimension, int)>"
        assert (fill.kind, fill.name, fill.kernel) == ("fill", "fill", None)
        assert len(graph) == 2
        assert repr(graph) == f"<entrepot.Graph of 2 nodes on {queue.device}>"
        assert graph.queue == queue
        assert repr(event) == "<entrepot.Event, recorded>"

    def test_update_changes_arguments_of_later_replays(self, queue):
        a, b = full(0, queue), full(0, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)
            scale[4](a, 3)
        graph.replay()
        graph.nodes[0].update(a, 10)
        graph.replay().wait()
        assert content(a) == {39}
        graph.nodes[0].update(b, 5)
        graph.replay().wait()
        assert (content(a), content(b)) == ({117}, {5})
        assert graph.nodes[0].arguments[0] is b

    def test_update_is_ordered_with_work_on_the_new_array(self, queue, device):
        a, b = full(0, queue, 2), full(0, queue, 2)
        warm_up(queue)
        with ep.record(queue) as graph:
            add[1](a, 1)
        graph.replay()
        graph.nodes[0].update(b, 1)
        slow[1](b, TURNS // 4, queue=ep.Queue(device))
        graph.replay()
        assert values_of(b)[0] == 43

    def test_update_during_a_replay_leaves_it_alone(self, queue):
        a, b = full(0, queue, 2), full(0, queue, 2)
        warm_up(queue)
        with ep.record(queue) as graph:
            slow[1](a, TURNS // 4)
            add[1](a, 1)
        graph.replay()
        graph.nodes[1].update(b, 1)
        graph.replay().wait()
        assert (values_of(a)[0], values_of(b)[0]) == (42, 1)

    def test_update_to_a_view_of_other_strides(self, queue):
        a, b = full(0, queue), full(0, queue, 8)
        with ep.record(queue) as graph:
            add[4](a, 1)
        graph.nodes[0].update(b[::2], 1)
        graph.replay().wait()
        assert values_of(b).tolist() == [1, 0] * 4

    def test_failed_update_leaves_the_node(self, queue):
        a = full(0, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)
        with pytest.raises(IndexError):
            graph.nodes[0].update(full(0, queue, 2), 1)
        graph.replay().wait()
        assert content(a) == {1}

    @pytest.mark.parametrize(
        ("make", "said"),
        [
            (lambda a, queue: (a, 1.0), "argument 1 is an int, and a float was given"),
            (
                lambda a, queue: (full(0, queue, 4, "float32"), 1),
                "argument 0 is an int32 array of 1 dimension, and a float32 array of 1 dimension",
            ),
            (
                lambda a, queue: (a.reshape((2, 2)), 1),
                "argument 0 is an int32 array of 1 dimension, and an int32 array of 2 dimensions",
            ),
            (
                lambda a, queue: (a, np.int32(1)),
                "argument 1 is an int, and an int32 scalar was given",
            ),
            (lambda a, queue: (a,), "the launch has 2 arguments, and 1 were given"),
        ],
        ids=["number", "dtype", "dimensions", "numpy", "count"],
    )
    def test_update_with_other_types_names_both(self, queue, make, said):
        a = full(0, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)
        with pytest.raises(TypeError, match=said):
            graph.nodes[0].update(*make(a, queue))

    def test_update_of_a_fill_is_refused(self, queue):
        a = full(0, queue)
        with ep.record(queue) as graph:
            ep.fill(a, 1, queue=queue)
        with pytest.raises(ValueError, match="node 0 is a fill"):
            graph.nodes[0].update(a)


REFUSED: dict[str, tuple[Callable[[ep.Array, ep.Queue], object], str]] = {
    "event.wait": (lambda a, queue: add[4](a, 1).wait(), "wait for the event that replay"),
    "event.done": (lambda a, queue: add[4](a, 1).done, "wait for the event that replay"),
    "queue.wait": (lambda a, queue: queue.wait(), r"wait\(\) was called while this thread records"),
    "queue.record": (lambda a, queue: queue.record(), r"record\(\) was called while this thread"),
    "queue.wait_for": (
        lambda a, queue: queue.wait_for(ep.Queue(queue.device)),
        r"wait_for\(\) was called while this thread records",
    ),
    "item": (lambda a, queue: a[0].item(), "while this thread records"),
    "copy_to_host": (lambda a, queue: a.copy_to_host(), "while this thread records|recorded"),
    "wait=True": (lambda a, queue: add[4](a, 1, wait=True), "wait=True while this thread records"),
    "nested": (lambda a, queue: ep.record(queue).__enter__(), "recordings do not nest"),
    "NumPy array": (
        lambda a, queue: add_array[4](a, np.ones(4, "int32")),
        "an argument is not an Array",
    ),
    "another queue": (
        lambda a, queue: add[4](a, 1, queue=ep.Queue(queue.device)),
        "a launch would run now, on a queue of",
    ),
    "fill on another queue": (
        lambda a, queue: ep.fill(a, 1, queue=ep.Queue(queue.device)),
        "a fill would run now, on a queue of",
    ),
}


@every_device
class TestRefusals:
    @pytest.mark.parametrize(("refused", "said"), REFUSED.values(), ids=REFUSED)
    def test_refused_call_names_the_reason(self, queue, refused, said):
        """The queue is usable afterwards, and so is another recording."""
        a = full(1, queue)
        with pytest.raises(ep.DeviceError, match=said), ep.record(queue) as graph:
            add[4](a, 1)
            refused(a, queue)
        with pytest.raises(ep.DeviceError, match="was discarded"):
            graph.replay()
        add[4](a, 1).wait()
        with ep.record(queue) as graph:
            add[4](a, 1)
        graph.replay().wait()
        assert content(a) == {3}

    def test_exception_discards_the_recording(self, queue):
        a = full(1, queue)
        with pytest.raises(ZeroDivisionError), ep.record(queue) as graph:
            add[4](a, 1)
            raise ZeroDivisionError
        assert len(graph) == 0
        assert content(a) == {1}

    def test_replay_inside_the_recording_is_refused(self, queue):
        with ep.record(queue) as graph:
            with pytest.raises(ep.DeviceError, match="is being recorded"):
                graph.replay()
            assert repr(graph) == "<entrepot.Graph that is being recorded>"

    def test_replay_inside_another_recording_is_refused(self, queue):
        a = full(1, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)
        with (
            pytest.raises(ep.DeviceError, match="replay was called while this thread records"),
            ep.record(queue),
        ):
            graph.replay()

    def test_event_of_another_recording_is_refused_by_queues(self, queue, device):
        a = full(1, queue)
        with ep.record(queue):
            event = add[4](a, 1)
            add[4](a, 1, depends_on=event)  # in order already
        with pytest.raises(ep.DeviceError, match="wait for the event that replay"):
            ep.Queue(device).wait_for(event)

    def test_event_of_eager_work_is_refused_by_depends_on(self, queue, device):
        a, b = full(1, queue, 2), full(1, ep.Queue(device), 2)
        with (
            pytest.raises(ep.DeviceError, match="depends_on: an event of work that is not in"),
            ep.record(queue),
        ):
            slow[1](a, 1, depends_on=_pending(b))

    def test_queue_of_another_device_is_refused_by_replay(self, queue, device):
        other = "host" if device != "host" else None
        if other is None:
            pytest.skip("needs a device that is not the host")
        a = full(1, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)
        with pytest.raises(ValueError, match="replay: the graph was recorded for"):
            graph.replay(queue=ep.Queue(other))

    def test_export_of_recorded_memory_is_refused(self, queue):
        a = full(1, queue)
        with (
            pytest.raises((ep.DeviceError, BufferError), match="while this thread records"),
            ep.record(queue),
        ):
            add[4](a, 1)
            a.__dlpack__()

    def test_recording_that_ends_in_another_thread_is_refused(self, queue):
        refusals: list[BaseException] = []
        recording = ep.record(queue)

        def end() -> None:
            try:
                recording.__exit__(None, None, None)
            except ep.DeviceError as error:
                refusals.append(error)

        # in a thread of its own, which goes on recording until it ends
        def begin() -> None:
            recording.__enter__()
            thread = threading.Thread(target=end)
            thread.start()
            thread.join()

        thread = threading.Thread(target=begin)
        thread.start()
        thread.join()
        assert "begun in another thread" in str(refusals[0])


def _pending(array: ep.Array) -> ep.Event:
    """An event of eager work on the host of another thread."""
    events: list[ep.Event] = []
    thread = threading.Thread(target=lambda: events.append(slow[1](array, 30_000_000)))
    thread.start()
    thread.join()
    return events[0]


@pytest.mark.sycl
def test_copy_that_needs_the_host_is_refused():
    """It would be made once, and a graph must make it at each replay."""
    queue, device = ep.Queue("host"), ep.Queue("opencl:cpu")
    a, b = full(1, queue), full(2, device)
    with pytest.raises(ep.DeviceError, match="cannot be recorded into a graph"), ep.record(queue):
        ep.copy(a, b, queue=queue)


@pytest.mark.sycl
class TestProgramKernels:
    SOURCE = "kernel void twice(global int *a, int b) { a[get_global_id(0)] = 2 * b; }"

    def test_launches_are_recorded_and_updated(self):
        queue = ep.Queue("opencl:cpu")
        twice = ep.Program(self.SOURCE, "opencl:cpu").kernel("twice")
        a = full(0, queue)
        with ep.record(queue) as graph:
            twice[4](a, ep.Scalar(3, "int32"))
        assert content(a) == {0}
        graph.replay()
        assert content(a) == {6}
        assert graph.nodes[0].name == "twice"
        graph.nodes[0].update(a, ep.Scalar(5, "int32"))
        graph.replay()
        assert content(a) == {10}
        with pytest.raises(TypeError, match="is an int32 scalar, and a float32 scalar was given"):
            graph.nodes[0].update(a, ep.Scalar(5, "float32"))

    def test_launch_with_errors_is_refused_at_the_recording(self):
        queue = ep.Queue("opencl:cpu")
        twice = ep.Program(self.SOURCE, "opencl:cpu").kernel("twice")
        a = full(0, queue)
        with pytest.raises(ep.KernelError, match="takes 2 arguments"), ep.record(queue):
            twice[4](a)


@pytest.mark.sycl
@pytest.mark.dpnp
@pytest.mark.alone
def test_replay_is_ordered_with_the_queue_of_dpnp():
    """It waits for dpnp's earlier work on the array, and dpnp's later work waits for it."""
    dpnp = pytest.importorskip("dpnp")
    queue = ep.Queue("opencl:cpu")
    x = dpnp.zeros(3, dtype="int32", device="cpu")
    warm_up(queue)
    with ep.record(queue) as graph:
        add[1](x, 1, queue=queue)
        slow[1](ep.asarray(x)[1:], TURNS, queue=queue)
    large = dpnp.ones(20_000_000, dtype="int32", device="cpu")
    x[0] = dpnp.sum(large)
    graph.replay()
    y = x + 1
    assert y.asnumpy().tolist()[:2] == [20_000_002, 43]


@pytest.mark.cuda
class TestCaptureOfAnotherLibrary:
    def test_captured_stream_is_not_recorded(self):
        stream = Stream()
        queue = ep.Queue(stream)
        a = full(1, ep.Queue("cuda:0"))
        with (
            capture(stream),
            pytest.raises(ep.DeviceError, match="another library captures the queue"),
        ):
            ep.record(queue).__enter__()
        with ep.record(queue) as graph:
            add[4](a, 1, queue=queue)
        graph.replay(queue=queue).wait()
        assert content(a) == {2}

    def test_replay_on_a_captured_stream_is_refused(self):
        stream, queue = Stream(), ep.Queue("cuda:0")
        a = full(1, queue)
        with ep.record(queue) as graph:
            add[4](a, 1)
        with capture(stream), pytest.raises(ep.DeviceError, match="graphs do not nest"):
            graph.replay(queue=ep.Queue(stream))
        graph.replay().wait()
        assert content(a) == {2}


@pytest.mark.cuda
@pytest.mark.cupy
@pytest.mark.alone
def test_replay_is_ordered_with_the_stream_of_cupy():
    """It waits for CuPy's earlier work on the array, and CuPy's later work waits for it."""
    cupy = pytest.importorskip("cupy")
    queue = ep.Queue("cuda:0")
    x = cupy.zeros(2, "int32")
    cupy.cuda.Stream.null.synchronize()
    with ep.record(queue) as graph:
        add[2](x, 1, queue=queue)
    spin = cupy.RawKernel(cuda_kernels.SOURCE, "slow")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        spin((1,), (1,), (x, np.int64(cuda_kernels.TURNS)))
        graph.replay()
        graph.replay()
        y = x + 1
    stream.synchronize()
    assert int(y[0]) == cuda_kernels.RESULT + 3
