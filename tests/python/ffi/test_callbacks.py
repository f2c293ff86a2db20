"""Pointers to functions: C calls Python, Python calls C; lifetimes, exceptions, the interpreter's end."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref

import pytest

from ffi import sample
from robustness.processes import run


def test_c_calls_python_until_it_returns():
    assert sample.apply(lambda a, b: a - b, 5, 3) == 2


def test_c_calls_python_later():
    function = sample.binary(lambda a, b: a * 10 + b)
    sample.keep(function)
    assert sample.call_kept(4, 2) == 42
    sample.keep(None)
    assert sample.call_kept(4, 2) == -1


def test_python_calls_c():
    multiply = sample.multiplier()
    assert multiply(6, 7) == 42
    with pytest.raises(TypeError, match=r"binary\(\) takes 2 arguments"):
        multiply(1)
    with pytest.raises(OverflowError, match=r"binary\(\) argument 'a'"):
        multiply(2**31, 1)
    with pytest.raises(ValueError, match="NULL"):
        sample.binary(None)(1, 2)


def test_python_calls_python_through_c():
    assert sample.binary(lambda a, b: a + b)(1, 2) == 3


def test_records_are_seen_as_they_are():
    seen = []
    points = sample.point.allocate(3)

    def visit(context, at, count):
        seen.append((at.x, count))
        at.x += 10

    for i in range(3):
        points.element(i).x = i
    sample.visit(visit, None, points, 3)
    assert seen == [(0, 3), (1, 3), (2, 3)]
    assert [points.element(i).x for i in range(3)] == [10, 11, 12]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_is_reported_and_c_gets_zero(monkeypatch):
    reported = []
    monkeypatch.setattr("sys.unraisablehook", lambda report: reported.append(report.exc_type))
    assert sample.apply(lambda a, b: 1 / 0, 1, 2) == 0
    assert sample.apply(lambda a, b: "three", 1, 2) == 0
    assert sample.apply(lambda a: 0, 1, 2) == 0
    assert reported == [ZeroDivisionError, TypeError, TypeError]


def test_the_callable_lives_as_long_as_its_wrapper():
    class Callable:
        def __call__(self, a, b):
            return a

    callable_ = Callable()
    gone = weakref.ref(callable_)
    function = sample.binary(callable_)
    del callable_
    gc.collect()
    assert gone() is not None
    assert function(1, 2) == 1
    del function
    gc.collect()
    assert gone() is None


def test_a_callable_that_drops_its_own_wrapper():
    wrappers = []

    def end(a, b):
        wrappers.clear()
        gc.collect()
        return a + b

    wrappers.append(sample.binary(end))
    address = int(wrappers[0])
    assert address
    assert sample.apply(wrappers[0], 1, 2) == 3


def test_a_callable_that_drops_the_only_wrapper():
    wrappers = []

    def end(a, b):
        wrappers.clear()
        gc.collect()
        return a + b

    wrappers.append(sample.binary(end))
    sample.keep(wrappers[0])
    try:
        assert sample.call_kept(1, 2) == 3
    finally:
        sample.keep(None)


def test_results_keep_their_signs():
    assert sample.apply(lambda a, b: a - b, 3, 5) == -2


def test_of_an_address_and_of_ctypes():
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
    function = prototype(lambda a, b: a - b)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert sample.apply(sample.binary(address), 7, 3) == 4
    assert sample.apply(sample.binary(function), 7, 3) == 4


def test_from_a_thread_of_cs_own():
    results = []
    threads = [threading.Thread(target=lambda i=i: results.append(sample.apply(lambda a, b: a + b, i, i))) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [2 * i for i in range(8)]


@pytest.mark.parametrize("kept", ["f", "globals().setdefault('kept', f)"])
def test_c_calls_after_the_interpreters_end(kept):
    """The C library calls at exit what Python gave it; there is nobody left to answer."""
    assert (
        run(f"""
        from ffi import sample
        f = sample.binary(lambda a, b: print('too late') or 0)
        sample.keep({kept})
        sample.call_at_exit()
        print('end')
    """)
        == "end"
    )
