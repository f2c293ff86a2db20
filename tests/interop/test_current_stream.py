"""The current-stream rule beyond test_stream_order.py: calls on two libraries, other threads, ``queue``, and graphs."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from entrepot.kernel import get_global_id, kernel, reduce, vectorize
from interop.stream_order import OPERATIONS, SIZE, TURNS, CupyCuda, Dpctl, Dpnp, NumbaCuda, TorchCuda, source
from interop.test_stream_order import REPETITIONS, made, our_queue, side_stream, together

pytestmark = [pytest.mark.host, pytest.mark.numpy]


@pytest.fixture(scope="module", autouse=True)
def sources() -> None:
    """Makes the cached sources of copies before a test starts to count the memory that it leaves."""
    for device in TURNS:
        with contextlib.suppress(ep.DeviceError):
            source(device)


both_cuda = pytest.mark.parametrize("library", [together(TorchCuda), together(CupyCuda)])


@kernel
def _add_to_both(x, y, turns):  # type: ignore[no-untyped-def]
    i = get_global_id(0)
    t = np.uint32(1)
    for _ in range(turns):
        t = t * np.uint32(1664525) + np.uint32(1013904223)
    if t != np.uint32(7):
        x[i] += y[i]
        y[i] += 1


@vectorize
def _plus_one(x):  # type: ignore[no-untyped-def]
    return x + np.float32(1)


_total = reduce(lambda a, b: a + b, identity=0)


def _add_in_one_call(x: Any, y: Any, queue: ep.Queue | None, device: str) -> None:
    _add_to_both[SIZE, 256](x, y, TURNS[device], queue=queue, wait=False)


def _copy_in_one_call(x: Any, y: Any, queue: ep.Queue | None, device: str) -> None:
    ep.copy(x, y, queue=queue)


@pytest.mark.parametrize("libraries", [together(TorchCuda, CupyCuda), together(TorchCuda, NumbaCuda), together(Dpnp, Dpctl)])
@pytest.mark.parametrize("on_side", [False, True], ids=["default stream", "side stream"])
@pytest.mark.parametrize("queue", ["no queue", "queue="])
@pytest.mark.parametrize(("call", "after"), [(_add_in_one_call, (2, 2)), (_copy_in_one_call, (1, 1))], ids=["kernel", "copy"])
def test_call_on_two_libraries_is_ordered_with_both(
    libraries: tuple[type, ...], on_side: bool, queue: str, call: Any, after: tuple[int, int]
) -> None:
    one, other = (made(each) for each in libraries)
    with one.on(side_stream(libraries[0]) if on_side else None), other.on(side_stream(libraries[1]) if on_side else None):
        for _ in range(REPETITIONS):
            x, y = one.zeros(), other.zeros()
            one.wait()
            other.wait()
            for library, array in ((one, x), (other, y)):
                library.spin(array)
                library.add(array, 1)
            ours = our_queue(one.device) if queue == "queue=" else None
            call(one.given(x, "suai"), other.given(y, "suai"), ours, one.device)
            one.multiply(x, 3)
            other.multiply(y, 3)
            assert np.unique(one.values(x)).tolist() == [3 * after[0]]
            assert np.unique(other.values(y)).tolist() == [3 * after[1]]


@both_cuda
@pytest.mark.parametrize("op", [each for each in OPERATIONS if each.returns is None], ids=lambda op: op.name)
def test_array_used_in_another_thread_follows_its_current_stream(library: tuple[type], op: Any) -> None:
    peer = made(library[0])
    wrong: list[Any] = []

    def work(x: Any, array: ep.Array) -> None:
        with peer.on(peer.stream()):
            peer.spin(x)
            peer.add(x, 3)
            op.run(array, None, peer.device)
            peer.multiply(x, 3)
            found = np.unique(peer.values(x)).tolist()
            if found != [3 * op.after]:
                wrong.append(found)

    for _ in range(REPETITIONS):
        x = peer.zeros()
        array = ep.asarray(x)
        peer.wait()
        thread = threading.Thread(target=work, args=(x, array))
        thread.start()
        thread.join()
    assert not wrong


def handle_of(queue: ep.Queue) -> int:
    return queue.__cuda_stream__()[1]


@both_cuda
def test_queue_of_an_array_is_the_current_stream(library: tuple[type]) -> None:
    peer = made(library[0])
    array, side = ep.asarray(peer.zeros()), peer.stream()
    with peer.on(side):
        assert handle_of(array.queue) == (side.ptr if isinstance(peer, CupyCuda) else side.cuda_stream)
    with peer.on(None):
        assert handle_of(array.queue) in (0, 1)


@pytest.mark.cuda
@pytest.mark.numba_cuda
def test_queue_of_a_numba_array_is_the_stream_that_it_names() -> None:
    peer = made(NumbaCuda)
    side = peer.stream()
    assert handle_of(ep.asarray(peer.zeros()).queue) in (0, 1)
    with peer.on(side):
        assert handle_of(ep.asarray(peer.zeros()).queue) == int(side.handle)


@pytest.mark.cuda
@pytest.mark.cupy
def test_memory_outlives_the_stream_that_it_was_used_on() -> None:
    peer = made(CupyCuda)
    side = peer.stream()
    with peer.on(side):
        x = peer.zeros()
        queue = ep.asarray(x).queue
        peer.spin(x)
        used = ep.zeros(SIZE, "float32", device="cuda:0")
        ep.fill(used, 1, queue=queue)
        made_for_it = ep.empty(SIZE, "float32", queue=queue)
        ep.fill(made_for_it, 2, queue=queue)
        result = _plus_one(_plus_one(_plus_one(x)))
        released = ep.empty(SIZE, "float32", queue=queue)
        ep.copy(released, used, queue=queue)
        assert _total(x) == 0
    gone = weakref.ref(side)
    del side, queue, released
    assert gone() is None
    others = [peer.stream() for _ in range(8)]  # one of them may well have its handle
    for number, array in enumerate((used, made_for_it, result), start=1):
        ep.fill(array[:1], 7)
        assert np.unique(array.to("host").numpy()).tolist() == [number, 7]
    del used, made_for_it, result, array, others
    assert ep.zeros(SIZE, "float32", device="cuda:0").to("host").numpy().sum() == 0


@pytest.mark.cuda
@pytest.mark.torch
@pytest.mark.parametrize("op", [each for each in OPERATIONS if each.name in ("kernel", "fill")], ids=lambda op: op.name)
def test_operation_without_queue_joins_a_capture_of_torch(op: Any) -> None:
    peer = made(TorchCuda)
    x = peer.zeros()
    op.run(x, None, peer.device)  # compiles
    graph = peer.torch.cuda.CUDAGraph()
    with peer.torch.cuda.graph(graph):
        x.fill_(3)
        op.run(x, None, peer.device)
        x.mul_(3)
    for _ in range(REPETITIONS):
        x.zero_()
        graph.replay()
        assert np.unique(peer.values(x)).tolist() == [3 * op.after]


@pytest.mark.cuda
@pytest.mark.cupy
@pytest.mark.parametrize("op", [each for each in OPERATIONS if each.name in ("kernel", "fill")], ids=lambda op: op.name)
def test_operation_without_queue_joins_a_capture_of_cupy(op: Any) -> None:
    peer = made(CupyCuda)
    stream = peer.stream()
    with peer.on(stream):
        x = peer.zeros()
        peer.add(x, 3)  # these compile
        op.run(x, None, peer.device)
        peer.multiply(x, 3)
        peer.wait()
        stream.begin_capture()
        peer.multiply(x, 0)
        peer.add(x, 3)
        op.run(x, None, peer.device)
        peer.multiply(x, 3)
        graph = stream.end_capture()
        for _ in range(REPETITIONS):
            graph.launch(stream)
            assert np.unique(peer.values(x)).tolist() == [3 * op.after]
