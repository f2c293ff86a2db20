"""A launch from Python, against the same kernel launched by the SYCL runtime itself from C++, by turns.

Each side has a queue of its own, and then both have one: what others submit to as well, we can neither remember nor mark late, so
there each launch records its event at once. An event of ours is done when its launch is, whatever was submitted since; with
Intel's CPU driver, whoever waits for the kernel's own waits for all later work as well. So where ours is recorded there are two
rows: against the runtime's own event, which asks for nothing, and against a barrier's behind the kernel, as good as ours.
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
#: What a launch from Python may take more than one from C++.
MARGIN_NS = 1000


def runtime() -> ctypes.CDLL | None:
    """The library of benchmarks/cpp; None where it has not been built."""
    path = built() / "libbenchmark_sycl_launch.so"
    if not path.exists():
        return None
    library = ctypes.CDLL(str(path))
    library.runtime_kernel.restype = ctypes.c_void_p
    library.runtime_kernel.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    library.runtime_launch.restype = ctypes.c_double
    library.runtime_launch.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
    ]  # fmt: skip
    return library


@dataclass
class Launch:
    """A launch of 64 work-items in one group, and the OpenCL C of its kernel, whose parameters are ``arrays``, then ``value``.

    The arrays are of a queue that nobody else has had yet.
    """

    submit: Callable[[], ep.Event]
    source: str
    name: str
    arrays: list[ep.Array]
    value: int | None = None


#: What becomes of an event of the runtime's, as benchmarks/cpp/sycl_launch.cpp numbers it.
DROP, KEEP, WAIT, MARK = range(4)


def measured(
    library: ctypes.CDLL, what: str, launch: Launch, use: Callable[[ep.Event], object], number: int, theirs: ep.Queue, asks: bool
) -> Result:
    """Medians over rounds of several launches; where none is waited for, all are after the clock has stopped."""
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
        times[1].append(library.runtime_launch(native, kernel, pointers, len(pointers), value, CALLS, number))
    ours, peer = map(statistics.median, times)
    upper = statistics.quantiles(theirs / mine for mine, theirs in zip(*times, strict=True))[2]
    at_least = peer / (peer + MARGIN_NS) if asks else 0
    words = "within 1 µs of the runtime" if number != MARK else "within 1 µs of the runtime and a barrier"
    pair = Pair(f"{what}, {words if asks else 'the runtime'}", "launch(…)", "queue.submit(…)", at_least)
    return Result(pair, ours, peer, upper)


def drop(event: ep.Event) -> None:
    """Nobody keeps it."""


def against_runtime(launch: Launch, prefix: str = "") -> list[Result]:
    """The event of each launch dropped, kept until the next is there, and waited for; nothing where the library is not built."""
    library = runtime()
    if library is None:
        return []
    queue = launch.arrays[0].queue
    own = ep.Queue(queue.device)
    kept: collections.deque[ep.Event] = collections.deque(maxlen=1)
    rows: list[tuple[str, Callable[[ep.Event], object], int, ep.Queue, bool]] = [  # the shared queue's last: from then on it is
        ("submit", drop, DROP, own, True),
        ("submit, its event kept", kept.append, KEEP, own, False),
        ("submit, its event kept", kept.append, MARK, own, True),
        ("submit and wait", ep.Event.wait, WAIT, own, True),
        ("submit, shared queue", drop, DROP, queue, False),
        ("submit, shared queue", drop, MARK, queue, True),
        ("submit and wait, shared queue", ep.Event.wait, WAIT, queue, True),
    ]
    return [measured(library, prefix + what, launch, *row) for what, *row in rows]


def results() -> list[Result]:
    """A program's kernel, of an array and a number."""
    array = ep.zeros(64, "int32", kind="device", queue=ep.Queue("opencl:cpu"))
    launch, one = ep.Program(SOURCE, array.device).kernel("add")[64, 64], ep.Scalar(1, "int32")
    return against_runtime(Launch(functools.partial(launch, array, one), SOURCE, "add", [array], 1))
