"""Interpreters without a GIL: the module does not turn it on, and what threads do at one instant is
done once.

The other tests of threads run there unchanged. With a GIL, it alone makes most of these pass.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot import memory
from support.malformed import Speaker
from support.polling import eventually_equal
from support.processes import run
from support.sycl_capsules import capsule_of

THREADS = 2  # no more than processors, or they do not begin in one instant
ROUNDS = 1000

pytestmark = pytest.mark.host
NO_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
without_gil = pytest.mark.skipif(not NO_GIL, reason="this interpreter is built with a GIL")


def at_once(*works: Callable[[], Any]) -> list[list[Any]]:
    """For each of the works, the result or the exception of each thread; all threads begin it at
    one instant."""
    arrived: list[None] = []
    results: list[list[Any]] = [[] for _ in works]

    def body() -> None:
        for number, work in enumerate(works, 1):
            arrived.append(None)
            waited = 0
            while len(arrived) < number * THREADS:
                waited += 1
                if waited > 100_000 or not NO_GIL:
                    time.sleep(0)
            try:
                results[number - 1].append(work())
            except BaseException as error:
                results[number - 1].append(error)

    threads = [threading.Thread(target=body) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [len(each) for each in results] == [THREADS] * len(works)
    return results


@without_gil
def test_module_leaves_the_gil_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHON_GIL", raising=False)  # it turns the GIL off regardless of the module
    assert run("import sys, entrepot.memory; print(sys._is_gil_enabled())") == "False"


class TestCapsules:
    """One thread gets the content, the others an error."""

    def serve_one(
        self, takes: list[Callable[[], object]], kind: type, refusal: type[Exception]
    ) -> None:
        for results in at_once(*takes):
            assert sum(isinstance(result, kind) for result in results) == 1, results
            assert (
                sum(isinstance(result, refusal) and "used" in str(result) for result in results)
                == THREADS - 1
            ), results

    def test_dlpack_capsule_is_consumed_once(self) -> None:
        array = ep.zeros(10, "int32", device="host")
        capsules = [array.__dlpack__() for _ in range(ROUNDS)]
        self.serve_one(
            [functools.partial(ep.from_dlpack, capsule) for capsule in capsules],
            ep.Array,
            ep.ExchangeError,
        )

    @pytest.mark.sycl
    def test_sycl_queue_capsule_is_consumed_once(self) -> None:
        queues = [ep.Queue("opencl:cpu") for _ in range(12)]  # more than the cache holds
        capsules = [capsule_of(queues[number % 12]) for number in range(ROUNDS)]
        self.serve_one(
            [functools.partial(ep.Queue, capsule) for capsule in capsules], ep.Queue, ValueError
        )

    @pytest.mark.sycl
    def test_suai_queue_capsule_is_consumed_once(self) -> None:
        block = memory.MemoryUSMShared(64, queue=ep.Queue("opencl:cpu"))
        attribute = "__sycl_usm_array_interface__"
        interfaces = [
            {**getattr(block, attribute), "syclobj": block.sycl_queue._get_capsule()}
            for _ in range(ROUNDS)
        ]
        speakers = [Speaker(attribute, interface, block) for interface in interfaces]
        self.serve_one(
            [functools.partial(ep.asarray, speaker) for speaker in speakers],
            ep.Array,
            ep.InterfaceError,
        )


@pytest.mark.sycl
def test_lazily_made_object_is_unique() -> None:
    blocks = [memory.MemoryUSMShared(64) for _ in range(ROUNDS)]
    for queues in at_once(*[lambda b=block: b.sycl_queue for block in blocks]):
        assert len({id(queue) for queue in queues}) == 1


def test_interface_dict_may_change_while_read() -> None:
    """Each entry is complete: the answer is that of some moment, or a refusal."""
    data = bytearray(400)
    interface: dict[str, Any] = {"version": 3, "typestr": "|u1", "data": data, "shape": [4, 5]}
    speaker = Speaker("__array_interface__", interface)
    end = threading.Event()

    def change() -> None:
        number = 0
        while not end.is_set():
            number += 1
            shape = interface["shape"] = [number % 7, 3]
            shape.extend([2] * (number % 3))
            if number % 100 == 0:  # a longer dict lies elsewhere
                interface.update({f"other {each}": None for each in range(number % 300)})
            elif number % 100 == 50:
                for each in [key for key in interface if key.startswith("other")]:
                    del interface[each]

    def read() -> None:
        for _ in range(10 * ROUNDS):
            try:
                assert ep.asarray(speaker).shape[1:] in {(5,), (3,), (3, 2), (3, 2, 2)}
            except ep.EntrepotError:
                pass

    changing = threading.Thread(target=change)
    changing.start()
    try:
        assert at_once(read) == [[None] * THREADS]
    finally:
        end.set()
        changing.join()


factor = 0  # of the kernel's surroundings


@dppy.kernel
def scale(x):
    x[dppy.get_global_id(0)] *= factor


def test_kernel_is_counted_while_recompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions of a kernel are made and dropped while its captured values change."""
    end = threading.Event()

    def recompile() -> None:
        for value in range(ROUNDS):
            monkeypatch.setitem(globals(), "factor", value)
            scale.source("c++", signature="void(int64[::1])", device="host")

    def count() -> None:
        while not end.is_set():
            assert scale.specializations == 0

    counting = threading.Thread(target=count)
    counting.start()
    try:
        assert at_once(recompile) == [[None] * THREADS]
    finally:
        end.set()
        counting.join()


def test_closure_may_change_while_kernel_is_read() -> None:
    """A name's old value stays alive while it is being read."""
    factor = 0.5
    end = threading.Event()

    @dppy.kernel
    def scale(x):
        x[dppy.get_global_id(0)] *= factor

    def change() -> None:
        nonlocal factor
        while not end.is_set():
            factor = (factor + 1) % 40

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(4 * ROUNDS):
            assert "*" in scale.source("c++", signature="void(float64[::1])", device="host")
    finally:
        end.set()
        changing.join()


@without_gil
@pytest.mark.numpy
def test_ending_thread_releases_its_cached_dtypes() -> None:
    import numpy as np

    dtype = np.dtype("float32", metadata={"of": "this test alone"})
    before = sys.getrefcount(dtype)
    assert at_once(lambda: ep.asarray(np.zeros(3, dtype)).nbytes) == [[12] * THREADS]
    assert eventually_equal(lambda: sys.getrefcount(dtype), before)


@pytest.mark.numpy
def test_caches_of_types_and_descriptors_on_all_threads() -> None:
    import numpy as np

    array = ep.zeros(3, "uint8", device="host")

    def giver(number: int) -> object:
        """Its class looks like JAX's, and so read-only, or like another one."""
        name, module = ("ArrayImpl", "jaxlib") if number % 2 else ("Array", "elsewhere")
        methods = {
            "__dlpack__": lambda self, **words: array.__dlpack__(**words),
            "__dlpack_device__": lambda self: (1, 0),
        }
        return type(name, (), {"__module__": module, **methods})()

    def looks(number: int) -> Callable[[], None]:
        """Imports objects whose types and descriptors are new, each of them twice."""
        name = ["int8", "int16", "float32", "complex64"][number % 4]
        record = np.zeros(3, np.dtype(name, metadata={"number": number}))
        buffer = type(f"Kind{number}", (bytearray,), {})(b"abc")
        given = giver(number)

        def look() -> None:
            for _ in range(2):
                assert str(ep.asarray(record).dtype) == name
            for _ in range(2):
                assert ep.asarray(given if number % 2 else buffer).nbytes == 3
            for _ in range(2):
                assert ep.from_dlpack(given).read_only == bool(number % 2)

        return look

    def work(number: int) -> Callable[[], None]:
        of_each_thread = [looks(number * THREADS + thread) for thread in range(THREADS)]
        return lambda: of_each_thread.pop()()

    assert at_once(*[work(number) for number in range(ROUNDS)]) == [[None] * THREADS] * ROUNDS
