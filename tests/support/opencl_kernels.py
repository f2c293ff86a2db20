"""Kernels that take a moment on the SYCL CPU device, for tests that act on work in flight."""

from __future__ import annotations

import functools
from typing import Any

import entrepot as ep

#: ``slow`` spins and then writes to its memory; ``indirect`` spins and then writes 42 through an
#: address that it finds there.
SOURCE = """
int spin(long turns) {
    unsigned x = 1;
    for (long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    return x;
}
__kernel void slow(__global int *data, long turns) {
    data[1] = spin(turns);
    data[0] = 42;
}
__kernel void indirect(__global ulong *table, long turns) {
    table[1] = spin(turns);
    *(__global int *)table[0] = 42;
}
"""

TURNS_A_SECOND = 800_000_000  # about


@functools.cache
def kernel(name: str) -> ep.Kernel:
    return ep.Program(SOURCE, ep.device("opencl:cpu")).kernel(name)


def launch(name: str, array: ep.Array, *, seconds: float = 0.5, queue: Any = None) -> ep.Event:
    """Launches it; fails if it is done before the test could do anything meanwhile."""
    done = kernel(name)[1](array, ep.Scalar(int(seconds * TURNS_A_SECOND), "int64"), queue=queue)
    assert not done.done, "the kernel must be slow enough for a test to mean anything"
    return done
