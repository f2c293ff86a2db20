"""Arrays of simulated kernels: elements of one dtype, checked bounds, and a history of accesses to
each element.

Two work-items race for an element when both touch it, one of them writes, and no barrier orders
them. A barrier orders the work-items of its group (or sub-group) and the spaces that its fence
names. Only a barrier of all groups orders work-items of different groups. Atomic accesses do not
race with each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .arithmetic import converted
from .errors import IndexKernelError, line_of_kernel, named, refuse
from .groups import Item, Run


class Access(NamedTuple):
    """An access: the work-item, its line, and the number of barriers that it had passed."""

    item: Item
    line: int
    grid_epoch: int
    epoch: int
    sub_epoch: int
    atomic: bool
    write: bool
    updates: bool = False  # a write by a line that has read the element

    def orders(self, later: Access) -> bool:
        """True if this access happens before the later one in every schedule of the work-items."""
        if self.item is later.item or (self.atomic and later.atomic):
            return True
        if self.grid_epoch < later.grid_epoch:
            return True
        if self.item.group is not later.item.group:
            return False
        if self.epoch < later.epoch:
            return True
        return self.item.sub_group is later.item.sub_group and self.sub_epoch < later.sub_epoch

    def instead(self, other: Access, space: str) -> str:
        """Suggestion for the message of a race."""
        if self.updates and self.line == other.line:
            add = named("entrepot.kernel.atomic.add")
            atomic = f"where several work-items change one element, use {add} or its like; else "
        else:
            atomic = ""
        return atomic + self._order(other, space)

    def _order(self, other: Access, space: str) -> str:
        both_write = self.write and other.write
        atomic, grid_barrier = named("entrepot.kernel.atomic"), named("grid_barrier()")
        own = f"let each write elements of its own, or use {atomic}"
        if self.item.group is not other.item.group:
            return (
                "none orders work-items of different groups: "
                f"{own if both_write else 'write to another array'}, or launch two kernels one "
                f"after the other, or put {grid_barrier} between the two"
            )
        fence = named(f"barrier(CLK_{space.upper()}_MEM_FENCE)")
        if both_write:
            return f"{own}, or put {fence} between the two"
        return f"put {fence} between the two, or write to another array"

    def __str__(self) -> str:
        verb = ("an atomic " if self.atomic else "a ") + ("write" if self.write else "read")
        return f"{verb} by {self.item} at line {self.line}"


@dataclass
class History:
    """The accesses of an element that are needed to find any race.

    An access is dropped if a later one is ordered after it, because a race with it is also a race
    with the later one.
    """

    # The last one; for atomics two, by different work-items.
    writes: list[Access] = field(default_factory=list)
    reads: dict[Item, Access] = field(
        default_factory=dict
    )  # of the group and epoch of the last one
    earlier_group: Access | None = None  # a read by a group before the one in `reads`

    def conflict(self, access: Access) -> Access | None:
        """An earlier access that races with the new one."""
        for write in self.writes:
            if not write.orders(access):
                return write
        if not access.write:
            return None
        others = (
            self.reads.values()
            if self.earlier_group is None
            else (*self.reads.values(), self.earlier_group)
        )
        return next((read for read in others if not read.orders(access)), None)

    def add(self, access: Access) -> None:
        if access.write:
            self._add_write(access)
        else:
            self._add_read(access)

    def _add_write(self, access: Access) -> None:
        keep = [
            write
            for write in self.writes
            if access.atomic and write.atomic and write.item is not access.item
        ]
        self.writes = [*keep[-1:], access]
        if not access.atomic:
            self.reads.clear()
            self.earlier_group = None

    def _add_read(self, access: Access) -> None:
        if self.reads:
            last = next(iter(self.reads.values()))
            if last.grid_epoch != access.grid_epoch:
                self.earlier_group = None
                self.reads.clear()
            elif last.item.group is not access.item.group:
                self.earlier_group = last
                self.reads.clear()
            elif last.epoch != access.epoch:
                self.reads.clear()
        self.reads[access.item] = access


#: Types of indices for the fast path of View._place. Other types are checked one by one.
_INDEX_TYPES = frozenset({int, np.int64, np.int32})


class View:
    """An array or a part of one in a kernel."""

    __slots__ = ("_address", "_array", "_name", "_run", "_space", "_written")

    def __init__(self, run: Run, name: str, array: Any, space: str, written: Any = None) -> None:
        """``written`` is True for initialized elements; None if the whole array is initialized."""
        self._run, self._name, self._array, self._space, self._written = (
            run,
            name,
            array,
            space,
            written,
        )
        self._address = array.__array_interface__["data"][0] if array.size else 0

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(map(np.int64, self._array.shape))

    @property
    def ndim(self) -> Any:
        return np.int64(self._array.ndim)

    @property
    def size(self) -> Any:
        return np.int64(self._array.size)

    @property
    def dtype(self) -> Any:
        return self._array.dtype

    @property
    def T(self) -> View:
        return self._part(self._array.T, None if self._written is None else self._written.T)

    def __len__(self) -> int:
        return len(self._array)

    def __repr__(self) -> str:
        return f"{self._name}: {self._array!r}"

    def _part(self, array: Any, written: Any) -> View:
        return View(self._run, self._name, array, self._space, written)

    def __getitem__(self, index: Any) -> Any:
        place = self._place(index)
        if place is None:
            return self._part(
                self._array[index], None if self._written is None else self._written[index]
            )
        self._check_initialized(place)
        self._track(place, write=False)
        return self._array[place]

    def __setitem__(self, index: Any, value: Any) -> None:
        place = self._place(index)
        if place is None:
            raise refuse(
                f"{self._name}: a part of an array is assigned to; assign its elements in a loop"
            )
        value = converted(self._array.dtype, value)
        self._check_writable()
        self._track(place, write=True)
        self._array[place] = value
        if self._written is not None:
            self._written[place] = True

    def initialize(self) -> None:
        """Marks all elements, which are zeros, as written."""
        if self._written is not None:
            self._written[...] = True

    def atomically(self, index: Any, change: Any) -> Any:
        """Replaces the element by ``change(element)`` and returns its old value. ``change=None``:
        only reads it.
        """
        place = self._place(index)
        if place is None:
            raise refuse(f"{self._name}: an atomic operation takes the index of one element")
        if change is not None:
            self._check_writable()
        old = self._array[place]
        new = None if change is None else converted(self._array.dtype, change(old))
        self._track(place, write=change is not None, atomic=True)
        if new is not None:
            self._array[place] = new
            if self._written is not None:
                self._written[place] = True
        return old

    def _place(self, index: Any) -> tuple[int, ...] | None:
        """The index of the element, without negative numbers; None if the subscript is a part of
        the array.
        """
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) == self._array.ndim and _INDEX_TYPES.issuperset(map(type, indices)):
            return tuple(map(self._inside, map(int, indices), range(len(indices))))
        for each in indices:
            if isinstance(each, slice) or each is Ellipsis:
                continue
            if isinstance(each, (bool, np.bool_)) or not isinstance(each, (int, np.integer)):
                raise refuse(
                    f"{self._name}: an index is an integer, not a {type(each).__name__}; write "
                    "int(…) around it"
                )
        if indices and self._array.ndim == 0 and Ellipsis not in indices:
            raise refuse(
                f"{self._name} has no dimensions, so no index: its element is {self._name}[()]"
            )
        if len(indices) > self._array.ndim + (Ellipsis in indices):
            raise refuse(
                f"{self._name} has {self._array.ndim} dimensions and was given {len(indices)} "
                "indices"
            )
        if any(isinstance(each, slice) or each is Ellipsis for each in indices):
            self._check_part(indices)
            return None
        place = tuple(self._inside(int(each), axis) for axis, each in enumerate(indices))
        return place if len(place) == self._array.ndim else None

    def _check_part(self, indices: tuple[Any, ...]) -> None:
        """Checks the bounds of integers in subscripts with slices."""
        ahead = [*indices]
        if Ellipsis in ahead:
            dots = ahead.index(Ellipsis)
            ahead[dots : dots + 1] = [slice(None)] * (self._array.ndim - len(indices) + 1)
        for axis, each in enumerate(ahead):
            if not isinstance(each, slice):
                self._inside(int(each), axis)

    def _inside(self, index: int, axis: int) -> int:
        extent = self._array.shape[axis]
        if -extent <= index < extent:
            return index if index >= 0 else index + extent
        raise refuse(
            f"{self._run.item}: index {index} is outside of {self._name}, "
            f"whose dimension {axis} has {extent} element{'s' * (extent != 1)}",
            IndexKernelError,
        )

    def _check_writable(self) -> None:
        if not self._array.flags.writeable:
            raise refuse(f"{self._name} is read-only and was written to")

    def _check_initialized(self, place: tuple[int, ...]) -> None:
        if self._written is not None and not self._written[place]:
            raise refuse(
                f"{self._run.item}: {self._name}[{', '.join(map(str, place))}] is read before it "
                "was written; "
                f"{self._space} memory begins without values"
            )

    def _track(self, place: tuple[int, ...], write: bool, atomic: bool = False) -> None:
        if self._space not in ("global", "local"):
            return
        item = self._run.item
        address = self._address
        for each, stride in zip(place, self._array.strides, strict=True):
            address += each * stride
        histories: dict[int, History]
        if self._space == "global":
            histories, epoch = self._run.touched, item.group.global_epoch
        else:
            histories, epoch = item.group.touched, item.group.local_epoch
        line = line_of_kernel()[1]
        history = histories.get(address)
        if history is None:
            history = histories[address] = History()
        read = history.reads.get(item) if write and not atomic else None
        updates = read is not None and read.line == line
        access = Access(
            item, line, self._run.epoch, epoch, item.sub_group.epoch, atomic, write, updates
        )
        other = history.conflict(access)
        if other is not None:
            raise refuse(
                f"race for {self._name}[{', '.join(map(str, place))}] in {self._space} memory: "
                f"{other} and {access}, "
                f"with no barrier between them; {other.instead(access, self._space)}"
            )
        history.add(access)
