"""Letting go of memory at bad moments: while an exception unwinds."""

from __future__ import annotations

import textwrap

import pytest

from robustness.processes import run

pytestmark = pytest.mark.host

HEAD = """
import ctypes, gc, sys
import entrepot as ep
from entrepot import memory
from tensors import Producer

DATA = (ctypes.c_float * 16)()
producers = []

def telling(function):
    "A producer whose deleter calls the function."
    producer = Producer(ctypes.addressof(DATA), DATA)
    producer._delete = lambda _: function()
    producers.append(producer)  # its deleter may be called when nobody else has it any more
    return producer
"""


def runs(source: str, *, timeout: float = 60) -> str:
    return run(HEAD + textwrap.dedent(source), timeout=timeout)


class TestWhileAnExceptionUnwinds:
    """What Python's own destructors promise: the exception is the same one afterwards, and Python code may run meanwhile."""

    @pytest.mark.parametrize(
        ("before", "dropped"),
        [
            ("", "ep.asarray(telling(called).capsule())"),
            ("", "ep.from_dlpack(telling(called)).T"),
            ("resource = memory.log(memory.direct(), sink=called)", "ep.empty(1000, 'uint8')"),
            ("resource = memory.log(memory.direct(), sink=called)", "ep.empty(1000, 'uint8').__dlpack__()"),
        ],
        ids=["a capsule's deleter", "a producer's deleter", "the sink of a log", "the sink of a log, through a capsule"],
    )
    def test_python_code_that_is_told(self, before: str, dropped: str) -> None:
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

    def test_a_deleter_that_raises_meanwhile_is_reported(self) -> None:
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
