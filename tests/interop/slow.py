"""The slow kernels of tests/support on queues of Entrepot and of dpctl. A reader that does not
wait sees wrong values."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import entrepot as ep
from support import cuda_kernels, opencl_kernels

SECONDS = 0.2  # about
RESULT = 42  # in the first element; an early reader finds 0


def launch(array: ep.Array, queue: Any = None) -> ep.Event:
    """Launches it on an array of zeros, by default on the array's own queue."""
    if array.device.backend == "cuda":
        return cuda_kernels.launch(array, queue)
    return opencl_kernels.launch("slow", array, seconds=SECONDS, queue=queue)


@functools.cache
def _kernel_of(queue: Any) -> Any:
    from dpctl.program import create_program_from_source

    return create_program_from_source(queue, opencl_kernels.SOURCE).get_sycl_kernel("slow")


def launch_on_dpctl(queue: Any, memory: Any) -> Any:
    """Launches it on a dpctl.SyclQueue and zeroed memory of dpctl.memory."""
    kernel = _kernel_of(queue)
    turns = ctypes.c_longlong(int(SECONDS * opencl_kernels.TURNS_A_SECOND))
    done = queue.submit_async(kernel, [memory, turns], [1])
    assert not is_done(done), "the kernel must be slow enough for a test to mean anything"
    return done


def is_done(event: Any) -> bool:
    return event.execution_status.name == "complete"
