"""The current-stream rule beyond test_stream_order.py: calls on two libraries, other threads,
``queue``, and graphs.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from entrepot.kernel import get_global_id, kernel, vectorize
from interop.stream_order import (
    OPERATIONS,
    REPETITIONS,
    SIZE,
    TURNS,
    CupyCuda,
    Dpctl,
    Dpnp,
    NumbaCuda,
    TorchCuda,
    keep_busy,
    made,
    operations,
    our_queue,
    plus_one,
    program,
    repeat,
    side_stream,
    takes_long,
    together,
    total,
)
from support.places import elements

pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.usefixtures("sources_of_copies")]


both_cuda = pytest.mark.parametrize("library", [together(TorchCuda), together(CupyCuda)])


@kernel
def _add_to_both(x, y, turns):
    i = get_global_id(0)
    if takes_long(turns):
        x[i] += y[i]
        y[i] += 1


@vectorize
def _sum(x, y):
    return x + y


def _launch_kernel(x: Any, y: Any, queue: ep.Queue | None, device: str) -> None:
    _add_to_both[SIZE, 256](x, y, TURNS[device], queue=queue, wait=False)


def _launch_program(x: Any, y: Any, queue: ep.Queue | None, device: str) -> None:
    program(device, "add_to_both")[SIZE, 256](x, y, ep.Scalar(TURNS[device], "int32"), queue=queue)


def _copy(x: Any, y: Any, queue: ep.Queue | None, device: str) -> None:
    ep.copy(x, y, queue=queue)


def _vectorize(x: Any, y: Any, queue: ep.Queue | None, device: str) -> None:
    _sum(x, y, out=x, queue=queue)


@dataclass(frozen=True)
class Call:
    """An operation on two arrays: its effect on elements that are 1 when it runs."""

    name: str
    run: Callable[[Any, Any, ep.Queue | None, str], None]
    after: tuple[int, int]


CALLS = [
    Call("kernel", _launch_kernel, (2, 2)),
    Call("program", _launch_program, (2, 2)),
    Call("copy", _copy, (1, 1)),
    Call("vectorize", _vectorize, (2, 1)),
]


@pytest.mark.parametrize(
    ("libraries", "protocols"),
    [
        together(TorchCuda, CupyCuda, protocols=("dlpack", "dlpack")),
        together(TorchCuda, CupyCuda, protocols=("cai", "cai")),
        together(TorchCuda, NumbaCuda, protocols=("dlpack", "cai")),
        together(Dpnp, Dpctl, protocols=("suai", "suai")),
    ],
)
@pytest.mark.parametrize("on_side", [False, True], ids=["default stream", "side stream"])
@pytest.mark.parametrize("how", ["no queue", "queue="])
@pytest.mark.parametrize("form", ["object", "array", "view"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_call_on_two_libraries_is_ordered_with_both(
    libraries: tuple[type, ...],
    protocols: tuple[str, ...],
    on_side: bool,
    how: str,
    form: str,
    call: Call,
) -> None:
    peers = [made(each) for each in libraries]
    device = peers[0].device
    queue = our_queue(device) if how == "queue=" else None

    def check(late: bool) -> None:
        operands = [
            peer.operand(form, protocol, call.name)
            for peer, protocol in zip(peers, protocols, strict=True)
        ]
        for peer, (x, _) in zip(peers, operands, strict=True):
            peer.wait()  # until the zeros are there
            peer.spin(x)
            peer.add(x, 1)
        if late and queue:  # else the call is submitted to a library's stream
            keep_busy(queue, device, len(peers))
        (_, first), (_, second) = operands
        call.run(first, second, queue, device)
        for peer, (x, _) in zip(peers, operands, strict=True):
            peer.multiply(x, 3)
        for peer, (x, _), after in zip(peers, operands, call.after, strict=True):
            found = np.unique(peer.values(x)).tolist()
            assert found == [3 * after], f"{peer.name}'s array: {found}, not {3 * after}"

    with contextlib.ExitStack() as stack:
        for each, peer in zip(libraries, peers, strict=True):
            stack.enter_context(peer.on(side_stream(each) if on_side else None))
        repeat(check)


@both_cuda
@pytest.mark.parametrize(
    "op", [each for each in OPERATIONS if each.returns is None], ids=lambda op: op.name
)
def test_array_used_in_another_thread_follows_its_current_stream(
    library: tuple[type], op: Any
) -> None:
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
        assert handle_of(array.queue) == (
            side.ptr if isinstance(peer, CupyCuda) else side.cuda_stream
        )
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
        result = plus_one(plus_one(plus_one(x)))
        released = ep.empty(SIZE, "float32", queue=queue)
        ep.copy(released, used, queue=queue)
        assert total(x) == 0
    gone = weakref.ref(side)
    del side, queue, released
    assert gone() is None
    others = [peer.stream() for _ in range(8)]  # one of them may reuse its handle
    for number, array in enumerate((used, made_for_it, result), start=1):
        ep.fill(array[:1], 7)
        assert np.unique(array.to("host").numpy()).tolist() == [number, 7]
    del used, made_for_it, result, array, others
    assert ep.zeros(SIZE, "float32", device="cuda:0").to("host").numpy().sum() == 0


@pytest.mark.cuda
@pytest.mark.torch
@pytest.mark.parametrize("op", operations("kernel", "fill"), ids=lambda op: op.name)
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
@pytest.mark.parametrize("op", operations("kernel", "fill"), ids=lambda op: op.name)
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


@both_cuda
def test_deleter_is_called_after_the_consumers_work(library: tuple[type]) -> None:
    peer = made(library[0])
    block = ep.zeros(SIZE, "float32", device=peer.device)
    block.queue.wait()
    calls: list[int] = []
    array = ep.from_address(block.data_ptr, SIZE, "float32", deleter=calls.append)
    with peer.on(side_stream(library[0])):
        x = peer.exported(array, "dlpack")
        peer.spin(x)
        peer.add(x, 1)
        del array, x
        assert not calls, "the kernel still uses the memory"
        peer.wait()
    ep.zeros(1, "int8", device=peer.device).queue.wait()  # releases the owners of finished work
    assert calls == [block.data_ptr]
    assert np.unique(elements(block)).tolist() == [1]
