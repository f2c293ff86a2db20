"""Launches from Python, against launches of the same kernel by the SYCL runtime from C++.

First each side has a private queue, then both share one. In a shared queue the runtime's side
submits work that Entrepot does not see, so each launch records its event at once. Entrepot's event
is done when its launch is. With Intel's CPU driver, a wait for the kernel's own event also waits
for all later work. So if Entrepot records an event there are two rows. One is against the kernel's
own event and has no required ratio. The other is against the event of a barrier after the kernel,
which is equivalent.
"""

from __future__ import annotations

import collections
import ctypes
import functools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import entrepot as ep

from .harness import Pair, Result, built

ROUNDS, CALLS = 400, 10
SOURCE = "kernel void add(global int *out, int value) { out[get_global_id(0)] += value; }"
#: Allowed difference of a launch from Python to one from C++.
MARGIN_NS = 1000


def runtime() -> ctypes.CDLL | None:
    """The library of benchmarks/cpp; None if it has not been built."""
    path = built() / "libbenchmark_sycl_launch.so"
    if not path.exists():
        return None
    library = ctypes.CDLL(str(path))
    library.runtime_kernel.restype = ctypes.c_void_p
    library.runtime_kernel.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    library.runtime_launch.restype = ctypes.c_double
    library.runtime_launch.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
        ctypes.c_int, ctypes.c_int,
    ]  # fmt: skip
    return library


@dataclass
class Launch:
    """A launch of 64 work-items in one group, and the OpenCL C of its kernel, whose parameters are
    ``arrays``, then ``value``.

    The queue of the arrays is private: its handle has not been exported.
    """

    submit: Callable[[], ep.Event]
    source: str
    name: str
    arrays: list[ep.Array]
    value: int | None = None


#: Use of the runtime's event, numbered as in benchmarks/cpp/sycl_launch.cpp.
DROP, KEEP, WAIT, MARK = range(4)


def measured(
    library: ctypes.CDLL,
    what: str,
    launch: Launch,
    use: Callable[[ep.Event], object],
    number: int,
    theirs: ep.Queue,
    asks: bool,
) -> Result:
    """Medians over rounds of several launches. A wait for all of them follows, untimed."""
    submit, queue = launch.submit, launch.arrays[0].queue
    native = theirs.addressof_ref()
    kernel = library.runtime_kernel(native, launch.source.encode(), launch.name.encode())
    pointers = (ctypes.c_void_p * len(launch.arrays))(*(array.data_ptr for array in launch.arrays))
    value = None if launch.value is None else ctypes.byref(ctypes.c_int(launch.value))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        started = time.perf_counter_ns()
        for _ in range(CALLS):
            use(submit())
        times[0].append((time.perf_counter_ns() - started) / CALLS)
        queue.wait()
        times[1].append(
            library.runtime_launch(native, kernel, pointers, len(pointers), value, CALLS, number)
        )
    ours, peer = map(statistics.median, times)
    upper = statistics.quantiles(theirs / mine for mine, theirs in zip(*times, strict=True))[2]
    at_least = peer / (peer + MARGIN_NS) if asks else 0
    words = (
        "within 1 µs of the runtime"
        if number != MARK
        else "within 1 µs of the runtime and a barrier"
    )
    pair = Pair(
        f"{what}, {words if asks else 'the runtime'}", "launch(…)", "queue.submit(…)", at_least
    )
    return Result(pair, ours, peer, upper)


def drop(event: ep.Event) -> None:
    """Does not hold the event."""


def against_runtime(launch: Launch, prefix: str = "") -> list[Result]:
    """Events dropped, held until the next launch, and waited for; empty if not built."""
    library = runtime()
    if library is None:
        return []
    queue = launch.arrays[0].queue
    own = ep.Queue(queue.device)
    kept: collections.deque[ep.Event] = collections.deque(maxlen=1)
    rows: list[
        tuple[str, Callable[[ep.Event], object], int, ep.Queue, bool]
    ] = [  # shared rows last: they export it
        ("submit", drop, DROP, own, True),
        ("submit, its event kept", kept.append, KEEP, own, False),
        ("submit, its event kept", kept.append, MARK, own, True),
        ("submit and wait", ep.Event.wait, WAIT, own, True),
        ("submit, shared queue", drop, DROP, queue, False),
        ("submit, shared queue", drop, MARK, queue, True),
        ("submit and wait, shared queue", ep.Event.wait, WAIT, queue, True),
    ]
    return [
        measured(library, prefix + what, launch, use, number, theirs, asks)
        for what, use, number, theirs, asks in rows
    ]


def results() -> list[Result]:
    """Launches of a program's kernel with an array and a number."""
    array = ep.zeros(64, "int32", kind="device", queue=ep.Queue("opencl:cpu"))
    launch, one = ep.Program(SOURCE, array.device).kernel("add")[64, 64], ep.Scalar(1, "int32")
    return against_runtime(Launch(functools.partial(launch, array, one), SOURCE, "add", [array], 1))
