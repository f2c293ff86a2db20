"""Arrays in ``multiprocessing``: queues, pipes, pools and arguments of processes.

``concurrent.futures.ProcessPoolExecutor`` uses the same pickler.
"""

from __future__ import annotations

import os
from functools import partial
from multiprocessing import util
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .. import leases, pickles
from .._core import Array
from .engine import Enabled, Engine

__all__ = ["disable", "enable", "wait_until_opened"]

#: ForkingPickler uses the default protocol, which is 4 or 5, and takes no buffers out of band. An
#: argument of protocol 4 can be in pickles of both.
_PROTOCOL = 4


def _install(policy: pickles._PolicyName, hold: float) -> None:
    chosen = pickles.policy_from(policy, hold, engine="multiprocessing", defers_errors=True)
    _wait_at_exit()
    ForkingPickler.register(Array, partial(pickles.reduce, protocol=_PROTOCOL, policy=chosen))


_finalizer: util.Finalize | None = None


def _wait_at_exit() -> None:
    """Wait for receivers when the process ends.

    Queues pickle in threads, which multiprocessing joins at the end with the priority -5. Leases
    begin there, so waiting has a lower priority.
    """
    global _finalizer
    if _finalizer is None:
        _finalizer = util.Finalize(None, leases.wait_until_opened, exitpriority=-10)


def _by_context(array: Array) -> tuple[Any, ...]:
    return pickles.reduce(array, _PROTOCOL)


def _remove() -> None:
    # There is no call that removes a reducer, so this one does as without any.
    ForkingPickler.register(Array, _by_context)


_engine = Engine("multiprocessing", _install, _remove)


def _wait_at_exit_of_child(_engine: Engine) -> None:
    """In a forked child: finalizers of the parent are not called here."""
    global _finalizer
    if _finalizer is not None:
        _finalizer = None
        _wait_at_exit()


# multiprocessing also drops finalizers in its children, after the first of these calls.
os.register_at_fork(after_in_child=partial(_wait_at_exit_of_child, _engine))
util.register_after_fork(_engine, _wait_at_exit_of_child)


def enable(policy: pickles._PolicyName = "share", *, hold: float = pickles.HOLD) -> Enabled:
    """Pickle arrays in queues, pipes, pools and arguments of processes by a policy.

    It applies to ``multiprocessing`` and to ``concurrent.futures.ProcessPoolExecutor``, in every
    thread of this process, and instead of ``entrepot.pickling``. Other pickles are not affected.
    A process that sends arrays back has to enable it as well. A forked process inherits it. For a
    pool, pass ``initializer=entrepot.transport.enable, initargs=("multiprocessing",)``.

    A process that has enabled it waits at its end until its arrays have been received, for at most
    ``hold`` seconds. If the memory is not available when an array is received, each use of that
    array raises ExchangeError.

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

    A process that has enabled this module does it at its end. A queue pickles in a thread: before
    the call, ``queue.close()`` and ``queue.join_thread()`` complete its handles.

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
