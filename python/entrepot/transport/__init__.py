"""Arrays in the libraries that move objects between processes: ``enable("multiprocessing")``.

Each library has a module, which can be used alone: ``entrepot.transport.dask``. Importing this
package or its modules imports no library. Scheduling, routing and retries stay with the libraries.
"""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from typing import Any

from .engine import Enabled, together

# Type checkers take it as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import dask as dask
    from . import joblib as joblib
    from . import mpi as mpi
    from . import multiprocessing as multiprocessing
    from . import nixl as nixl
    from . import ray as ray
    from . import ucxx as ucxx

__all__ = ["Enabled", "disable", "enable"]

_ENGINES = ("dask", "joblib", "mpi", "multiprocessing", "ray")
#: Modules without ``enable``: they expose memory for transfers.
_EXPOSING = ("nixl", "ucxx")


def enable(*engines: str) -> Enabled:
    """Enable arrays in these libraries, in this process.

    Each module has a function ``enable`` with options, for example
    ``entrepot.transport.multiprocessing.enable(policy="copy")``. Thread-safe.

    Parameters
    ----------
    *engines : {'dask', 'joblib', 'mpi', 'multiprocessing', 'ray'}
        The libraries. The options are the default ones until this call is disabled, or until
        another call of ``enable``.

    Returns
    -------
    Enabled
        The libraries. ``with`` disables this call at the end of the block: options of an earlier
        call apply again.

    Raises
    ------
    ValueError
        If a name is not known.
    ModuleNotFoundError
        If a library is not installed. The call has then enabled nothing.

    Examples
    --------
    >>> from entrepot import transport
    >>> with transport.enable("multiprocessing") as enabled:
    ...     enabled.engines
    ('multiprocessing',)
    """
    with ExitStack() as undo:
        parts = [undo.enter_context(module.enable()) for module in _modules(engines)]
        undo.pop_all()
    return together(parts)


def disable(*engines: str) -> None:
    """Disable arrays in these libraries, or in all of them.

    Libraries that are not enabled are ignored. Thread-safe.

    Parameters
    ----------
    *engines : str, optional
        The libraries, as in ``enable``.

    Raises
    ------
    ValueError
        If a name is not known.

    Examples
    --------
    >>> from entrepot import transport
    >>> enabled = transport.enable("multiprocessing")
    >>> transport.disable("multiprocessing")
    """
    for module in _modules(engines or _ENGINES):
        module.disable()


def _modules(engines: tuple[str, ...]) -> list[Any]:
    unknown = [engine for engine in engines if engine not in _ENGINES]
    if unknown:
        raise ValueError(f"the engine {unknown[0]!r} is not known: there are {', '.join(_ENGINES)}")
    return [import_module(f"{__name__}.{engine}") for engine in engines]


def __getattr__(name: str) -> Any:
    if name in (*_ENGINES, *_EXPOSING):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ENGINES, *_EXPOSING])
