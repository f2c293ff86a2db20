"""Leases: memory that this process holds for a process that has not opened it yet.

A pickled handle may never be unpickled, so nothing outside this process can own the memory. A lease
owns it here. It ends when the receiver reports that it has opened the memory. It also ends after
some seconds, and with this process.

Concurrency
-----------
The receiver reports by a datagram with the lease's token, to an abstract Unix socket. One daemon
thread receives the datagrams and ends leases whose time is over. It starts with the first lease,
and ends half a second after the last one. ``_Desk`` has that state, and ``_Desk.changed`` guards
all of it. The thread waits for datagrams without holding the lock.

The kernel queues as few as ten datagrams. A receiver that finds the queue full waits, so reports
are not lost while this process runs. The function ``hold`` takes reports as well, because the
thread may have to wait for the GIL.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import threading
import time
from typing import Any, NamedTuple

from . import _core

__all__ = ["Lease", "hold", "report", "take", "wait_until_opened"]

TOKEN_BYTES = 16
#: Seconds that the thread outlives the last lease, since starting a thread takes longer than a
#: handle.
LINGER = 0.5
SECONDS_TO_REPORT = 1.0


class Lease(NamedTuple):
    """The data by which a receiver reports. Plain data, for a pickle."""

    address: bytes
    token: bytes


class _Desk:
    """The leases of this process, the socket on which receivers report, and its thread."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.held: dict[bytes, tuple[_core.Array, float]] = {}  # token: the array, and its end
        self.socket: socket.socket | None = None
        self.wakes_at = math.inf  # the thread looks at the leases then, on time.monotonic()

    def hold(self, array: _core.Array, seconds: float) -> Lease:
        token = os.urandom(TOKEN_BYTES)
        end = time.monotonic() + seconds
        with self.changed:
            if self.socket is None:
                self._start()
            receiving = self.socket
            assert receiving is not None
            address: bytes = receiving.getsockname()
            self.held[token] = (array, end)
            is_late = end < self.wakes_at
        self._take_reports(receiving)
        if is_late:
            # The thread computes again when it has to wake. It will wake anyway if the queue is
            # full, and has ended if the lease is over and the socket closed.
            with contextlib.suppress(OSError):
                receiving.sendto(b"", address)
        return Lease(address, token)

    def release(self, token: bytes) -> _core.Array | None:
        with self.changed:
            found = self.held.pop(token, None)
            if found:
                self.changed.notify_all()
        return found[0] if found else None

    def wait_until_opened(self, timeout: float | None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: not self.held, timeout)

    def _start(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(f"\0entrepot-leases.{os.getpid()}.{os.urandom(16).hex()}")
        self.wakes_at = math.inf
        threading.Thread(
            target=self._serve, args=(self.socket,), name="entrepot-leases", daemon=True
        ).start()

    def _serve(self, receiving: socket.socket) -> None:
        waiting = select.poll()  # unlike select(), it takes descriptors of any number
        waiting.register(receiving, select.POLLIN)
        idle_since: float | None = None
        while True:
            # An array is released without the lock, because its owner may run any code.
            ended: list[Any] = []
            with self.changed:
                now = time.monotonic()
                for token in [each for each, (_, end) in self.held.items() if end <= now]:
                    ended.append(self.held.pop(token))
                if ended:
                    self.changed.notify_all()
                if self.held:
                    idle_since = None
                    # This process may end leases without a report.
                    self.wakes_at = min(now + LINGER, *(end for _, end in self.held.values()))
                else:
                    idle_since = now if idle_since is None else idle_since
                    self.wakes_at = idle_since + LINGER
                    if now >= self.wakes_at:
                        assert self.socket is receiving
                        self.socket = None
                        receiving.close()
                        return
                timeout = self.wakes_at - now
            ended.clear()
            # Rounded up: a timeout of 0 ms would poll until the time has come.
            waiting.poll(math.ceil(timeout * 1000))
            self._take_reports(receiving)

    def _take_reports(self, receiving: socket.socket) -> None:
        with contextlib.suppress(OSError):  # there is no other, or the thread has closed it
            while True:
                self.release(receiving.recv(TOKEN_BYTES + 1))


_desk = _Desk()


def _renew() -> None:
    """In a forked child: the parent holds its leases, and its thread is not here."""
    global _desk
    if _desk.socket is not None:
        _desk.socket.close()
    _desk.held.clear()
    _desk = _Desk()


os.register_at_fork(after_in_child=_renew)


def hold(array: _core.Array, seconds: float) -> Lease:
    """Hold the array's memory until the lease's token is reported, for at most some seconds.

    Thread-safe.
    """
    return _desk.hold(array, seconds)


def take(lease: Lease) -> _core.Array | None:
    """End a lease that this process holds, and return its array. None for one of another process.

    Thread-safe.
    """
    return _desk.release(lease.token)


def report(lease: Lease) -> None:
    """Tell the process that holds the lease to end it.

    A report is lost if that process has ended, or does not read its reports for a second. The lease
    then ends with its time.
    """
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending,
        contextlib.suppress(OSError),
    ):
        sending.settimeout(SECONDS_TO_REPORT)
        sending.sendto(lease.token, lease.address)


def wait_until_opened(timeout: float | None = None) -> bool:
    """Wait until no lease is left: each has been opened, or its time is over.

    Returns False if ``timeout``, in seconds, is over first.
    """
    return _desk.wait_until_opened(timeout)
