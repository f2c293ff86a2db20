"""Work-items as coroutines: those of a group run in turn, each until it waits for the others.

A work-item waits by yielding a ``Meeting``. When all work-items of its group, or sub-group, have
reached the same meeting, its result is computed and all continue. Work-items that wait in different
places, or for one that has ended, would deadlock on a device. They are reported.

Groups run one after the other, each until it ends or waits at a barrier of all groups. When all
groups wait at the same one, they continue in the same order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..source import SourceLanguage
from . import arithmetic
from .errors import refusal

#: Work-items of a sub-group; the last sub-group may have fewer. Small, so that tests have several.
SUB_GROUP_SIZE = 8

LOCAL_FENCE, GLOBAL_FENCE = 1, 2


@dataclass(frozen=True)
class Meeting:
    """A barrier or group function at which a work-item waits, with its operands."""

    what: str  # "barrier", "reduce" …
    scope: str  # "sub_group", "work_group" or "device", which is all groups
    place: tuple[str, int]  # file and line
    fences: int = 0
    value: Any = None
    operation: str = ""
    index: Any = 0

    def __str__(self) -> str:
        of = {"sub_group": "sub-group ", "device": "grid "}.get(self.scope, "")
        return f"{of}{self.what} at line {self.place[1]}"


class SubGroup:
    """Consecutive work-items of a group."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.items: list[Item] = []
        self.epoch = 0  # barriers passed


class Group:
    """A work-group: its work-items, its local memory and the number of barriers passed."""

    def __init__(self, number: int, identity: tuple[int, ...]) -> None:
        self.number, self.identity = number, identity
        self.local_epoch = self.global_epoch = 0
        self.touched: dict[int, Any] = {}  # memory.History of local memory, by address
        self.arrays: dict[Any, Any] = {}  # memory.View of local memory
        self.items: list[Item] = []
        self.sub_groups: list[SubGroup] = []


class Item:
    """A work-item."""

    __slots__ = ("global_id", "group", "lane", "local_id", "sub_group", "x_first")

    def __init__(
        self,
        group: Group,
        sub_group: SubGroup,
        global_id: tuple[Any, ...],
        local_id: tuple[Any, ...],
        x_first: bool,
    ) -> None:
        self.group, self.sub_group = group, sub_group
        self.x_first = x_first  # the order of messages
        self.lane = len(sub_group.items)  # its number in the sub-group
        self.global_id, self.local_id = global_id, local_id

    def __str__(self) -> str:
        item, group = tuple(map(int, self.global_id)), self.group.identity
        if self.x_first:
            item, group = item[::-1], group[::-1]
        return f"work-item {item} of group {group}"


#: A group that runs: yields the barriers of all groups at which it waits.
_GroupRun = Generator[Meeting, None, None]


class Run:
    """One launch: its ranges, the histories of its memory and the current work-item."""

    item: Item
    epoch = 0  # barriers of all groups passed

    def __init__(
        self,
        global_range: Sequence[int],
        local_range: Sequence[int],
        language: SourceLanguage,
    ) -> None:
        self.language = language
        self.global_range, self.local_range = tuple(global_range), tuple(local_range)
        self.group_range = tuple(
            items // each for items, each in zip(global_range, local_range, strict=True)
        )
        self.touched: dict[int, Any] = {}  # memory.History of global memory, by address

    def go(self, kernel: Callable[[], Any]) -> None:
        """Runs every work-item; kernels with barriers are generators."""
        waiting: dict[_GroupRun, Meeting | None] = {}
        for number, identity in enumerate(itertools.product(*map(range, self.group_range))):
            group = self._group(number, identity)
            started = []
            for item in group.items:
                self.item = item
                coroutine = kernel()
                if isinstance(coroutine, Generator):
                    started.append((item, coroutine))
            if started:
                run = self._run_group(started)
                waiting[run] = next(run, None)
        while any(waiting.values()):
            _require_all_at_one_barrier(list(waiting.values()), self.language)
            self.epoch += 1
            waiting = {run: next(run, None) for run in waiting}

    def _group(self, number: int, identity: tuple[int, ...]) -> Group:
        group = Group(number, identity)
        for local_id in itertools.product(*map(range, self.local_range)):
            if len(group.items) % SUB_GROUP_SIZE == 0:
                group.sub_groups.append(SubGroup(len(group.sub_groups)))
            sub_group = group.sub_groups[-1]
            global_id = [
                each * size + own
                for each, size, own in zip(identity, self.local_range, local_id, strict=True)
            ]
            item = Item(
                group,
                sub_group,
                tuple(map(np.int64, global_id)),
                tuple(map(np.int64, local_id)),
                self.language.x_first,
            )
            sub_group.items.append(item)
            group.items.append(item)
        return group

    def _run_group(self, started: list[tuple[Item, Generator[Meeting, Any, None]]]) -> _GroupRun:
        """Runs a group, and yields the barriers of all groups at which it waits."""
        coroutines = dict(started)
        at: dict[Item, Meeting | None] = {}
        self._advance(coroutines, dict.fromkeys(coroutines), at)
        while any(at.values()):
            answers = _answers(at)
            if not answers:
                raise _divergence(at, self.language)
            first = at[next(iter(answers))]
            if first is not None and first.scope == "device":
                yield first
            self._advance(coroutines, answers, at)

    def _advance(
        self, coroutines: dict[Item, Any], answers: dict[Item, Any], at: dict[Item, Meeting | None]
    ) -> None:
        """Resumes work-items with their answers, until each waits again or has ended."""
        for item, answer in answers.items():
            self.item = item
            try:
                at[item] = coroutines[item].send(answer)
            except StopIteration:
                at[item] = None


def _answers(at: dict[Item, Meeting | None]) -> dict[Item, Any]:
    """Results for the work-items whose meeting is complete; empty if no meeting is complete."""
    group = next(iter(at)).group
    found: dict[Item, Any] = {}
    for sub_group in group.sub_groups:
        if _complete(sub_group.items, at, "sub_group"):
            found |= _held(sub_group.items, at)
    for scope in ("work_group", "device"):
        if not found and _complete(group.items, at, scope):
            found = _held(group.items, at)
    return found


def _complete(items: list[Item], at: dict[Item, Meeting | None], scope: str) -> bool:
    first = at[items[0]]
    if first is None or first.scope != scope:
        return False
    return all((other := at[item]) is not None and (other.what, other.scope, other.place) ==
               (first.what, first.scope, first.place) for item in items)  # fmt: skip


def _held(items: list[Item], at: dict[Item, Meeting | None]) -> dict[Item, Any]:
    meetings = [meeting for item in items if (meeting := at[item]) is not None]
    first = meetings[0]
    if first.what == "barrier":
        _pass_barrier(items[0], first)
        return dict.fromkeys(items)
    return dict(zip(items, _OPERATIONS[first.what](meetings), strict=True))


def _pass_barrier(item: Item, barrier: Meeting) -> None:
    if barrier.scope == "sub_group":
        item.sub_group.epoch += 1
        return
    item.group.local_epoch += bool(barrier.fences & LOCAL_FENCE)
    item.group.global_epoch += bool(barrier.fences & GLOBAL_FENCE)


def _require_all_at_one_barrier(meetings: list[Meeting | None], language: SourceLanguage) -> None:
    """Raises KernelError if a group has ended, or waits at another barrier of all groups."""
    first = next(meeting for meeting in meetings if meeting is not None)
    others = sum(meeting is None or meeting.place != first.place for meeting in meetings)
    if others:
        raise refusal(
            *first.place,
            f"divergent barrier: {len(meetings) - others} of {len(meetings)} groups wait at the "
            f"{first}, and the others do not come to it; all groups have to, or none",
            language=language,
        )


def _divergence(at: dict[Item, Meeting | None], language: SourceLanguage) -> Exception:
    """The error if no work-item can continue."""
    places: dict[str, list[Item]] = {}
    for item, meeting in at.items():
        places.setdefault("has ended" if meeting is None else f"waits at the {meeting}", []).append(
            item
        )
    where = "; ".join(
        f"{items[0]}{f' and {len(items) - 1} more' if len(items) > 1 else ''} {place}"
        for place, items in places.items()
    )
    waiting = next(meeting for meeting in at.values() if meeting is not None)
    return refusal(
        *waiting.place,
        f"divergent {waiting.what}: {where}; all of a group have to come to it, or none",
        language=language,
    )


_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": arithmetic.add,
    "mul": arithmetic.multiply,
    "min": arithmetic.numpys_minimum,
    "max": arithmetic.numpys_maximum,
    "and": arithmetic.bit_and,
    "or": arithmetic.bit_or,
    "xor": arithmetic.bit_xor,
}


def _identity(operation: str, like: Any) -> Any:
    """The identity element of the operation for values like this one."""
    dtype = np.asarray(like).dtype
    if operation in ("add", "or", "xor"):
        return dtype.type(0)
    if operation == "mul":
        return dtype.type(1)
    if operation == "and":
        return (
            dtype.type(True)
            if dtype.kind == "b"
            else dtype.type(-1 if dtype.kind == "i" else np.iinfo(dtype).max)
        )
    if arithmetic.kind_of(dtype) == "float":
        return dtype.type(math.inf if operation == "min" else -math.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if operation == "min" else limits.min)


def _scan(meetings: list[Meeting]) -> list[Any]:
    fold = _FOLDS[meetings[0].operation]
    return list(itertools.accumulate((meeting.value for meeting in meetings), fold))


def _reduce(meetings: list[Meeting]) -> list[Any]:
    return [_scan(meetings)[-1]] * len(meetings)


def _exclusive_scan(meetings: list[Meeting]) -> list[Any]:
    return [_identity(meetings[0].operation, meetings[0].value), *_scan(meetings)[:-1]]


def _broadcast(meetings: list[Meeting]) -> list[Any]:
    return [meetings[_inside(meetings[0], int(meetings[0].index), len(meetings))].value] * len(
        meetings
    )


def _inside(meeting: Meeting, index: int, count: int) -> int:
    if 0 <= index < count:
        return index
    raise refusal(
        *meeting.place, f"{meeting.what} of number {index}, where there are {count} work-items"
    )


def _moved(source: Callable[[int, int], int]) -> Callable[[list[Meeting]], list[Any]]:
    """A shuffle. A work-item without a source keeps its own value; on devices the result is
    undefined.
    """

    def move(meetings: list[Meeting]) -> list[Any]:
        sources = [source(lane, int(meeting.index)) for lane, meeting in enumerate(meetings)]
        return [
            meetings[each if 0 <= each < len(meetings) else lane].value
            for lane, each in enumerate(sources)
        ]

    return move


_OPERATIONS: dict[str, Callable[[list[Meeting]], list[Any]]] = {
    "reduce": _reduce,
    "inclusive_scan": _scan,
    "exclusive_scan": _exclusive_scan,
    "broadcast": _broadcast,
    "any": lambda meetings: [np.bool_(any(meeting.value for meeting in meetings))] * len(meetings),
    "all": lambda meetings: [np.bool_(all(meeting.value for meeting in meetings))] * len(meetings),
    "ballot": lambda meetings: (
        [np.uint64(sum(1 << lane for lane, meeting in enumerate(meetings) if meeting.value))]
        * len(meetings)
    ),
    "shuffle": _moved(lambda lane, index: index),
    "shuffle_xor": _moved(lambda lane, mask: lane ^ mask),
    "shuffle_up": _moved(lambda lane, delta: lane - delta),
    "shuffle_down": _moved(lambda lane, delta: lane + delta),
}
#: Names of the group operations.
GROUP_OPERATIONS = frozenset(_OPERATIONS)
