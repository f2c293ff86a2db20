"""``Engine``: one library that moves arrays, which can be enabled and disabled."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

# Type checkers take it as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Enabled", "Engine", "together"]


class _Call:
    """One call of ``enable``, in the engine's stack until it is disabled."""

    def __init__(self, engine: Engine, options: dict[str, Any]) -> None:
        self.engine = engine
        self.options = options


class Engine:
    """The state of one library in this process: the calls of ``enable`` that are in effect.

    The options are those of the last one. Thread-safe: ``_lock`` guards ``_calls``, and is held
    while the library is changed.
    """

    def __init__(self, name: str, install: Callable[..., None], remove: Callable[[], None]) -> None:
        self.name = name
        self._install = install
        self._remove = remove
        self._lock = threading.Lock()
        self._calls: list[_Call] = []
        _engines.add(self)

    def enable(self, **options: Any) -> Enabled:
        with self._lock:
            if self.options != options:
                self._install(**options)
            call = _Call(self, options)
            self._calls.append(call)
        return Enabled([call])

    def disable(self) -> None:
        """End all calls of ``enable``."""
        with self._lock:
            if self._calls:
                self._remove()
                self._calls.clear()

    def end(self, call: _Call) -> None:
        """End one call. The options of the last one that is left come into effect."""
        with self._lock:
            if call not in self._calls:
                return
            left = [each for each in self._calls if each is not call]
            if not left:
                self._remove()
            elif left[-1].options != self.options:
                self._install(**left[-1].options)
            self._calls = left

    def reset_lock(self) -> None:
        """In a forked child: another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    @property
    def options(self) -> dict[str, Any] | None:
        """Those of the last call of ``enable`` that is in effect, None if there is no call."""
        calls = self._calls
        return calls[-1].options if calls else None


_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


def _reset_after_fork() -> None:
    for engine in _engines:
        engine.reset_lock()


os.register_at_fork(after_in_child=_reset_after_fork)


class Enabled:
    """The engines that one call of ``enable`` has enabled.

    In a ``with`` statement, the call ends with the block.
    """

    def __init__(self, calls: Sequence[Any]) -> None:
        self._calls: tuple[_Call, ...] = tuple(calls)

    @property
    def engines(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(call.engine.name for call in self._calls)

    def disable(self) -> None:
        """End the call. May be called again, which is a no-op.

        Options of other calls that are in effect apply again. Without any, the engines are
        disabled.

        Examples
        --------
        >>> from entrepot import transport
        >>> enabled = transport.enable("multiprocessing")
        >>> enabled.disable()
        """
        for call in self._calls:
            call.engine.end(call)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.disable()

    def __reduce__(self) -> tuple[type[Enabled], tuple[list[Engine]]]:
        return Enabled, ([],)  # in another process, it has enabled nothing

    def __repr__(self) -> str:
        return f"<entrepot.transport.Enabled {', '.join(self.engines) or 'nothing'}>"


def together(parts: Sequence[Enabled]) -> Enabled:
    """All that the parts have enabled, as one."""
    return Enabled([call for part in parts for call in part._calls])
