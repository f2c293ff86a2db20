"""Graph capture by the driver alone: what torch.cuda.graph and CuPy's begin_capture do, without the
libraries.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

from support.cuda_streams import Stream, check, driver, inside, primary_context

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
MODES = {"global": GLOBAL, "thread-local": THREAD_LOCAL, "relaxed": RELAXED}


class Graph:
    """A captured graph, ready to run. ``status`` is the capture's final status, 0 if valid."""

    def __init__(self) -> None:
        self._graph, self._ready = ctypes.c_void_p(), ctypes.c_void_p()
        self.status: int | None = None

    def end(self, stream: Stream) -> None:
        self.status = driver().cuStreamEndCapture(
            ctypes.c_void_p(stream.handle), ctypes.byref(self._graph)
        )

    def run(self, stream: Stream) -> None:
        assert self.status == 0, f"the capture ended with error {self.status}"
        if not self._ready:
            make = driver().cuGraphInstantiateWithFlags
            with inside(primary_context()):
                check(make(ctypes.byref(self._ready), self._graph, ctypes.c_ulonglong(0)))
        check(driver().cuGraphLaunch(self._ready, ctypes.c_void_p(stream.handle)))
        stream.wait()

    def drop(self) -> None:
        if self._ready:
            check(driver().cuGraphExecDestroy(self._ready))
        if self._graph:
            check(driver().cuGraphDestroy(self._graph))
        self._graph, self._ready = ctypes.c_void_p(), ctypes.c_void_p()

    def __del__(self) -> None:
        self.drop()


@contextlib.contextmanager
def capture(stream: Stream, mode: int = GLOBAL) -> Iterator[Graph]:
    graph = Graph()
    with inside(primary_context()):
        check(driver().cuStreamBeginCapture_v2(ctypes.c_void_p(stream.handle), mode))
        try:
            yield graph
        finally:
            graph.end(stream)
