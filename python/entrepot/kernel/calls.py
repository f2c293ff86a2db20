"""Launches with numba-dpex's names: ``call_kernel`` and ``call_kernel_async``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Event
from .functions import KernelFunction
from .ranges import NdRange, Range


def call_kernel(
    kernel_fn: KernelFunction,
    index_space: Range | NdRange | int | tuple[int, ...],
    *kernel_args: Any,
) -> None:
    """Runs the kernel over the range and waits for it. Raises the errors of a launch and those of
    the device.
    """
    kernel_fn[_index(index_space)](*kernel_args, wait=True).wait()


def call_kernel_async(
    kernel_fn: KernelFunction,
    index_space: Range | NdRange | int | tuple[int, ...],
    dependent_events: Sequence[Event] | Event,
    *kernel_args: Any,
) -> Event:
    """Submits the kernel, ordered after the events, and returns its Event.

    Host memory that the device cannot access is copied there and back. It is up to date when the
    Event is complete.
    """
    return kernel_fn[_index(index_space)](*kernel_args, depends_on=dependent_events, wait=False)


def _index(index_space: Any) -> Any:
    # A plain tuple in brackets would mean (global, local).
    return Range(index_space) if type(index_space) in (tuple, list) else index_space
