"""A launch from Python, against the same kernel launched by the SYCL runtime itself from C++."""

from __future__ import annotations

import entrepot as ep

from .harness import Pair, Result, plugin, runtime_ns, short_rounds_ns

SOURCE = "kernel void add(global int *out, int value) { out[get_global_id(0)] += value; }"
#: What a launch from Python may take more than one from C++.
MARGIN_NS = 1000


def ours_ns(*, waits: bool) -> float:
    """Launches that are waited for each, or all after the clock has stopped."""
    device = ep.device("opencl:cpu")
    array = ep.zeros(64, "int32", device=device, kind="device")
    launch = ep.Program(SOURCE, device).kernel("add")[64, 64]
    names = {"launch": launch, "array": array, "one": ep.Scalar(1, "int32")}
    wait = array.queue.wait
    return short_rounds_ns("launch(array, one).wait()" if waits else "launch(array, one)", names, wait, wait)


def results() -> list[Result]:
    """Submitted, and waited for."""
    found = []
    runtime = runtime_ns("benchmark_sycl_runtime", plugin("libentrepot_sycl9.so"), "launch")
    for what, row, waits in (
        ("submit", "launch / with an event", False),
        ("submit and wait", "launch + wait / with an event", True),
    ):
        if row in runtime:
            peer = runtime[row]
            pair = Pair(f"{what}, within 1 µs of the runtime", "launch(array, one)", row, peer / (peer + MARGIN_NS))
            found.append(Result(pair, ours_ns(waits=waits), peer))
    return found
