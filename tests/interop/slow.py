"""A slow kernel on queues of Entrepot and of dpctl. A reader that does not wait sees wrong values.

CUDA's is that of cuda_kernels.py; its result is the same.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import cuda_kernels
import entrepot as ep

SOURCE = """
__kernel void slow(__global int *data, long turns) {
    unsigned x = 1;
    for (long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    data[1] = x;
    data[0] = 42;
}
"""
TURNS = 150_000_000  # about 0.2 s
RESULT = 42  # in the first element; an early reader finds 0


@functools.cache
def _our_kernel() -> ep.Kernel:
    return ep.Program(SOURCE, ep.device("opencl:cpu")).kernel("slow")


def launch(array: ep.Array, queue: ep.Queue | None = None) -> ep.Event:
    """Launches it on an array of zeros, by default on the array's own queue."""
    if array.device.backend == "cuda":
        return cuda_kernels.launch(array, queue)
    done = _our_kernel()[1](array, ep.Scalar(TURNS, "int64"), queue=queue)
    assert not done.done, "the kernel must be slow enough for a test to mean anything"
    return done


@functools.cache
def _kernel_of(queue: Any) -> Any:
    from dpctl.program import create_program_from_source

    return create_program_from_source(queue, SOURCE).get_sycl_kernel("slow")


def launch_on_dpctl(queue: Any, memory: Any) -> Any:
    """Launches it on a dpctl.SyclQueue and zeroed memory of dpctl.memory."""
    kernel = _kernel_of(queue)
    done = queue.submit_async(kernel, [memory, ctypes.c_longlong(TURNS)], [1])
    assert not is_done(done), "the kernel must be slow enough for a test to mean anything"
    return done


def is_done(event: Any) -> bool:
    return event.execution_status.name == "complete"
