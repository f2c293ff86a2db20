"""A slow CUDA kernel. A reader that does not wait for it sees wrong values."""

from __future__ import annotations

import functools
from typing import Any

import entrepot as ep

#: ``slow`` spins and then writes 42 to the first element.
SOURCE = """
extern "C" __global__ void slow(int *data, long long turns) {
    unsigned x = 1;
    for (long long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    data[1] = x;
    data[0] = 42;
}
"""
TURNS = 100_000_000  # about 0.25 s
RESULT = 42


@functools.cache
def _kernel(device: str) -> ep.Kernel:
    kernel = ep.Program(SOURCE, device).kernel("slow")
    warm = ep.zeros(2, "int32", device=device)
    kernel[1](
        warm, ep.Scalar(1, "int64")
    ).wait()  # loading it may wait for all of the device's work
    return kernel


def launch(array: ep.Array, queue: Any = None) -> ep.Event:
    """Launches it on an array of zeros, by default on the array's own queue."""
    done = _kernel(str(array.device))[1](array, ep.Scalar(TURNS, "int64"), queue=queue)
    assert not done.done, "the kernel must be slow enough for a test to mean anything"
    return done
