"""Arrays in joblib: arguments and results of the processes of its default backend, loky."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from .. import pickles
from .._core import Array
from .engine import Enabled, Engine

__all__ = ["disable", "enable"]

#: loky passes no buffers out of band, and pickles with the highest protocol.
_PROTOCOL = 5


def _reduction() -> Any:
    return import_module("joblib.externals.loky.backend.reduction")


def _install(policy: pickles._PolicyName, hold: float) -> None:
    chosen = pickles.policy_from(policy, hold, engine="joblib", defers_errors=True)
    _reduction().register(Array, partial(pickles.reduce, protocol=_PROTOCOL, policy=chosen))


def _by_context(array: Array) -> tuple[Any, ...]:
    return pickles.reduce(array, _PROTOCOL)


def _remove() -> None:
    # There is no call that removes a reducer, so this one does as without any.
    _reduction().register(Array, _by_context)


_engine = Engine("joblib", _install, _remove)


def enable(policy: pickles._PolicyName = "share", *, hold: float = pickles.HOLD) -> Enabled:
    """Pickle arrays that joblib passes to its processes by a policy.

    For results of workers, pass ``initializer=entrepot.transport.enable, initargs=("joblib",)`` to
    ``joblib.Parallel``. If the memory is not available when an array is received, each use of that
    array raises ExchangeError. It does not affect files of ``joblib.dump``: use
    ``entrepot.pickling``.

    Parameters
    ----------
    policy : {'share', 'copy', 'refuse'}, optional
        See ``entrepot.pickling``. The default is 'share'.
    hold : float, optional
        Seconds that memory is held for its receiver. The default is 60.

    Returns
    -------
    Enabled
        A context manager that disables it.

    Raises
    ------
    ValueError
        If the policy is not known, or ``hold`` is negative.
    ModuleNotFoundError
        If joblib is not installed.

    Examples
    --------
    >>> from entrepot import transport
    >>> enabled = transport.joblib.enable()  # doctest: +SKIP
    """
    return _engine.enable(policy=policy, hold=hold)


def disable() -> None:
    """Pickle arrays as other picklers do, by ``entrepot.pickling``.

    Examples
    --------
    >>> from entrepot import transport
    >>> transport.joblib.disable()  # doctest: +SKIP
    """
    _engine.disable()
