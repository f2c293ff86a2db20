"""A hundred small launches, one by one and replayed as a graph, on the host and on the SYCL CPU
device. Both sides wait for the last one.
"""

from __future__ import annotations

import numpy as np

import entrepot as ep
import entrepot.kernel as ek

from .harness import Pair

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
