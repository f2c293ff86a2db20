"""Work-items and work-groups as Python objects, for kernels that Python runs.

In a compiled kernel these classes annotate parameters, and their methods become functions of the
index space.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...kernel import language


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

    def get_group_id(self, dim: int) -> int:
        """Position of the group in a dimension."""
        return self._index[dim]

    def get_group_linear_id(self) -> int:
        """Position of the group among all groups."""
        return _linear(self._index, self._group_range)

    def get_group_range(self, dim: int) -> int:
        """Number of groups in a dimension."""
        return self._group_range[dim]

    def get_group_linear_range(self) -> int:
        """Number of all groups."""
        return math.prod(self._group_range)

    def get_local_range(self, dim: int) -> int:
        """Number of work-items of the group in a dimension."""
        return self._local_range[dim]

    def get_local_linear_range(self) -> int:
        """Number of all work-items of the group."""
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

    def get_id(self, idx: int) -> int:
        """Position of the work-item in a dimension."""
        return self._index[idx]

    def get_linear_id(self) -> int:
        """Position of the work-item among all work-items."""
        return _linear(self._index, self._extent)

    def get_range(self, idx: int) -> int:
        """Number of work-items in a dimension."""
        return self._extent[idx]

    def get_linear_range(self) -> int:
        """Number of all work-items."""
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

    def get_global_id(self, idx: int) -> int:
        """Position among all work-items in a dimension."""
        return self._global_item.get_id(idx)

    def get_global_linear_id(self) -> int:
        """Position among all work-items."""
        return self._global_item.get_linear_id()

    def get_global_range(self, idx: int) -> int:
        """Number of all work-items in a dimension."""
        return self._global_item.get_range(idx)

    def get_global_linear_range(self) -> int:
        """Number of all work-items."""
        return self._global_item.get_linear_range()

    def get_local_id(self, idx: int) -> int:
        """Position in the group in a dimension."""
        return self._local_item.get_id(idx)

    def get_local_linear_id(self) -> int:
        """Position in the group."""
        return self._local_item.get_linear_id()

    def get_local_range(self, idx: int) -> int:
        """Number of work-items of the group in a dimension."""
        return self._local_item.get_range(idx)

    def get_local_linear_range(self) -> int:
        """Number of all work-items of the group."""
        return self._local_item.get_linear_range()

    def get_group(self) -> Group:
        """The group of the work-item."""
        return self._group

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return self._global_item.dimensions
