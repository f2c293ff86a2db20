"""Runs the work-items of a work-group in Python, each until it waits for the others.

A work-item that waits needs a thread of its own, because a plain function cannot be suspended. If
the first one ends without waiting, the others run in the calling thread.

Concurrency: one thread runs at a time. A thread hands over by a semaphore, so what it has written
is visible to the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NoReturn

from ..._core import KernelError
from ..errors import HostAccessError

_current = threading.local()


class _Abandoned(BaseException):
    """Ends the thread of a work-item that others will never join."""


class _WorkItem:
    """A work-item with its thread."""

    def __init__(self, run: Callable[[], None]) -> None:
        self._run = run
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._abandoned: bool = False
        self._is_done = False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._body, daemon=True)
        self._thread.start()

    def _body(self) -> None:
        _current.item = self
        try:
            self._wait_for_turn()
            self._run()
        except _Abandoned:
            pass
        except BaseException as error:
            self.error = error
        self._is_done = True
        self._back.release()

    def _wait_for_turn(self) -> None:
        self._turn.acquire()
        if self._abandoned:
            raise _Abandoned

    def ended(self) -> bool:
        """True if the function has returned or raised."""
        return self._is_done

    def advance(self) -> None:
        """Runs the work-item until it waits or ends. Raises its error."""
        assert not self.ended()
        self._turn.release()
        self._back.acquire()
        if self.ended():
            self._thread.join()
        if self.error is not None:
            raise self.error

    def wait(self) -> None:
        """Hands over to the others; called by the work-item's own thread."""
        assert threading.current_thread() is self._thread
        self._back.release()
        self._wait_for_turn()

    def abandon(self) -> None:
        """Ends the thread."""
        if not self.ended():
            self._abandoned = True
            self._turn.release()
            self._thread.join()


def wait_for_group() -> None:
    """Waits until all work-items of the group have arrived."""
    item = getattr(_current, "item", None)
    if item is None:
        _refuse()
    item.wait()


def _refuse() -> NoReturn:
    raise HostAccessError(
        "group_barrier() was called where no work-group waits: call it in a function that "
        "call_kernel() runs over an NdRange, and let all work-items of the group reach it"
    )


def run_group(work_items: Sequence[Callable[[], None]]) -> None:
    """Runs the work-items of a group.

    Raises KernelError if some of them wait for others that have ended.
    """
    first = _WorkItem(work_items[0])
    started = [first]
    try:
        first.advance()
        if first.ended():
            for each in work_items[1:]:
                each()
            return
        started += map(_WorkItem, work_items[1:])
        for item in started[1:]:
            item.advance()
        while not all(item.ended() for item in started):
            if any(item.ended() for item in started):
                raise KernelError(
                    "some work-items of a group wait at group_barrier(), and others have ended: "
                    "let all of them reach it"
                )
            for item in started:
                item.advance()
    finally:
        for item in started:
            item.abandon()
