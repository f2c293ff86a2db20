"""HIP streams that other libraries capture: Entrepot's work joins the graph without ending it.

The contract of all backends, tests/cpp/backends, covers captured queues of the backend itself.
The tests for CUDA, of the same sources, cover uses of captures.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import entrepot as ep
from entrepot import hip, memory
from entrepot.hip import hip_check
from support.places import values_of

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.hip, pytest.mark.hip_library, pytest.mark.numpy]

DEVICE = "hip:0"
NON_BLOCKING = 1
modes = hip.hipStreamCaptureMode
every_mode = pytest.mark.parametrize("mode", list(modes), ids=[mode.name for mode in modes])


@pytest.fixture
def stream() -> Iterator[Any]:
    ep.zeros(
        1, "int32", device=DEVICE
    ).queue.wait()  # which opens the library that the bindings take
    with hip.Stream(NON_BLOCKING) as made:
        yield made.handle


class Graph:
    """A captured graph; ``status`` is the capture's final status, 0 if valid."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.handle: Any = None

    def run(self, stream: Any) -> None:
        assert self.status == 0, f"the capture ended with {self.status!r}"
        ready = hip_check(hip.hipGraphInstantiateWithFlags(self.handle, 0))
        hip_check(hip.hipGraphLaunch(ready, stream))
        hip_check(hip.hipStreamSynchronize(stream))
        hip_check(hip.hipGraphExecDestroy(ready))

    def drop(self) -> None:
        hip_check(hip.hipGraphDestroy(self.handle))


@contextlib.contextmanager
def capture(stream: Any, mode: int) -> Iterator[Graph]:
    graph = Graph()
    hip_check(hip.hipStreamBeginCapture(stream, mode))
    try:
        yield graph
    finally:
        graph.status, graph.handle = hip.hipStreamEndCapture(stream)


def other_things() -> None:
    """Calls of a program that are forbidden on a thread while another thread captures."""
    queue = ep.Queue(DEVICE)
    for kind in ("device", "host", "shared"):
        array = ep.full(1 << 16, 3, "int32", queue=queue, kind=kind)
        queue.record().wait()
        assert queue.is_idle
        array.copy_to_host().numpy()
        ep.copy(array, np.zeros(1 << 16, "int32")).wait()
    escaped = ep.full(1 << 16, 3, "int32", queue=queue)
    escaped.__dlpack__(stream=-1, max_version=(1, 0))
    del array, escaped
    with memory.use_resource(memory.direct()):
        ep.full(1 << 20, 3, "int32", queue=queue).copy_to_host()
    del queue
    ep.Program(
        'extern "C" __global__ void unlike(int *x) { *x = 1; }', DEVICE, dialect="hip"
    ).kernel("unlike")
    gc.collect()
    memory.trim()


@every_mode
@pytest.mark.parametrize("elsewhere", [False, True], ids=["this thread", "another thread"])
def test_other_calls_do_not_invalidate_a_capture(mode: int, elsewhere: bool, stream: Any) -> None:
    array = ep.zeros(16, "uint8", device=DEVICE)
    array.queue.wait()
    other_things()
    with capture(stream, mode) as graph:
        hip_check(hip.hipMemsetD8Async(array.data_ptr, 7, 8, stream))
        if elsewhere:
            worker = threading.Thread(target=other_things)
            worker.start()
            worker.join()
        else:
            other_things()
        hip_check(hip.hipMemsetD8Async(array.data_ptr + 8, 8, 8, stream))
    assert not values_of(array).any(), "it ran at once"
    graph.run(stream)
    assert values_of(array).tolist() == [7] * 8 + [8] * 8
    graph.drop()


def test_array_is_usable_on_a_capturing_stream(stream: Any) -> None:
    array = ep.zeros(16, "uint8", device=DEVICE)
    array.queue.wait()
    with capture(stream, modes.hipStreamCaptureModeGlobal) as graph:
        tensor = array.__dlpack__(stream=int(stream), max_version=(1, 0))
        hip_check(hip.hipMemsetD8Async(array.data_ptr, 9, 16, stream))
        del tensor
    graph.run(stream)
    assert values_of(array).tolist() == [9] * 16
    ep.fill(array, 1).wait()
    graph.run(stream)
    assert values_of(array).tolist() == [9] * 16
    graph.drop()
