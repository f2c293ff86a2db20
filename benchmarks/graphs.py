"""A hundred small launches, one by one and replayed as a graph, on the host and on the SYCL CPU
device. Both sides wait for the last one.
"""

from __future__ import annotations

import ctypes

import numpy as np

import entrepot as ep
import entrepot.kernel as ek

from .harness import Pair
from .runtime import DROP, SOURCE, runtime

LAUNCHES = 100
#: Required ratio of the times, by device and number of work-items. Intel's OpenCL runtime (2026.2)
#: takes 2.7 µs and more for each command of a command buffer, and 1.6 µs for one of a queue.
ROWS = {("host", 64): 5, ("host", 1000): 5, ("opencl:cpu", 64): 1.2, ("opencl:cpu", 1000): 1.2}


@ek.kernel
def step(out, source, factor):
    i = ek.get_global_id(0)
    out[i] = out[i] * factor + source[i]


def pairs() -> list[Pair]:
    """Replays against eager launches."""
    found = []
    for (device, size), at_least in ROWS.items():
        queue = ep.Queue(device)
        out, source = ep.zeros(size, "float32", queue=queue), ep.zeros(size, "float32", queue=queue)
        factor, launch = np.float32(0.5), step[size]
        launch(out, source, factor).wait()
        with ep.record(queue) as graph:
            for _ in range(LAUNCHES):
                launch(out, source, factor)
        names = {
            "graph": graph, "queue": queue, "launch": launch, "out": out, "source": source,
            "factor": factor, "times": range(LAUNCHES),
        }  # fmt: skip
        found.append(
            Pair(
                f"{LAUNCHES} launches of {size} work-items on {device}, replayed against eager",
                "graph.replay(); queue.wait()",
                "for _ in times: launch(out, source, factor)\nqueue.wait()",
                at_least,
                names,
            )
        )
    return found


def runtime_pairs() -> list[Pair]:
    """Replays by the SYCL runtime alone, which bound ours; none if benchmarks/cpp is not built."""
    library = runtime()
    if library is None:
        return []
    library.runtime_graph.restype = ctypes.c_void_p
    library.runtime_graph.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
    ]  # fmt: skip
    library.runtime_replay.restype = None
    library.runtime_replay.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    queue = ep.Queue("opencl:cpu")
    array = ep.zeros(64, "int32", kind="device", queue=queue)
    launch, one = ep.Program(SOURCE, array.device).kernel("add")[64, 64], ep.Scalar(1, "int32")
    launch(array, one).wait()
    with ep.record(queue) as graph:
        for _ in range(LAUNCHES):
            launch(array, one)
    theirs = ep.Queue(queue.device)
    native = theirs.addressof_ref()
    kernel = library.runtime_kernel(native, SOURCE.encode(), b"add")
    names = {
        "graph": graph, "queue": queue, "theirs": theirs, "library": library, "native": native,
        "kernel": kernel, "arrays": (ctypes.c_void_p * 1)(array.data_ptr),
        "value": ctypes.byref(ctypes.c_int(1)), "times": LAUNCHES, "drop": DROP,
        "runtime_graph": library.runtime_graph(native, kernel, array.data_ptr, 1, LAUNCHES),
    }  # fmt: skip
    replay = "library.runtime_replay(native, runtime_graph)"
    return [
        Pair(
            f"{LAUNCHES} launches by the runtime alone, replayed against eager",
            replay,
            "library.runtime_launch(native, kernel, arrays, 1, value, times, drop)",
            0,
            names,
        ),
        Pair(
            f"{LAUNCHES} launches replayed, against the runtime's replay",
            "graph.replay(); queue.wait()",
            replay,
            0,
            names,
        ),
    ]
