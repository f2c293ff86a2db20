"""Interpreter shutdown: the process exits soon, successfully and silently, with any object alive
and work in flight."""

from __future__ import annotations

import time

import pytest

from support.processes import run

# also on a busy machine; a deadlocked program never ends
SECONDS = 15

BEGIN = """
import atexit, ctypes, gc, sys, threading, time
import entrepot as ep
from entrepot import memory
"""
SLOW = """
from support.opencl_kernels import launch
def start(seconds=1, kind="shared"):
    queue = ep.Queue("opencl:cpu")
    array = ep.empty(1 << 16, "int64", kind=kind, queue=queue)
    return queue, array, launch("slow", array, seconds=seconds, queue=queue)
"""


def ends(body: str) -> float:
    """Seconds that the program takes, including the runtime's start and end; it must succeed."""
    begin = time.perf_counter()
    run(BEGIN + body, timeout=60)
    return time.perf_counter() - begin


@pytest.mark.sycl
class TestWorkInFlight:
    @pytest.mark.parametrize("kind", ["host", "device", "shared"])
    def test_array_in_globals_does_not_delay_exit(self, kind: str) -> None:
        assert ends(SLOW + f"queue, array, done = start(kind={kind!r})") < SECONDS

    def test_exit_without_references(self) -> None:
        assert ends(SLOW + "start()") < SECONDS

    @pytest.mark.parametrize(
        "resource",
        ["direct()", "pool()", "statistics(memory.log(sink=lambda line: None))", "track()"],
    )
    def test_array_dropped_before_exit_does_not_delay_it(self, resource: str) -> None:
        body = (
            f"with memory.use_resource(memory.{resource}):\n"
            "    queue, array, done = start()\n    del array"
        )
        assert ends(SLOW + body) < SECONDS

    def test_pending_host_work_does_not_delay_exit(self) -> None:
        body = """
array = ep.zeros(1 << 24, "uint8", device="host")
for _ in range(50):
    ep.fill(array, 1)
"""
        assert ends(body) < SECONDS

    @pytest.mark.numpy
    def test_borrowed_memory(self) -> None:
        body = """
import numpy as np
from support.opencl_kernels import launch
queue = ep.Queue("opencl:cpu")
array = ep.asarray(np.zeros(16, "int64"))
launch("slow", array, queue=queue)
del array
"""
        assert ends(SLOW + body) < SECONDS


PLACES = pytest.mark.parametrize(
    "place",
    [
        pytest.param("device='host'", id="host"),
        *(
            pytest.param(f"device='opencl:cpu', kind={kind!r}", id=kind, marks=pytest.mark.sycl)
            for kind in ("host", "device", "shared")
        ),
    ],
)


@pytest.mark.host
class TestAlive:
    @PLACES
    def test_arrays_capsules_and_views(self, place: str) -> None:
        body = f"""
array = ep.full((100, 100), 3, "int32", {place})
kept = [array, array.T, array[::2]]
kept += [array.__dlpack__(max_version=(1, 0)), ep.from_dlpack(array.__dlpack__())]
if array.kind != "device":
    kept += [memoryview(array), array.__array_interface__, array.__array_struct__]
    kept += [memoryview(memoryview(array))]
if array.device != ep.device("host"):
    kept += [array.__sycl_usm_array_interface__, array.queue._get_capsule(), array.context]
    kept += [memory.as_usm_memory(array)]
kept.append(kept)  # a cycle, which only the end breaks
sys.kept = kept
"""
        assert ends(body) < SECONDS

    @PLACES
    def test_late_finalisers_release_memory(self, place: str) -> None:
        body = f"""
class Late:
    def __init__(self):
        self.array = ep.zeros(100, "int32", {place})
    def __del__(self):
        del self.array
late = Late()
late.me = late
sys.late = Late()
atexit.register(lambda held=Late(): ep.zeros(3, "int32", {place}))
"""
        assert ends(body) < SECONDS

    @PLACES
    def test_memory_of_daemon_threads_does_not_delay_exit(self, place: str) -> None:
        body = f"""
started = threading.Barrier(5)
def hold():
    mine = [ep.zeros(1000, "int32", {place}) for _ in range(10)]
    started.wait()
    while True:
        mine[0] = ep.zeros(1000, "int32", {place})
        ep.fill(mine[0], 5)
for _ in range(4):
    threading.Thread(target=hold, daemon=True).start()
started.wait()
time.sleep(0.05)
"""
        assert ends(body) < SECONDS

    def test_exit_while_threads_run_python_callbacks(self) -> None:
        body = """
import array
class Producer(array.array):
    def __dlpack__(self, **_):
        for _ in range(100):
            pass
        raise AttributeError
def produce():
    producer = Producer("i", range(100))
    target = ep.empty(100, "int32", device="host")
    while True:
        ep.asarray(producer)
        ep.copy(target, producer)
def log():
    sink = lambda line: [None for _ in range(100)]
    with memory.use_resource(memory.log(memory.direct(), sink=sink)):
        while True:
            ep.empty(100, "int32", device="host")
for work in (produce, log) * 2:
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""
        for _ in range(3):
            assert ends(body) < SECONDS

    def test_owners_that_are_python_objects(self) -> None:
        body = """
class Owner(bytearray):
    def __del__(self):
        pass
array = ep.asarray(Owner(100))
sys.view = memoryview(array)
threading.local().array = array
"""
        assert ends(body) < SECONDS

    @PLACES
    def test_resources_and_scopes(self, place: str) -> None:
        body = f"""
memory.set_resource(ep.device("host"), memory.statistics(memory.pool(memory.limit(1 << 30))))
scope = memory.use_resource(memory.log(sink=lambda line: None))
scope.__enter__()
array = ep.zeros(100, "int32", {place})
"""
        assert ends(body) < SECONDS


@pytest.mark.host
class TestDeletersAfterShutdown:
    """Consumers in C may release at any time: during or after the interpreter's shutdown."""

    GIVEN = """
from support.capsules import rename
from support.tensors import Versioned, content
libc = ctypes.CDLL(None)
def give_away(array):
    capsule = array.__dlpack__(max_version=(1, 0))
    managed = content(capsule, Versioned)
    rename(capsule, Versioned.names[1])
    return ctypes.c_void_p(managed.deleter), ctypes.c_void_p(ctypes.addressof(managed))
"""

    @pytest.mark.parametrize(
        "array",
        [
            pytest.param("ep.asarray(bytearray(100))", id="a Python object's"),
            pytest.param("ep.zeros(100, 'int32', device='host')", id="host"),
            *(
                pytest.param(
                    f"ep.zeros(100, 'int32', device='opencl:cpu', kind={kind!r})",
                    id=kind,
                    marks=pytest.mark.sycl,
                )
                for kind in ("host", "device", "shared")
            ),
        ],
    )
    @pytest.mark.parametrize("when", ["after", "while"])
    def test_deleter_after_shutdown_is_safe(self, array: str, when: str) -> None:
        called = {
            # By exit(), after the interpreter's shutdown.
            "after": "libc.__cxa_atexit(*give_away(array), None)",
            # By threads unknown to Python, the last of them during the interpreter's shutdown.
            "while": """
given = [give_away(array) for _ in range(3000)]
for deleter, tensor in given:
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, deleter, tensor) == 0
    libc.pthread_detach(thread)
""",
        }[when]
        assert ends(self.GIVEN + f"array = {array}\n{called}\ndel array") < SECONDS
