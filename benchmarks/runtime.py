"""A launch from Python, against the same kernel launched by the SYCL runtime itself from C++, by turns on one queue."""

from __future__ import annotations

import collections
import ctypes
import statistics
import time
from collections.abc import Callable

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
    library.runtime_launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    return library


def measured(library: ctypes.CDLL, what: str, number: int, use: Callable[[ep.Event], object]) -> Result:
    """Medians over rounds of several launches; where none is waited for, all are after the clock has stopped."""
    array = ep.zeros(64, "int32", device="opencl:cpu", kind="device")
    launch = ep.Program(SOURCE, array.device).kernel("add")[64, 64]
    one = ep.Scalar(1, "int32")
    queue = array.queue.addressof_ref()
    kernel = library.runtime_kernel(queue, SOURCE.encode(), b"add")
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        started = time.perf_counter_ns()
        for _ in range(CALLS):
            use(launch(array, one))
        times[0].append((time.perf_counter_ns() - started) / CALLS)
        array.queue.wait()
        times[1].append(library.runtime_launch(queue, kernel, array.data_ptr, CALLS, number))
    ours, peer = map(statistics.median, times)
    upper = statistics.quantiles(theirs / mine for mine, theirs in zip(*times, strict=True))[2]
    pair = Pair(f"{what}, within 1 µs of the runtime", "launch(array, one)", "queue.submit(…)", peer / (peer + MARGIN_NS))
    return Result(pair, ours, peer, upper)


def results() -> list[Result]:
    """The event of each launch dropped, kept until the next is there, and waited for."""
    library = runtime()
    if library is None:
        return []
    kept: collections.deque[ep.Event] = collections.deque(maxlen=1)
    uses = {"submit": lambda event: None, "submit, its event kept": kept.append, "submit and wait": ep.Event.wait}
    return [measured(library, what, number, use) for number, (what, use) in enumerate(uses.items())]
