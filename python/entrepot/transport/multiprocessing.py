"""Arrays in ``multiprocessing``: queues, pipes, pools and arguments of processes.

``concurrent.futures.ProcessPoolExecutor`` uses the same pickler.
"""

from __future__ import annotations

from functools import partial
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .. import leases, pickles
from .._core import Array
from .engine import Enabled, Engine

__all__ = ["disable", "enable", "wait_until_opened"]

#: Every release of Python reads it. ForkingPickler passes no buffers out of band.
_PROTOCOL = 4


def _install(policy: pickles._PolicyName, hold: float) -> None:
    chosen = pickles.policy_from(policy, hold)
    ForkingPickler.register(Array, partial(pickles.reduce, protocol=_PROTOCOL, policy=chosen))


def _by_context(array: Array) -> tuple[Any, ...]:
    return pickles.reduce(array, _PROTOCOL)


def _remove() -> None:
    # There is no call that removes a reducer, so this one does as without any.
    ForkingPickler.register(Array, _by_context)


_engine = Engine("multiprocessing", _install, _remove)


def enable(policy: pickles._PolicyName = "share", *, hold: float = pickles.HOLD) -> Enabled:
    """Pickle arrays in queues, pipes, pools and arguments of processes by a policy.

    It applies to ``multiprocessing`` and to ``concurrent.futures.ProcessPoolExecutor``, in every
    thread of this process, and instead of ``entrepot.pickling``. Other pickles are not affected.
    A process that sends arrays back has to enable it as well. A forked process inherits it. For a
    pool, pass ``initializer=entrepot.transport.enable, initargs=("multiprocessing",)``.

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

    Examples
    --------
    >>> import multiprocessing
    >>> from entrepot import memory, transport
    >>> with memory.use_resource(memory.shareable()):
    ...     array = ep.full(3, 5, "int32", device="host")
    >>> receiving, sending = multiprocessing.Pipe()
    >>> with transport.multiprocessing.enable():
    ...     sending.send(array)
    >>> receiving.recv().numpy()  # in another process as well
    array([5, 5, 5], dtype=int32)
    """
    return _engine.enable(policy=policy, hold=hold)


def disable() -> None:
    """Pickle arrays as other picklers do, by ``entrepot.pickling``.

    Examples
    --------
    >>> from entrepot import transport
    >>> transport.multiprocessing.disable()  # no-op if it is not enabled
    """
    _engine.disable()


def wait_until_opened(timeout: float | None = None) -> bool:
    """Wait until the memory of all pickled handles has been opened, or its time is over.

    Call it at the end of a process whose arrays may still be in a queue. The memory of handles that
    have not been opened ends with the process.

    Parameters
    ----------
    timeout : float, optional
        Seconds to wait at most. The default waits until the end of the last ``hold``.

    Returns
    -------
    bool
        False if ``timeout`` was over first.

    Examples
    --------
    >>> from entrepot import transport
    >>> transport.multiprocessing.wait_until_opened()
    True
    """
    return leases.wait_until_opened(timeout)
