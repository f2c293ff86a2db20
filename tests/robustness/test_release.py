"""Memory released at bad moments: while an exception unwinds, nested, during a collection."""

from __future__ import annotations

import gc
import textwrap
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import entrepot as ep
from support.processes import run

pytestmark = pytest.mark.host

HEAD = """
import ctypes, gc, sys
import entrepot as ep
from entrepot import memory
from support.tensors import Producer

DATA = (ctypes.c_float * 16)()
producers = []

def telling(function):
    "A producer whose deleter calls the function."
    producer = Producer(ctypes.addressof(DATA), DATA)
    producer._delete = lambda _: function()
    producers.append(producer)  # the deleter may be called after its last other reference
    return producer
"""


def runs(source: str, *, timeout: float = 60) -> str:
    return run(HEAD + textwrap.dedent(source), timeout=timeout)


class TestUnwinding:
    """Python's destructors keep the exception that is being raised, and may run Python code."""

    @pytest.mark.parametrize(
        ("before", "dropped"),
        [
            ("", "ep.asarray(telling(called).capsule())"),
            ("", "ep.from_dlpack(telling(called)).T"),
            ("resource = memory.log(memory.direct(), sink=called)", "ep.empty(1000, 'uint8')"),
            (
                "resource = memory.log(memory.direct(), sink=called)",
                "ep.empty(1000, 'uint8').__dlpack__()",
            ),
        ],
        ids=[
            "a capsule's deleter",
            "a producer's deleter",
            "the sink of a log",
            "the sink of a log, through a capsule",
        ],
    )
    def test_callbacks_run_while_an_exception_unwinds(self, before: str, dropped: str) -> None:
        source = f"""
            calls = []

            def called(line=None):
                calls.append(sum(range(10)))

            resource = memory.direct()
            {before}
            with memory.use_resource(resource):
                for _ in range(3):
                    try:
                        ({dropped}, 1 / 0)
                    except ZeroDivisionError as error:
                        assert str(error) == "division by zero" and error.__context__ is None
                    else:
                        raise AssertionError("the exception was lost")
            gc.collect()
            assert len(calls) >= 3 and set(calls) == {{45}}, calls
            print("well")
        """
        assert runs(source) == "well"

    def test_deleter_exception_during_unwinding_is_reported(self) -> None:
        source = """
            reported = []
            sys.unraisablehook = lambda unraisable: reported.append(unraisable.exc_type)

            def fails():
                raise KeyError("the deleter's own")

            try:
                (ep.asarray(telling(fails).capsule()), 1 / 0)
            except ZeroDivisionError:
                print(reported[0].__name__)
        """
        assert runs(source) == "KeyError"


class TestNesting:
    @pytest.mark.parametrize(
        "around",
        [
            "ep.asarray(memoryview(a))",
            "ep.asarray(a.__dlpack__(max_version=(1, 0)))",
            "ep.asarray(a.__dlpack__())",
        ],
        ids=["memoryview", "capsule", "legacy capsule"],
    )
    def test_arrays(self, around: str) -> None:
        source = f"""
            gone = []
            a = ep.asarray(telling(lambda: gone.append(True)).capsule())
            for _ in range(200_000):
                a = {around}
            assert not gone
            del a
            assert gone == [True], "all of them at once, as Python's own containers do it"
            print("well")
        """
        assert runs(source) == "well"

    @pytest.mark.sycl
    def test_usm_memory(self) -> None:
        source = """
            class Speaker:
                def __init__(self, memory):
                    self.__sycl_usm_array_interface__ = memory.__sycl_usm_array_interface__
                    self.memory = memory

            statistics = memory.statistics(memory.direct())
            with memory.use_resource(statistics):
                m = memory.MemoryUSMShared(64)
            for _ in range(50_000):
                m = memory.as_usm_memory(Speaker(m))
            assert statistics.current_count == 1
            del m
            assert statistics.current_count == 0
            print("well")
        """
        assert runs(source, timeout=120) == "well"


class Owner(bytearray):
    whole: ep.Array
    part: object


class TestCycles:
    def made(self) -> tuple[weakref.ref[Owner], ep.Array]:
        """An owner that refers to an array of itself."""
        owner = Owner(16)
        owner.whole = ep.asarray(owner)
        return weakref.ref(owner), owner.whole

    def test_cycle_through_owner_is_collected(self) -> None:
        gone = self.made()[0]
        gc.collect()
        assert gone() is None

    def test_reachable_owner_in_a_cycle_is_not_collected(self) -> None:
        owner = Owner(b"memory")
        owner.whole = ep.asarray(owner)
        owner.part = part = owner.whole[:4]
        gc.collect()
        assert bytes(memoryview(part)) == b"memo"

    @pytest.mark.parametrize(
        "share", [lambda array: array[:4], lambda array: array.__dlpack__()], ids=["view", "export"]
    )
    def test_documented_cycle_is_not_collected(self, share: Callable[[ep.Array], object]) -> None:
        gone: Callable[[], Any] = self.made()[0]
        gone().part = share(gone().whole)
        gc.collect()
        assert gone() is not None, "docs/concepts/memory.md says otherwise"
        del gone().part
        gc.collect()
        assert gone() is None


class TestDuringCollection:
    def test_array_used_while_it_is_cleared(self) -> None:
        source = """
            address, seen = [], []

            def look():
                array = ctypes.cast(address[0], ctypes.py_object).value
                told = array.shape, array.data_ptr, str(array.device), array.owner
                seen.append((*told, len(memoryview(array)), repr(array)))

            producer = telling(look)

            def leave_garbage():
                ring = [ep.asarray(producer.capsule())]
                ring.append(ring)
                address.append(id(ring[0]))

            leave_garbage()
            gc.collect()
            print(len(seen), seen[0][0])
        """
        assert runs(source) == "1 (0,)"


@pytest.mark.sycl
def test_releases_after_subinterpreter_hold_the_gil() -> None:
    """After that, PyGILState_Check() returns true on every thread."""
    source = """
        import threading, time

        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters

        from support.opencl_kernels import launch

        interpreters.destroy(interpreters.create())
        calls = []

        class Holder:
            def __init__(self, array):
                self.__sycl_usm_array_interface__ = array.__sycl_usm_array_interface__
                self.array = array

            def __del__(self):
                calls.append(threading.get_ident())

        imported = ep.asarray(Holder(ep.zeros(2, "int32", device="opencl:cpu")))
        done = launch("slow", imported)
        del imported
        assert calls == [], "the kernel still uses it"
        while not done.done:
            time.sleep(0.01)
        # Lets go of what has ended, and has no GIL meanwhile.
        ep.empty(4 << 20, "uint8", device="host")
        for _ in range(100):  # where pending calls run
            pass
        assert calls == [threading.get_ident()], calls
        print("well")
    """
    assert runs(source) == "well"
