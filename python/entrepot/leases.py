"""Leases: memory that this process holds for a process that has not opened it yet.

A pickled handle may never be unpickled, so nothing outside this process can own the memory. A lease
owns it here. It ends when the receiver reports that it has opened the memory. It also ends after
some seconds, and with this process.

Concurrency
-----------
The receiver reports by a datagram with the lease's token, to an abstract Unix socket. Only reports
of the same user count. One daemon thread receives the datagrams and ends leases whose time is over.
It starts with the first lease, and ends half a second after the last one. Its state is in
``_LeaseTable``. The lock ``changed`` there guards all of it, and each call of the socket. The
thread waits for datagrams without holding the lock. Arrays are released without the lock, because
their owners may run any code.

The kernel queues as few as ten datagrams. A receiver that finds the queue full tries again for
about 30 ms, and then leaves the lease to its time. The function ``hold`` takes reports as well,
because the thread may have to wait for the GIL.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import struct
import threading
import time
from typing import NamedTuple

from . import _core

__all__ = ["Lease", "hold", "report", "take", "wait_until_opened"]

TOKEN_BYTES = 16
#: Seconds that the thread outlives the last lease, since starting a thread takes longer than a
#: handle.
LINGER = 0.5
#: Seconds between the attempts to report to a process whose queue is full.
PAUSES = (0.001, 0.002, 0.004, 0.008, 0.016)
#: A process that sends datagrams without end must not occupy the thread with the lock held.
REPORTS_AT_ONCE = 16
#: ``struct ucred``: process, user and group.
CREDENTIALS = struct.Struct("3i")


class Lease(NamedTuple):
    """The data by which a receiver reports. Plain data, for a pickle."""

    address: bytes
    token: bytes


class _LeaseTable:
    """The leases of this process, the socket on which receivers report, and its thread."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.held: dict[bytes, tuple[_core.Array, float]] = {}  # token: the array, and its end
        self.awaited: set[bytes] = set()  # tokens of ``held`` whose receivers report
        self.socket: socket.socket | None = None
        self.wakes_at = math.inf  # the thread looks at the leases then, on time.monotonic()

    def hold(self, array: _core.Array, seconds: float, ends_by_report: bool) -> Lease:
        token = os.urandom(TOKEN_BYTES)
        end = time.monotonic() + seconds
        with self.changed:
            if self.socket is None:
                self._start()
            assert self.socket is not None
            address: bytes = self.socket.getsockname()
            self.held[token] = (array, end)
            if ends_by_report:
                self.awaited.add(token)
            ended = self._take_reports()
            if end < self.wakes_at:
                # The thread computes again when it has to wake. It wakes anyway if the queue is
                # full.
                with contextlib.suppress(BlockingIOError):
                    self.socket.sendto(b"", address)
        del ended
        return Lease(address, token)

    def release(self, token: bytes) -> _core.Array | None:
        with self.changed:
            found = self.held.pop(token, None)
            if found:
                self.awaited.discard(token)
                self.changed.notify_all()
        return found[0] if found else None

    def wait_until_opened(self, timeout: float | None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: not self.awaited, timeout)

    def _start(self) -> None:
        receiving = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            receiving.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            receiving.bind(f"\0entrepot-leases.{os.getpid()}.{os.urandom(16).hex()}")
            # The thread waits for the lock, which the caller holds.
            threading.Thread(
                target=self._serve, args=(receiving,), name="entrepot-leases", daemon=True
            ).start()
        except BaseException:
            receiving.close()
            raise
        self.socket = receiving
        self.wakes_at = math.inf

    def _serve(self, receiving: socket.socket) -> None:
        waiting = select.poll()  # unlike select(), it takes descriptors of any number
        waiting.register(receiving, select.POLLIN)
        idle_since: float | None = None
        while True:
            with self.changed:
                assert self.socket is receiving
                ended = self._take_reports()
                now = time.monotonic()
                for token in [each for each, (_, end) in self.held.items() if end <= now]:
                    ended.append(self.release(token))
                if self.held:
                    idle_since = None
                    # This process may end leases without a report.
                    self.wakes_at = min(now + LINGER, *(end for _, end in self.held.values()))
                else:
                    idle_since = now if idle_since is None else idle_since
                    self.wakes_at = idle_since + LINGER
                    if now >= self.wakes_at:
                        self.socket = None
                        receiving.close()
                        return
                timeout = self.wakes_at - now
            ended.clear()
            # Rounded up: a timeout of 0 ms would poll until the time has come.
            waiting.poll(math.ceil(timeout * 1000))

    def _take_reports(self) -> list[_core.Array | None]:
        """End the leases of the datagrams in the queue. Returns the arrays, for the caller to
        release without the lock, which it holds here.
        """
        assert self.socket is not None
        ended = []
        for _ in range(REPORTS_AT_ONCE):
            try:
                token, details, _, _ = self.socket.recvmsg(
                    TOKEN_BYTES + 1, socket.CMSG_SPACE(CREDENTIALS.size)
                )
            except BlockingIOError:  # no other datagram is there
                break
            if _user_of(details) in (os.getuid(), os.geteuid()):
                ended.append(self.release(token))
        return ended


def _user_of(details: list[tuple[int, int, bytes]]) -> int | None:
    """The user that sent a datagram, by the kernel's word."""
    for level, kind, data in details:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            _, user, _ = CREDENTIALS.unpack(data)
            return int(user)
    return None


_table = _LeaseTable()


def _reset_after_fork() -> None:
    """In a forked child: the parent holds its leases, and its thread is not here."""
    global _table
    if _table.socket is not None:
        _table.socket.close()
    _table.held.clear()
    _table = _LeaseTable()


os.register_at_fork(after_in_child=_reset_after_fork)


def hold(array: _core.Array, seconds: float, *, ends_by_report: bool = True) -> Lease:
    """Hold the array's memory until the lease's token is reported, for at most some seconds.

    Without ``ends_by_report`` no receiver has the token, and ``wait_until_opened`` ignores the
    lease. Thread-safe.
    """
    return _table.hold(array, seconds, ends_by_report)


def take(lease: Lease) -> _core.Array | None:
    """End a lease that this process holds, and return its array. None for one of another process.

    Thread-safe.
    """
    return _table.release(lease.token)


def report(lease: Lease) -> None:
    """Tell the process that holds the lease to end it.

    A report is lost if that process has ended, or does not read its reports for some milliseconds.
    The lease then ends with its time.
    """
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sending,
        contextlib.suppress(OSError),
    ):
        for pause in (*PAUSES, None):
            try:
                sending.sendto(lease.token, lease.address)
            except BlockingIOError:
                if pause is None:
                    raise
                time.sleep(pause)
            else:
                return


def wait_until_opened(timeout: float | None = None) -> bool:
    """Wait until no lease is left: each has been opened, or its time is over.

    Returns False if ``timeout``, in seconds, is over first.
    """
    return _table.wait_until_opened(timeout)
