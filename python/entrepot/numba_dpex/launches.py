"""``call_kernel`` and ``call_kernel_async`` with numba-dpex's rules and results."""

from __future__ import annotations

from numbers import Number
from typing import Any

from .._core import Event, LocalAccessor, Scalar
from ..kernel.functions import KernelFunction
from ..kernel.ranges import NdRange, Range
from .decorators import Kernel, launched
from .errors import (
    ExecutionQueueInferenceError,
    LaunchTypeError,
    LaunchValueError,
    typed,
)


def call_kernel(kernel_fn: Any, index_range: Any, *kernel_args: Any) -> None:
    """Run the kernel over the range and wait for it.

    A plain function is run in Python, one work-item at a time.

    Parameters
    ----------
    kernel_fn : Kernel, KernelFunction or function
        The kernel.
    index_range : Range or NdRange
        The number of work-items, and with an NdRange also that of a work-group.
    *kernel_args : array_like, scalar or LocalAccessor
        The arguments of the kernel, without the work-item.

    Raises
    ------
    KernelError
        If the kernel, its range or its arguments are not supported. If the program has imported
        numba, the error is numba's TypingError as well.
    TypeError
        If an argument is of an unsupported type, or a LocalAccessor in a launch over a Range.
    ValueError
        If the first argument is not a kernel, or the second not a range.
    ExecutionQueueInferenceError
        If there is no array, or if arrays of dpctl and dpnp are of several queues.
    MissingSpecializationError
        If the kernel's signatures have other types.

    Examples
    --------
    >>> from entrepot import numba_dpex as dpex
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> @dpex.kernel
    ... def double(item: kapi.Item, numbers):
    ...     numbers[item.get_id(0)] *= 2
    >>> numbers = ep.full(4, 3, "int32", device="host")
    >>> dpex.call_kernel(double, dpex.Range(4), numbers)
    >>> numbers.numpy().tolist()
    [6, 6, 6, 6]
    """
    if not isinstance(kernel_fn, KernelFunction):
        from .kernel_api.launcher import run_in_python

        run_in_python(kernel_fn, index_range, *kernel_args)
        return
    _submitted(kernel_fn, index_range, kernel_args, wait=True).wait()


def call_kernel_async(
    kernel_fn: Any, index_range: Any, dependent_events: tuple[Any, ...], *kernel_args: Any
) -> tuple[Any, Any]:
    """Submit the kernel, ordered after the events.

    Parameters
    ----------
    kernel_fn : Kernel or KernelFunction
        The kernel.
    index_range : Range or NdRange
        The number of work-items, and with an NdRange also that of a work-group.
    dependent_events : tuple of Event or SyclEvent
        The events that the kernel waits for, which may be none.
    *kernel_args : array_like, scalar or LocalAccessor
        The arguments of the kernel, without the work-item.

    Returns
    -------
    tuple of two events
        The event after which the arguments may be released, and that of the kernel. Both are done
        when the kernel is. They are dpctl's SyclEvents if an array has a queue of dpctl, and
        Events otherwise.

    Raises
    ------
    KernelError
        If ``dependent_events`` is not a tuple, or if ``call_kernel`` raises it.
    TypeError
        If an argument is of an unsupported type, or a LocalAccessor in a launch over a Range.
    ValueError
        If the first argument is not a kernel, or the second not a range.

    Examples
    --------
    >>> from entrepot import numba_dpex as dpex
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> @dpex.kernel
    ... def double(item: kapi.Item, numbers):
    ...     numbers[item.get_id(0)] *= 2
    >>> numbers = ep.full(4, 3, "int32", device="host")
    >>> _, event = dpex.call_kernel_async(double, dpex.Range(4), (), numbers)
    >>> _, event = dpex.call_kernel_async(double, dpex.Range(4), (event,), numbers)
    >>> event.wait()
    >>> numbers.numpy().tolist()
    [12, 12, 12, 12]
    """
    if not isinstance(kernel_fn, KernelFunction):
        raise LaunchValueError(
            f"call_kernel_async: a kernel was expected, and {kernel_fn!r} was given; put "
            "@kernel before its def, or run it by call_kernel()"
        )
    if not isinstance(dependent_events, tuple):
        raise typed(
            LaunchTypeError(
                "call_kernel_async: dependent_events is a tuple of events, and a "
                f"{type(dependent_events).__name__} was given"
            ),
            LaunchTypeError,
        )
    event = _submitted(kernel_fn, index_range, kernel_args, depends_on=dependent_events, wait=False)
    queue = _queue_of(kernel_args)
    # A barrier of dpctl's queue waits for all that has been submitted to it, so for the kernel.
    done = event if queue is None else queue.submit_barrier()
    return done, done


def _submitted(
    kernel_fn: KernelFunction, index_range: Any, kernel_args: tuple[Any, ...], **options: Any
) -> Event:
    from .kernel_api.launcher import refuse_local_memory

    if not isinstance(index_range, (Range, NdRange)):
        raise LaunchValueError(
            f"call_kernel: a Range or an NdRange was expected, not {index_range!r}: write "
            "Range(n), or NdRange((n,), (items_of_a_group,))"
        )
    refuse_local_memory(index_range, kernel_args)
    _check_queues(kernel_fn, kernel_args)
    chosen = kernel_fn
    if isinstance(kernel_fn, Kernel):
        chosen = kernel_fn._for_arguments(len(kernel_args))
    return launched(chosen, index_range, kernel_args, **options)


def _queue_of(arguments: tuple[Any, ...]) -> Any:
    """dpctl's queue of the first array that has one."""
    return next((each.sycl_queue for each in arguments if hasattr(each, "sycl_queue")), None)


def _check_queues(kernel_fn: KernelFunction, arguments: tuple[Any, ...]) -> None:
    """Compute follows data: the arrays determine the queue, and have the same one."""
    name = kernel_fn.function.__name__
    if not any(map(_is_array, arguments)):
        raise ExecutionQueueInferenceError(
            f"kernel {name} is given no array, so no queue follows from its arguments: give it one"
        )
    first = _queue_of(arguments)
    for place, each in enumerate(arguments):
        if hasattr(each, "sycl_queue") and each.sycl_queue != first:
            raise ExecutionQueueInferenceError(
                f"kernel {name}: argument {place} is of another queue than the arrays before it; "
                "create all arrays with one queue"
            )


def _is_array(argument: Any) -> bool:
    return not isinstance(argument, (Number, Scalar, LocalAccessor))
