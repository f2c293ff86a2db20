"""Launches whose kernel is a plain function, which Python runs."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..._core import LocalAccessor
from ...kernel import ranges
from ...kernel.simulator.arithmetic import dtype_of
from ..errors import LaunchTypeError, LaunchValueError
from . import turns
from .items import Group, Item, NdItem


def run_in_python(kernel_fn: Callable[..., Any], index_range: Any, *kernel_args: Any) -> None:
    """Calls the function for each work-item of the range, with the work-item as its first argument.

    Raises ValueError for anything but a function, a Range or NdRange, and as many arguments as the
    function has parameters. Raises TypeError for a LocalAccessor in a launch over a Range.
    """
    if not callable(kernel_fn):
        raise LaunchValueError(f"call_kernel: a function was expected, and {kernel_fn!r} was given")
    count = len(inspect.signature(kernel_fn).parameters)
    if count not in (len(kernel_args), len(kernel_args) + 1):
        raise LaunchValueError(
            f"call_kernel: {getattr(kernel_fn, '__name__', kernel_fn)} has {count} parameters, "
            f"and {len(kernel_args)} arguments were given; give one for each but the work-item"
        )
    takes_item = count == len(kernel_args) + 1
    if isinstance(index_range, ranges.NdRange):
        _run_groups(kernel_fn, takes_item, index_range, kernel_args)
    elif isinstance(index_range, ranges.Range):
        refuse_local_memory(index_range, kernel_args)
        for index in itertools.product(*map(range, index_range)):
            kernel_fn(*([Item(index_range, index)] if takes_item else []), *kernel_args)
    else:
        raise LaunchValueError(
            f"call_kernel: a Range or an NdRange was expected, not {index_range!r}: write "
            "Range(n), or NdRange((n,), (items_of_a_group,))"
        )


def refuse_local_memory(index_range: Any, kernel_args: tuple[Any, ...]) -> None:
    """Raises TypeError for a LocalAccessor in a launch that has no work-groups."""
    if isinstance(index_range, ranges.NdRange):
        return
    for each in kernel_args:
        if isinstance(each, LocalAccessor):
            raise LaunchTypeError(
                "call_kernel: a LocalAccessor is memory of a work-group, and a Range has none; "
                "launch over an NdRange"
            )


def _run_groups(
    kernel_fn: Callable[..., Any],
    takes_item: bool,
    index_range: ranges.NdRange,
    kernel_args: tuple[Any, ...],
) -> None:
    whole, local = index_range.global_range, index_range.local_range
    groups = tuple(items // each for items, each in zip(whole, local, strict=True))
    for identity in itertools.product(*map(range, groups)):
        arguments = [_of_group(each) for each in kernel_args]
        work_items = []
        for own in itertools.product(*map(range, local)):
            index = [a * size + b for a, size, b in zip(identity, local, own, strict=True)]
            item = NdItem(
                Item(whole, index), Item(local, own), Group(whole, local, groups, identity)
            )
            work_items.append(partial(kernel_fn, *([item] if takes_item else []), *arguments))
        turns.run_group(work_items)


def _of_group(argument: Any) -> Any:
    """The argument as the work-items of a group receive it."""
    if isinstance(argument, LocalAccessor):
        return np.empty(argument.shape, dtype_of(argument.dtype))
    return argument
