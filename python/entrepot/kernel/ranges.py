"""Index spaces as objects, with numba-dpex's names. ``kernel[global, local]`` accepts these and
plain numbers.
"""

from __future__ import annotations

import operator
from typing import Any

# Unspecified local range: the device and the kernel determine it.
DEFAULT_LOCAL_SIZE: tuple[()] = ()


class Range(tuple[int, ...]):
    """Number of work-items in 1 to 3 dimensions, the first being the slowest.

    A Range is a tuple of ints.

    Parameters
    ----------
    *extents : int or tuple of int
        The number of work-items in each dimension: 1 to 3 ints, or one tuple or list of them.

    Raises
    ------
    ValueError
        If there are no extents, or more than 3.
    TypeError
        If an extent is not an integer, such as 2.5 or 4 / 2, a float.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> ek.Range(480, 640)
    Range(480, 640)
    >>> ek.Range((480, 640)).ndim
    2
    """

    __slots__ = ()

    def __new__(cls, *extents: Any) -> Range:
        if len(extents) == 1 and isinstance(extents[0], (tuple, list)):
            extents = tuple(extents[0])
        if not 1 <= len(extents) <= 3:
            raise ValueError(f"a Range has 1 to 3 dimensions, not {len(extents)}")
        return super().__new__(cls, map(extent_of, extents))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self)

    def __repr__(self) -> str:
        return f"Range({', '.join(map(str, self))})"


class NdRange:
    """Numbers of work-items, in total and in a work-group, in each dimension.

    Parameters
    ----------
    global_range : Range, int or tuple of int
        The number of all work-items, in each of 1 to 3 dimensions.
    local_range : Range, int or tuple of int, optional
        The number of work-items in a work-group, in each dimension. By default, and with None, the
        device and the kernel determine it.

    Raises
    ------
    ValueError
        If a range does not have 1 to 3 dimensions, or if the two differ in their number.
    TypeError
        If an extent is not an integer.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> space = ek.NdRange((480, 640), (8, 8))
    >>> space
    NdRange((480, 640), (8, 8))
    >>> space.local_range
    Range(8, 8)
    """

    __slots__ = ("global_range", "local_range")

    def __init__(self, global_range: Any, local_range: Any = DEFAULT_LOCAL_SIZE) -> None:
        self.global_range = _range_of(global_range)
        self.local_range = (
            _range_of(local_range)
            if local_range is not None and local_range != ()
            else DEFAULT_LOCAL_SIZE
        )
        if self.local_range and len(self.local_range) != len(self.global_range):
            raise ValueError(
                f"an NdRange has as many local dimensions as global ones: {self.global_range} has "
                f"{len(self.global_range)}, "
                f"{self.local_range} has {len(self.local_range)}"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NdRange):
            return NotImplemented
        return self.global_range == other.global_range and self.local_range == other.local_range

    def __hash__(self) -> int:
        return hash((self.global_range, self.local_range))

    def __repr__(self) -> str:
        return f"NdRange({tuple(self.global_range)}, {tuple(self.local_range)})"


def extent_of(value: Any) -> int:
    """An extent of a range. Raises TypeError for anything but an integer, such as 2.5 or 4 / 2, a
    float.
    """
    try:
        return operator.index(value)
    except TypeError:
        instead = (
            "divide by //, as in kernel[n // 2], or round it by int(…)"
            if isinstance(value, float)
            else "write an int"
        )
        raise TypeError(
            f"launch: a range is of integers, and {value!r} is a {type(value).__name__}: {instead}"
        ) from None


def _range_of(extents: Any) -> Range:
    return Range(*extents) if isinstance(extents, (tuple, list)) else Range(extents)
