"""Axes of an array, as the (outer, n) or (outer, n, inner) of kernels that work along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._core import Array, Event, copy, empty
from .common import Call, Result, whole


def axes_of(name: str, axis: Any, ndim: int) -> list[int]:
    """The axes in ascending order, from 0."""
    if axis is None:
        return list(range(ndim))
    given = axis if isinstance(axis, Sequence) and not isinstance(axis, str) else [axis]
    axes = [whole(name, "axis", each) for each in given]
    for each in axes:
        if not -ndim <= each < ndim:
            raise ValueError(
                f"{name}(): axis {each} was asked for, and the array has {ndim} dimensions"
            )
    axes = sorted(each % ndim for each in axes)
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name}(): an axis is repeated in {axis!r}: name each axis once")
    return axes


def without(shape: tuple[int, ...], axes: list[int]) -> tuple[int, ...]:
    return tuple(extent for at, extent in enumerate(shape) if at not in axes)


def along_axes(
    call: Call,
    values: Array,
    axes: list[int],
    result: Result,
    write: Callable[[Array, Array], Event],
) -> Any:
    """The result after ``write(array, out)`` has written it. ``array`` has the n elements of the
    axes, and ``out`` one in their place.
    """
    written = result.written
    array = layered(result.apart_from(values), axes)
    outer, _, *inner = array.shape
    try:
        target = written.reshape(outer, 1, *inner)
    except ValueError:  # the strides of ``out`` do not allow the shape
        target = empty((outer, 1, *inner), written.dtype, queue=call.queue)
        write(array, target)
        return result.returned(copy(written, target.reshape(written.shape), call.queue))
    return result.returned(write(array, target))


def layered(values: Array, axes: list[int]) -> Array:
    """A view with all axes as one, or a copy if the strides allow no view."""
    if not axes:
        axes, values = [values.ndim], values.reshape(*values.shape, 1)
    if axes[-1] - axes[0] != len(axes) - 1:
        others = [at for at in range(values.ndim) if at not in axes]
        values = values.transpose(*others, *axes)
        axes = list(range(len(others), values.ndim))
    before, after = axes[0], axes[-1] + 1
    inner = values.shape[after:]
    shape: tuple[int, ...] = (
        math.prod(values.shape[:before]),
        math.prod(values.shape[before:after]),
    )
    if math.prod(inner) != 1:
        shape = (*shape, math.prod(inner))
    try:
        return values.reshape(shape)
    except ValueError:
        return values.to(values.device).reshape(shape)
