"""Array arguments of functions that run kernels: errors about them, overlaps, copies and views."""

from __future__ import annotations

import sys

from .._core import Array, EntrepotError, copy, empty


class About:
    """Adds a function and its argument to the message of an error raised within."""

    __slots__ = ("_argument", "_function")

    def __init__(self, function: str, argument: str) -> None:
        self._function = function
        self._argument = argument

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, (EntrepotError, TypeError, ValueError, OverflowError)):
            error.args = (f"{self._function}(): {self._argument}: {error}",)


def is_of_numpy(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _bytes_of(array: Array) -> tuple[int, int]:
    """The range of addresses of the elements."""
    low = high = array.data_ptr
    if array.strides == (1,) or array.size == 0:
        return low, low + array.nbytes
    itemsize = array.itemsize
    for extent, stride in zip(array.shape, array.strides, strict=True):
        span = stride * (extent - 1) * itemsize
        if span < 0:
            low += span
        else:
            high += span
    return low, high + itemsize


def overlap(result: Array, operand: Array) -> bool:
    """True if an element may be written before it is read, which is not so if both have the same
    layout.
    """
    (begin, end), (other_begin, other_end) = _bytes_of(result), _bytes_of(operand)
    if max(begin, other_begin) >= min(end, other_end):
        return False
    has_same_layout = result.shape == operand.shape and result.strides == operand.strides
    return not (has_same_layout and result.data_ptr == operand.data_ptr)


def copied(array: Array) -> Array:
    made = empty(array.shape, array.dtype, queue=array.queue)
    copy(made, array)
    return made


def flat(array: Array) -> Array:
    """The array in one dimension: a view, or a copy if its strides allow no view."""
    try:
        return array.reshape(-1)
    except ValueError:
        return array.to(array.device).reshape(-1)
