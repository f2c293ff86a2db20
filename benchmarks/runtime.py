"""A launch from Python, against the same kernel launched by the SYCL runtime itself from C++."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import time
from pathlib import Path

import entrepot as ep

from .harness import Pair, Result

ROUNDS, CALLS = 400, 10
SOURCE = "kernel void add(global int *out, int value) { out[get_global_id(0)] += value; }"
#: What a launch from Python may take more than one from C++.
MARGIN_NS = 1000


def ours_ns(*, waits: bool) -> float:
    """Rounds of several launches, as in benchmarks/cpp: where none is waited for, all are after the clock has stopped."""
    device = ep.device("opencl:cpu")
    array = ep.zeros(64, "int32", device=device, kind="device")
    launch = ep.Program(SOURCE, device).kernel("add")[64, 64]
    one = ep.Scalar(1, "int32")
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter_ns()
        for _ in range(CALLS):
            event = launch(array, one)
            if waits:
                event.wait()
        times.append((time.perf_counter_ns() - started) / CALLS)
        array.queue.wait()
    return statistics.median(times)


def runtime_ns() -> dict[str, float]:
    """What the program of benchmarks/cpp prints of the runtime; empty where it has not been built."""
    program = Path(os.environ.get("ENTREPOT_CPP_BENCHMARKS", "build/wheel/benchmarks/cpp")) / "benchmark_sycl_runtime"
    if not program.exists():
        return {}
    plugin = Path(ep._core.__file__).with_name("libentrepot_sycl9.so")
    printed = subprocess.run([program, plugin, "launch"], capture_output=True, text=True, check=True).stdout
    return {row: float(ns) for row, ns in re.findall(r"^(launch.*?) +ours.*?runtime +(\d+)", printed, re.MULTILINE)}


def results() -> list[Result]:
    """Submitted, and waited for."""
    found = []
    runtime = runtime_ns()
    for what, row, waits in (
        ("submit", "launch / with an event", False),
        ("submit and wait", "launch + wait / with an event", True),
    ):
        if row in runtime:
            peer = runtime[row]
            pair = Pair(f"{what}, within 1 µs of the runtime", "launch(array, one)", row, peer / (peer + MARGIN_NS))
            found.append(Result(pair, ours_ns(waits=waits), peer))
    return found
