"""Range and NdRange with numba-dpex's constructors and methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..kernel import ranges
from .errors import (
    RangeTypeError,
    UnmatchedNumberOfRangeDimsError,
    UnsupportedGroupWorkItemSizeError,
)


class Range(ranges.Range):
    """Number of work-items in 1 to 3 dimensions, the first being the slowest.

    Parameters
    ----------
    dim0 : int
        The number of work-items in the first dimension.
    dim1, dim2 : int, optional
        Those of the second and third dimension, if there are any.

    Raises
    ------
    TypeError
        If an extent is not an integer.

    Examples
    --------
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> space = kapi.Range(480, 640)
    >>> space.size(), space.ndim, space.get(1)
    (307200, 2, 640)
    """

    __slots__ = ()

    def __new__(cls, dim0: int, dim1: int | None = None, dim2: int | None = None) -> Range:
        extents = [dim0, *(each for each in (dim1, dim2) if each is not None)]
        if any(isinstance(each, (tuple, list)) for each in extents):
            raise RangeTypeError(
                f"Range: {dim0!r} was given, and an extent is an int; write Range(*extents)"
            )
        return super().__new__(cls, *extents)  # type: ignore[return-value]

    def get(self, index: int) -> int:
        """Extent of a dimension.

        Parameters
        ----------
        index : int
            The dimension, from 0.

        Returns
        -------
        int
            The number of work-items in that dimension.

        Raises
        ------
        IndexError
            If the range has fewer dimensions.

        Examples
        --------
        >>> from entrepot.numba_dpex import kernel_api as kapi
        >>> kapi.Range(480, 640).get(1)
        640
        """
        return self[index]

    def size(self) -> int:
        """Number of all work-items.

        Returns
        -------
        int
            The product of the extents.

        Examples
        --------
        >>> from entrepot.numba_dpex import kernel_api as kapi
        >>> kapi.Range(480, 640).size()
        307200
        """
        count = 1
        for extent in self:
            count *= extent
        return count

    @property
    def dim0(self) -> int:
        """Extent of the first dimension."""
        return self[0]

    @property
    def dim1(self) -> int:
        """Extent of the second dimension, -1 for a range of one."""
        return self[1] if len(self) > 1 else -1

    @property
    def dim2(self) -> int:
        """Extent of the third dimension, -1 for a range of one or two."""
        return self[2] if len(self) > 2 else -1


class NdRange(ranges.NdRange):
    """Numbers of work-items, in total and in a work-group, in each dimension.

    Parameters
    ----------
    global_size : Range or iterable of int
        The number of all work-items, in each of 1 to 3 dimensions.
    local_size : Range or iterable of int
        The number of work-items in a work-group, in each dimension.

    Raises
    ------
    TypeError
        If a size is not made of 1 to 3 integers.
    UnmatchedNumberOfRangeDimsError
        If the sizes differ in their number of dimensions. It is also a ValueError.
    UnsupportedGroupWorkItemSizeError
        If the local size does not divide the global size. It is also a ValueError.

    Examples
    --------
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> space = kapi.NdRange((480, 640), (8, 8))
    >>> space.get_global_range().size(), space.local_range
    (307200, Range(8, 8))
    """

    __slots__ = ()

    def __init__(self, global_size: Iterable[int], local_size: Iterable[int]) -> None:
        wide, narrow = _range_of(global_size, "global_size"), _range_of(local_size, "local_size")
        if len(wide) != len(narrow):
            raise UnmatchedNumberOfRangeDimsError(
                f"NdRange: the global size {wide} has {len(wide)} dimensions and the local size "
                f"{narrow} has {len(narrow)}; give both as many"
            )
        for items, each in zip(wide, narrow, strict=True):
            if each < 1 or items % each:
                raise UnsupportedGroupWorkItemSizeError(
                    f"NdRange: the local size {narrow} does not divide the global size {wide}; "
                    "make the global one a multiple, and let the kernel leave out the rest"
                )
        self.global_range, self.local_range = wide, narrow

    def get_global_range(self) -> Range:
        """Range of all work-items.

        Returns
        -------
        Range
            The global range.

        Examples
        --------
        >>> from entrepot.numba_dpex import kernel_api as kapi
        >>> kapi.NdRange((480, 640), (8, 8)).get_global_range()
        Range(480, 640)
        """
        return self.global_range  # type: ignore[return-value]

    def get_local_range(self) -> Range:
        """Range of a work-group.

        Returns
        -------
        Range
            The local range.

        Examples
        --------
        >>> from entrepot.numba_dpex import kernel_api as kapi
        >>> kapi.NdRange((480, 640), (8, 8)).get_local_range()
        Range(8, 8)
        """
        return self.local_range  # type: ignore[return-value]


def _range_of(extents: Any, name: str) -> Range:
    if isinstance(extents, Range):
        return extents
    if not isinstance(extents, Iterable) or isinstance(extents, str):
        raise RangeTypeError(
            f"NdRange: {name} is a Range or a tuple of ints, and {extents!r} was given"
        )
    given = tuple(extents)
    if not 1 <= len(given) <= 3:
        raise RangeTypeError(f"NdRange: {name} has 1 to 3 dimensions, and {given} was given")
    return Range(*given)
