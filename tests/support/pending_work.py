"""Slow work on shared memory, for this process and for others (other_process.Other).

An element is 42 once the work is done. A reader that does not wait for it sees 0.
"""

from __future__ import annotations

from pathlib import Path

import entrepot as ep
from entrepot import memory
from support.other_process import Other

RESULT = 42

SOURCES = {
    "cuda": """
extern "C" __global__ void slow(int *data, long long turns) {
    unsigned x = 1;
    for (long long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    data[1] = x;
    data[0] = 42;
}
""",
    "host": """
extern "C" void slow(const long long *, void *const *arguments) {
    int *data = static_cast<int *>(arguments[0]);
    volatile unsigned x = 1;
    const long long turns = *static_cast<const long long *>(arguments[1]);
    for (long long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    data[1] = x;
    data[0] = 42;
}
""",
}
TURNS = {"cuda": 400_000_000, "host": 600_000_000}  # about a second
FEW_TURNS = 10_000_000

_kernels: dict[str, ep.Kernel] = {}


def slow_kernel(device: str) -> ep.Kernel:
    """The kernel, which has run once. On the host it must not have been quick then: it would run on
    the thread of the caller.
    """
    if device not in _kernels:
        made = ep.Program(SOURCES[device.partition(":")[0]], device).kernel("slow")
        made[1](ep.zeros(2, "int32", device=device), ep.Scalar(FEW_TURNS, "int64")).wait()
        _kernels[device] = made
    return _kernels[device]


def forget_kernels() -> None:
    """For a test that has made the kernel of the host a quick one."""
    _kernels.clear()


def zeros(device: str, size: int = 2) -> ep.Array:
    """Zeros in memory that can be shared, without pending work."""
    with memory.use_resource(memory.shareable()):
        array = ep.empty(size, "int32", device=device)
    ep.fill(array, 0).wait()
    return array


def start(array: ep.Array, queue: ep.Queue | None = None, *, turns: int | None = None) -> ep.Event:
    """Starts the work on two elements at least."""
    turns = TURNS[array.device.backend] if turns is None else turns
    done = slow_kernel(str(array.device))[1](array, ep.Scalar(turns, "int64"), queue=queue)
    assert not done.done, "the kernel must be slow enough for a test to mean anything"
    return done


def warm_up(device: str) -> None:
    """Loads what the tests use, which may wait for all work of a device."""
    slow_kernel(device)
    zeros(device).share()
    copied = ep.empty(2, "int32", device=device)
    ep.copy(copied, zeros(device)).wait()
    copied.copy_to_host()


def prepared(device: str) -> Other:
    """Another process that has these functions and has used the device."""
    process = Other()
    process.run(
        "import sys, time\n"
        "sys.path[:0] = [tests]\n"
        "from support.pending_work import *\n"
        "warm_up(device)",
        tests=str(Path(__file__).parents[1]),
        device=device,
    )
    return process
