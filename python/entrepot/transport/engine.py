"""``Engine``: one library that moves arrays, which can be enabled and disabled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

# Type checkers take it as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Enabled", "Engine", "together"]


class Engine:
    """The state of one library in this process: its options, if it is enabled.

    Thread-safe: ``_lock`` guards ``_options``, and is held while the library is changed.
    """

    def __init__(self, name: str, install: Callable[..., None], remove: Callable[[], None]) -> None:
        self.name = name
        self._install = install
        self._remove = remove
        self._lock = threading.Lock()
        self._options: dict[str, Any] | None = None  # of the last call; None if not enabled

    def enable(self, **options: Any) -> Enabled:
        with self._lock:
            was_enabled = self._options is not None
            if self._options != options:
                self._install(**options)
                self._options = options
        return Enabled([] if was_enabled else [self])

    def disable(self) -> None:
        with self._lock:
            if self._options is not None:
                self._remove()
                self._options = None

    @property
    def options(self) -> dict[str, Any] | None:
        """Those of the last call of ``enable``, None if the library is not enabled."""
        return self._options


class Enabled:
    """The engines that one call of ``enable`` has enabled, without those that were before.

    In a ``with`` statement, it disables them at the end of the block.
    """

    def __init__(self, engines: Sequence[Any]) -> None:
        self._engines: tuple[Engine, ...] = tuple(engines)

    @property
    def engines(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(engine.name for engine in self._engines)

    def disable(self) -> None:
        """Disable these engines. May be called again, which is a no-op.

        Examples
        --------
        >>> from entrepot import transport
        >>> enabled = transport.enable("multiprocessing")
        >>> enabled.disable()
        """
        for engine in self._engines:
            engine.disable()

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
        return f"<entrepot.transport.Enabled {', '.join(self.engines) or 'nothing new'}>"


def together(parts: Sequence[Enabled]) -> Enabled:
    """All that the parts have enabled, as one."""
    return Enabled([engine for part in parts for engine in part._engines])
