"""Names of ``numba_dpex.experimental`` (0.22), which 0.23 has in ``numba_dpex``."""

from __future__ import annotations

from .decorators import Kernel, device_func, kernel
from .errors import refuse_unknown
from .launches import call_kernel, call_kernel_async

SPIRVKernelDispatcher = KernelDispatcher = Kernel

__all__ = [
    "KernelDispatcher",
    "SPIRVKernelDispatcher",
    "call_kernel",
    "call_kernel_async",
    "device_func",
    "kernel",
]


def __getattr__(name: str) -> object:
    refuse_unknown(__name__, name)
