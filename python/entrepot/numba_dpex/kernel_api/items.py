"""Work-items and work-groups as Python objects, for kernels that Python runs.

In a compiled kernel these classes annotate parameters, and their methods become functions of the
index space.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from ...kernel import language

_Method = TypeVar("_Method", bound=Callable[..., object])

#: Objects of the examples, by the first word of a call.
_MADE = {
    "group": ["group = kapi.Group(kapi.Range(6, 4), kapi.Range(3, 2), kapi.Range(2, 2), [1, 0])"],
    "item": ["item = kapi.Item(kapi.Range(4, 5), [1, 2])"],
    "nd_item": [
        "group = kapi.Group(kapi.Range(6), kapi.Range(3), kapi.Range(2), [1])",
        "whole, own = kapi.Item(kapi.Range(6), [4]), kapi.Item(kapi.Range(3), [1])",
        "nd_item = kapi.NdItem(whole, own, group)",
    ],
}
_DIMENSION = """\
Parameters
----------
{} : int
    The dimension, from 0, the slowest, to 2.

"""
_METHOD = """\
{}

{}Returns
-------
{}
    The value in Python. A compiled kernel has an int64 in its place.

Examples
--------
>>> from entrepot.numba_dpex import kernel_api as kapi
{}
{}
"""


def _described(summary: str, call: str, answer: str) -> Callable[[_Method], _Method]:
    """Gives a method its docstring, with an example of the call."""

    def describe(method: _Method) -> _Method:
        parameters = list(inspect.signature(method).parameters)[1:]
        steps = [*_MADE[call.partition(".")[0]], call]
        method.__doc__ = _METHOD.format(
            summary,
            "".join(map(_DIMENSION.format, parameters)),
            inspect.signature(method).return_annotation,
            "\n".join(f">>> {step}" for step in steps),
            answer,
        )
        return method

    return describe


def _linear(index: Sequence[int], extents: Sequence[int]) -> int:
    position = 0
    for each, extent in zip(index, extents, strict=True):
        position = position * extent + each
    return position


class Group:
    """A work-group, which ``NdItem.get_group()`` returns.

    Parameters
    ----------
    global_range, local_range, group_range : Range or tuple of int
        The numbers of all work-items, of those in a group, and of groups, in each dimension.
    index : sequence of int
        The position of the group among the groups.

    Examples
    --------
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> group = kapi.Group(kapi.Range(6, 4), kapi.Range(3, 2), kapi.Range(2, 2), [1, 0])
    >>> group.get_group_linear_id(), group.get_local_linear_range(), group.dimensions
    (2, 6, 2)
    """

    def __init__(
        self,
        global_range: Sequence[int],
        local_range: Sequence[int],
        group_range: Sequence[int],
        index: Sequence[int],
    ) -> None:
        self._global_range, self._local_range = global_range, local_range
        self._group_range, self._index = group_range, index
        #: True for the work-item of the local id 0.
        self.leader = False

    @_described("Position of the group in a dimension.", "group.get_group_id(0)", "1")
    def get_group_id(self, dim: int) -> int:
        return self._index[dim]

    @_described("Position of the group among all groups.", "group.get_group_linear_id()", "2")
    def get_group_linear_id(self) -> int:
        return _linear(self._index, self._group_range)

    @_described("Number of groups in a dimension.", "group.get_group_range(0)", "2")
    def get_group_range(self, dim: int) -> int:
        return self._group_range[dim]

    @_described("Number of all groups.", "group.get_group_linear_range()", "4")
    def get_group_linear_range(self) -> int:
        return math.prod(self._group_range)

    @_described(
        "Number of work-items of the group in a dimension.", "group.get_local_range(1)", "2"
    )
    def get_local_range(self, dim: int) -> int:
        return self._local_range[dim]

    @_described("Number of all work-items of the group.", "group.get_local_linear_range()", "6")
    def get_local_linear_range(self) -> int:
        return math.prod(self._local_range)

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return len(self._global_range)


class Item(language.Item):
    """A work-item of a launch over a Range.

    Parameters
    ----------
    extent : Range or tuple of int
        The number of work-items in each dimension.
    index : sequence of int
        The position of the work-item.

    Examples
    --------
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> item = kapi.Item(kapi.Range(4, 5), [1, 2])
    >>> item.get_id(1), item.get_linear_id(), item.get_linear_range()
    (2, 7, 20)
    """

    def __init__(self, extent: Sequence[int], index: Sequence[int]) -> None:
        self._extent, self._index = extent, index

    @_described("Position of the work-item in a dimension.", "item.get_id(1)", "2")
    def get_id(self, idx: int) -> int:
        return self._index[idx]

    @_described("Position of the work-item among all work-items.", "item.get_linear_id()", "7")
    def get_linear_id(self) -> int:
        return _linear(self._index, self._extent)

    @_described("Number of work-items in a dimension.", "item.get_range(1)", "5")
    def get_range(self, idx: int) -> int:
        return self._extent[idx]

    @_described("Number of all work-items.", "item.get_linear_range()", "20")
    def get_linear_range(self) -> int:
        return math.prod(self._extent)

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return len(self._extent)


class NdItem(language.Item):
    """A work-item of a launch over an NdRange.

    Parameters
    ----------
    global_item : Item
        The work-item among all work-items.
    local_item : Item
        The work-item in its group.
    group : Group
        Its group.

    Examples
    --------
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> group = kapi.Group(kapi.Range(6), kapi.Range(3), kapi.Range(2), [1])
    >>> item = kapi.NdItem(kapi.Item(kapi.Range(6), [4]), kapi.Item(kapi.Range(3), [1]), group)
    >>> item.get_global_id(0), item.get_local_id(0), item.get_group().get_group_id(0)
    (4, 1, 1)
    """

    def __init__(self, global_item: Item, local_item: Item, group: Group) -> None:
        self._global_item, self._local_item, self._group = global_item, local_item, group
        group.leader = self.get_local_linear_id() == 0

    @_described("Position among all work-items in a dimension.", "nd_item.get_global_id(0)", "4")
    def get_global_id(self, idx: int) -> int:
        return self._global_item.get_id(idx)

    @_described("Position among all work-items.", "nd_item.get_global_linear_id()", "4")
    def get_global_linear_id(self) -> int:
        return self._global_item.get_linear_id()

    @_described("Number of all work-items in a dimension.", "nd_item.get_global_range(0)", "6")
    def get_global_range(self, idx: int) -> int:
        return self._global_item.get_range(idx)

    @_described("Number of all work-items.", "nd_item.get_global_linear_range()", "6")
    def get_global_linear_range(self) -> int:
        return self._global_item.get_linear_range()

    @_described("Position in the group in a dimension.", "nd_item.get_local_id(0)", "1")
    def get_local_id(self, idx: int) -> int:
        return self._local_item.get_id(idx)

    @_described("Position in the group.", "nd_item.get_local_linear_id()", "1")
    def get_local_linear_id(self) -> int:
        return self._local_item.get_linear_id()

    @_described(
        "Number of work-items of the group in a dimension.", "nd_item.get_local_range(0)", "3"
    )
    def get_local_range(self, idx: int) -> int:
        return self._local_item.get_range(idx)

    @_described("Number of all work-items of the group.", "nd_item.get_local_linear_range()", "3")
    def get_local_linear_range(self) -> int:
        return self._local_item.get_linear_range()

    @_described("The group of the work-item.", "nd_item.get_group().get_group_id(0)", "1")
    def get_group(self) -> Group:
        return self._group

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return self._global_item.dimensions
