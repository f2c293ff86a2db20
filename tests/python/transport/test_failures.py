"""Failures of one process among several that share memory: each role, end and kind of memory.

A maker, an opener and a scheduler share arrays, and one of them ends. The other two are the
survivors. Within one second they have no file, mapping, thread, socket or memory more than before.
An array that cannot be had any more is an error that says why.

The survivors serve all tests of this file: only the process that ends is started for a test.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.other_process import Other, sockets_of
from support.polling import eventually_equal

pytestmark = pytest.mark.numpy
pytest.importorskip("numpy")

#: The memory of the device is measured, so no other test uses it.
ON_CUDA = [pytest.mark.cuda, pytest.mark.alone]
every_kind = pytest.mark.parametrize(
    "kind",
    [
        pytest.param("host", marks=pytest.mark.host),
        pytest.param("cuda legacy", marks=ON_CUDA),
        pytest.param("cuda vmm", marks=ON_CUDA),
    ],
)
every_end = pytest.mark.parametrize("end", ["exit", "exception", "kill", "fork"])
ROLES = ("maker", "opener", "scheduler")

#: Above CUDA's granularity, so that each array is an allocation of its own.
BYTES = 4 << 20
#: Seconds that a lease lasts if its receiver does not report.
HOLD = 0.2

SET_UP = """
import ctypes, os, pickle, threading
device = "host" if kind == "host" else "cuda:0"
if kind != "host":
    driver = ctypes.CDLL("libcuda.so.1")
    ep.zeros(1, "uint8", device=device)
    context = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0

def checked(function, *arguments):
    assert driver.cuCtxPushCurrent_v2(context) == 0
    status = function(*arguments)
    assert driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())) == 0
    assert status == 0, status

def legacy():
    address = ctypes.c_uint64()
    checked(driver.cuMemAlloc_v2, ctypes.byref(address), ctypes.c_size_t(nbytes))
    return ep.from_address(
        address.value, nbytes, "uint8", device=device,
        deleter=lambda address: checked(driver.cuMemFree_v2, ctypes.c_uint64(address)))

def made():
    if kind == "cuda legacy":
        array = legacy()
    else:
        with memory.use_resource(memory.shareable()):
            array = ep.empty(nbytes, "uint8", device=device)
    ep.fill(array, 7).wait()
    return array

def pickled(array):
    # The driver's older handles name memory that the maker holds by itself.
    return pickle.dumps(array.share()) if kind == "cuda legacy" else ep.dumps(
        array, "share", hold=hold)

def opened(data):
    found = pickle.loads(data)
    return found.open() if isinstance(found, ep.ArrayHandle) else found

def values(array):
    return set(array.copy_to_host().numpy().tolist())

def free_memory():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    checked(driver.cuMemGetInfo_v2, ctypes.byref(free), ctypes.byref(total))
    return free.value

def usage():
    gc.collect()
    memory.trim()
    files = []
    for number in os.listdir("/proc/self/fd"):
        try:
            files.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # of the list itself
            pass
    with open("/proc/self/maps") as maps:
        mapped = sum("memfd:entrepot" in line for line in maps)
    threads = []
    for number in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{number}/comm") as name:
                threads.append(name.read().strip())
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            pass
    return sorted(files), mapped, sorted(threads), [each.name for each in threading.enumerate()]
_ = None
"""

ENDS: dict[str, str] = {
    # The thread is not the main one, so that no answer catches the exception.
    "exception": """
        threading.excepthook = lambda arguments: os._exit(1)
        def fail(): raise RuntimeError("on purpose")
        thread = threading.Thread(target=fail); thread.start(); thread.join()
        """,
    "fork": """
        child = os.fork()
        if child == 0:
            threading.Event().wait()
        _ = child
        """,
}

Usage = tuple[list[str], int, list[str], list[str]]


class Survivors:
    """Processes that outlive the one that ends, and what they use between the tests."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.processes = {role: started(kind) for role in ROLES}
        # The first exchange starts a thread and a socket in the maker. The first refusal and the
        # first lease load what they need.
        maker, opener, scheduler = (self.processes[role] for role in ROLES)
        for _ in range(2):
            data = maker.run("array = made(); _ = pickled(array)")
            data = scheduler.run("_ = data", data=data)
            assert opener.run("array = opened(data); _ = values(array)", data=data) == {7}
            for process in (opener, maker):
                process.run("del array; _ = None")
        self.before: dict[str, Usage] = {}
        assert eventually_equal(self._is_stable, True)
        self.free = 0

    def _is_stable(self) -> bool:
        before, self.before = self.before, {role: self.usage(role) for role in ROLES}
        return before == self.before and not any("lease" in str(each) for each in before.values())

    def usage(self, role: str) -> Usage:
        found: Usage = self.processes[role].run("_ = usage()")
        return found

    def free_memory(self) -> int:
        """Free memory of the device. 0 for the host, whose mappings are counted instead."""
        if self.kind == "host":
            return 0
        found: int = self.processes["maker"].run("_ = free_memory()")
        return found

    def assert_nothing_is_left(self, but: str, *, measures_memory: bool) -> None:
        for role in ROLES:
            if role != but:
                assert eventually_equal(lambda: self.usage(role), self.before[role], seconds=1), (  # noqa: B023
                    role,
                    self.usage(role),
                    self.before[role],
                )
        if measures_memory:
            lost = 1 << 20
            assert eventually_equal(
                lambda: self.free - self.free_memory() < lost, True, seconds=1
            ), f"{self.free - self.free_memory()} bytes of the device are left"


def started(kind: str) -> Other:
    process = Other()
    process.run(SET_UP, kind=kind, nbytes=BYTES, hold=HOLD)
    return process


def ended(process: Other) -> None:
    with contextlib.suppress(OSError):  # it may have ended in the middle of an answer
        process.end()


@pytest.fixture(scope="module")
def all_survivors() -> Iterator[Callable[[str], Survivors]]:
    known: dict[str, Survivors] = {}

    def of_kind(kind: str) -> Survivors:
        if kind not in known:
            known[kind] = Survivors(kind)
        return known[kind]

    yield of_kind
    for survivors in known.values():
        for process in survivors.processes.values():
            ended(process)


class Victim:
    """The process that ends."""

    def __init__(self, kind: str, end: str) -> None:
        self.process, self._end = started(kind), end
        self.id = self.process.process.pid
        self._child: int | None = None

    def ends(self) -> None:
        if self._end == "exit":
            return self.process.end()
        if self._end == "exception":
            with pytest.raises(EOFError):
                self.process.run(ENDS["exception"])
            self.process.process.wait()
        elif self._end == "fork":
            self._child = self.process.run(ENDS["fork"])
        return self.process.kill()

    def clean_up(self) -> None:
        if self._child is not None:
            os.kill(self._child, signal.SIGKILL)
        ended(self.process)


@pytest.fixture
def survivors(kind: str, all_survivors: Callable[[str], Survivors]) -> Survivors:
    found = all_survivors(kind)
    found.free = found.free_memory()
    return found


@pytest.fixture
def victim(kind: str, end: str, survivors: Survivors) -> Iterator[Victim]:
    process = Victim(kind, end)  # after the memory without it was measured
    yield process
    process.clean_up()


def names_in_shm() -> list[str]:
    return [name for name in os.listdir("/dev/shm") if "entrepot" in name]


def refusal_of(opener: Other, data: Any) -> str:
    with pytest.raises(RuntimeError, match="ExchangeError") as refused:
        opener.run("_ = values(opened(data))", data=data)
    return str(refused.value)


@every_kind
@every_end
class TestFailures:
    def test_maker_ends(self, kind: str, end: str, victim: Victim, survivors: Survivors) -> None:
        opener, scheduler = (survivors.processes[role] for role in ("opener", "scheduler"))
        data = victim.process.run("array = made(); _ = pickled(array)")
        late = victim.process.run("second = made(); _ = pickled(second)")
        late = scheduler.run("late = data; _ = late", data=late)
        assert opener.run("array = opened(data); _ = values(array)", data=data) == {7}
        victim.ends()
        # A child of the maker holds the driver's files, so the driver may know the memory.
        if (kind, end) != ("cuda legacy", "fork"):
            refused = refusal_of(opener, late)
            assert "has ended" in refused
            assert kind == "cuda legacy" or f"process {victim.id}" in refused
        # Memory of the driver's older handles ends with the maker.
        if kind != "cuda legacy":
            assert opener.run("_ = values(array)") == {7}
        opener.run("del array; _ = None")
        scheduler.run("del late; _ = None")
        self.assert_nothing_is_left(kind, end, victim, survivors, "maker")

    def test_opener_ends(self, kind: str, end: str, victim: Victim, survivors: Survivors) -> None:
        maker = survivors.processes["maker"]
        data = maker.run("array = made(); _ = pickled(array)")
        assert victim.process.run("array = opened(data); _ = values(array)", data=data) == {7}
        maker.run("lost = made(); _ = pickled(lost)")
        victim.ends()
        assert maker.run("_ = values(array) | values(lost)") == {7}
        maker.run("del array, lost; _ = None")
        self.assert_nothing_is_left(kind, end, victim, survivors, "opener")

    def test_scheduler_ends(
        self, kind: str, end: str, victim: Victim, survivors: Survivors
    ) -> None:
        maker, opener = (survivors.processes[role] for role in ("maker", "opener"))
        data = victim.process.run("_ = data", data=maker.run("array = made(); _ = pickled(array)"))
        lost = maker.run("lost = made(); _ = pickled(lost)")
        victim.process.run("lost = data; _ = None", data=lost)
        victim.ends()
        assert opener.run("array = opened(data); _ = values(array)", data=data) == {7}
        opener.run("del array; memory.trim(); _ = None")
        maker.run("del array, lost; _ = None")
        self.assert_nothing_is_left(kind, end, victim, survivors, "scheduler")
        assert "has released" in refusal_of(opener, lost)
        self.assert_nothing_is_left(kind, end, victim, survivors, "scheduler")

    @staticmethod
    def assert_nothing_is_left(
        kind: str, end: str, victim: Victim, survivors: Survivors, role: str
    ) -> None:
        # A forked child of a process that used CUDA holds the driver's files as long as it lives.
        survivors.assert_nothing_is_left(role, measures_memory=kind != "host" and end != "fork")
        assert eventually_equal(lambda: sockets_of(victim.id), [], seconds=1)
        assert names_in_shm() == []


@pytest.mark.host
class TestChecks:
    """The checks above can fail."""

    def test_usage_reports_what_is_left(self, all_survivors: Callable[[str], Survivors]) -> None:
        survivors = all_survivors("host")
        maker, opener = (survivors.processes[role] for role in ("maker", "opener"))
        data = maker.run("hold = 60; array = made(); _ = pickled(array)")
        files, mapped, threads, names = survivors.usage("maker")
        before = survivors.before["maker"]
        assert (mapped, len(threads)) == (before[1] + 1, len(before[2]) + 1)
        assert [*before[3], "entrepot-leases"] == names
        assert len(files) > len(before[0])
        assert sockets_of(maker.process.pid)
        opener.run("array = opened(data); _ = None", data=data)
        assert survivors.usage("opener")[1] == survivors.before["opener"][1] + 1
        opener.run("del array; _ = None")
        maker.run(f"hold = {HOLD}; del array; _ = None")
        survivors.assert_nothing_is_left("scheduler", measures_memory=False)
