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
    """Run the kernel over the range and wait for it.

    The name is numba-dpex's, for ``kernel_fn[index_space](*kernel_args, wait=True).wait()``.

    Parameters
    ----------
    kernel_fn : KernelFunction
        The kernel.
    index_space : Range, NdRange, int or tuple of int
        The number of work-items, and with an NdRange also that of a work-group. A tuple has the
        extents of 1 to 3 dimensions.
    *kernel_args : array_like, scalar or LocalAccessor
        The arguments of the kernel, without the Item.

    Raises
    ------
    KernelError
        If the kernel, its range or its arguments are not supported.
    TypeError
        If an argument has an unsupported type, or their number is wrong.
    ValueError
        If the range has a negative extent, or more than 3 dimensions.
    IndexError
        If an index that is checked is out of bounds.
    ExchangeError
        If the memory of an argument cannot be viewed.
    DeviceError
        If the device reports an error.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.kernel
    ... def double(item: ek.Item, numbers):
    ...     numbers[item.get_id(0)] *= 2
    >>> numbers = ep.full(4, 3, "int32", device="host")
    >>> ek.call_kernel(double, ek.Range(4), numbers)
    >>> numbers.numpy().tolist()
    [6, 6, 6, 6]
    """
    kernel_fn[_index(index_space)](*kernel_args, wait=True).wait()


def call_kernel_async(
    kernel_fn: KernelFunction,
    index_space: Range | NdRange | int | tuple[int, ...],
    dependent_events: Sequence[Event] | Event,
    *kernel_args: Any,
) -> Event:
    """Submit the kernel, ordered after the events.

    The name is numba-dpex's. Host memory that the device cannot access is copied there and back. It
    is up to date when the Event is complete.

    Parameters
    ----------
    kernel_fn : KernelFunction
        The kernel.
    index_space : Range, NdRange, int or tuple of int
        The number of work-items, and with an NdRange also that of a work-group. A tuple has the
        extents of 1 to 3 dimensions.
    dependent_events : Event or sequence of Event
        The events that the kernel waits for, which may be none.
    *kernel_args : array_like, scalar or LocalAccessor
        The arguments of the kernel, without the Item.

    Returns
    -------
    Event
        Done when the kernel is. The call does not wait, also for arguments such as NumPy arrays.

    Raises
    ------
    KernelError
        If the kernel, its range or its arguments are not supported.
    TypeError
        If an argument has an unsupported type, or their number is wrong.
    ValueError
        If the range has a negative extent, or more than 3 dimensions.
    IndexError
        If an index that is checked is out of bounds.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.kernel
    ... def double(item: ek.Item, numbers):
    ...     numbers[item.get_id(0)] *= 2
    >>> numbers = ep.full(4, 3, "int32", device="host")
    >>> event = ek.call_kernel_async(double, ek.Range(4), [], numbers)
    >>> ek.call_kernel_async(double, ek.Range(4), event, numbers).wait()
    >>> numbers.numpy().tolist()
    [12, 12, 12, 12]
    """
    return kernel_fn[_index(index_space)](*kernel_args, depends_on=dependent_events, wait=False)


def _index(index_space: Any) -> Any:
    # A plain tuple in brackets would mean (global, local).
    return Range(index_space) if type(index_space) in (tuple, list) else index_space
