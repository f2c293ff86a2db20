"""Pointers to functions: C calls Python, Python calls C; lifetimes, exceptions, interpreter
shutdown."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from typing import Any

import pytest

import entrepot as ep
from adapters.objects import Cai
from entrepot.ffi import Pointer
from ffi import sample
from support.processes import run


def test_c_calls_python_until_it_returns():
    assert sample.apply(lambda a, b: a - b, 5, 3) == 2


def test_c_calls_python_later():
    function = sample.binary(lambda a, b: a * 10 + b)
    sample.keep(function)
    assert sample.call_kept(4, 2) == 42
    sample.keep(None)
    assert sample.call_kept(4, 2) == -1


def test_function_of_other_type_is_refused():
    """C would call it with other arguments."""
    visitor = sample.visitor(lambda context, at, count: None)
    with pytest.raises(
        TypeError,
        match=r"keep\(\) argument '\w+': a binary was expected, not a visitor; to pass its "
        r"address anyway, write Pointer",
    ):
        sample.keep(visitor)
    sample.keep(Pointer(visitor))  # an explicit cast is accepted
    sample.keep(None)


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


def test_records_are_passed_without_copy():
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
def test_exception_is_reported_and_c_receives_zero(monkeypatch):
    reported = []
    monkeypatch.setattr("sys.unraisablehook", lambda report: reported.append(report.exc_type))
    assert sample.apply(lambda a, b: 1 / 0, 1, 2) == 0
    assert sample.apply(lambda a, b: "three", 1, 2) == 0
    assert sample.apply(lambda a: 0, 1, 2) == 0
    assert reported == [ZeroDivisionError, TypeError, TypeError]


def test_wrapper_keeps_its_callable_alive():
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


def test_callable_may_drop_its_wrapper_during_call():
    wrappers: list[Any] = []

    def end(a, b):
        wrappers.clear()
        gc.collect()
        return a + b

    wrappers.append(sample.binary(end))
    address = int(wrappers[0])
    assert address
    assert sample.apply(wrappers[0], 1, 2) == 3


def test_kept_callable_may_drop_its_wrapper():
    wrappers: list[Any] = []

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


def test_callback_of_an_address_or_a_ctypes_function():
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
    function = prototype(lambda a, b: a - b)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert sample.apply(sample.binary(address), 7, 3) == 4
    assert sample.apply(sample.binary(function), 7, 3) == 4


class Producer:
    """Speaks DLPack only."""

    def __dlpack__(self, **keywords):
        return numbers.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return numbers.__dlpack_device__()


numbers = ep.zeros(4, "float32")


class Suai(bytearray):
    """A buffer, too."""

    @property
    def __sycl_usm_array_interface__(self):
        return {}


def of_numpy():
    import numpy as np

    return np.zeros(4)


@pytest.mark.parametrize(
    "make",
    [
        Cai,
        Producer,
        lambda: Suai(4),
        lambda: numbers,
        pytest.param(of_numpy, marks=pytest.mark.numpy),
    ],
    ids=["CAI", "DLPack", "SUAI", "Array", "NumPy"],
)
def test_data_as_function_is_refused(make):
    source = make()
    words = (
        r"a (Cai|Producer|Suai|entrepot\.Array|numpy\.ndarray) stands for no function: "
        r"None, an int, a ctypes pointer, "
    )
    assert int(Pointer(source))
    with pytest.raises(TypeError, match=words):
        sample.binary(source)
    with pytest.raises(TypeError, match=rf"^keep\(\) argument 'function': {words}"):
        sample.keep(source)
    with pytest.raises(TypeError, match=words):
        sample.apply(source, 1, 2)


def test_callback_of_any_address_is_accepted():
    code = bytearray(b"\xc3")
    assert int(sample.binary(code)) == int(Pointer(code)) == int(sample.binary(Pointer(code)))
    assert (
        int(sample.binary(None)) == 0
        and int(sample.binary(ctypes.c_void_p(16))) == int(sample.binary(16)) == 16
    )
    function = sample.binary(code)
    with pytest.raises(BufferError):
        code.append(0)
    del function
    code.append(0)


def test_callback_from_python_threads():
    results = []
    threads = [
        threading.Thread(target=lambda i=i: results.append(sample.apply(lambda a, b: a + b, i, i)))
        for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [2 * i for i in range(8)]


def test_callback_from_c_threads():
    """Python has no state for these threads before a callback. During one, and only then, each
    is a Python thread."""
    callers, names = set(), set()

    def add(a, b):
        callers.add(threading.get_native_id())
        names.add(threading.current_thread().name.split("-")[0])
        return 100 * a + b

    assert sample.call_on_threads(add, 4, 25) == sum(
        100 * a + b for a in range(4) for b in range(25)
    )
    assert len(callers) == 4
    assert threading.get_native_id() not in callers
    assert names == {"Dummy"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_exception_on_a_thread_of_c_is_reported(monkeypatch):
    reported = []
    monkeypatch.setattr(
        "sys.unraisablehook",
        lambda report: reported.append((report.exc_type, threading.get_native_id())),
    )
    assert sample.call_on_threads(lambda a, b: 1 // b, 3, 2) == 3  # of b = 1 alone
    assert [raised for raised, _ in reported] == [ZeroDivisionError] * 3
    assert len({thread for _, thread in reported} - {threading.get_native_id()}) == 3


def test_thread_of_c_does_not_see_another_threads_exception():
    """An exception being handled in the thread that waits for C's threads is not visible in
    those."""
    try:
        raise KeyError("kept")
    except KeyError as raised:
        assert sample.call_on_threads(lambda a, b: sys.exc_info() == (None, None, None), 2, 2) == 4
        assert sys.exc_info()[1] is raised


@pytest.mark.parametrize("kept", ["f", "globals().setdefault('kept', f)"])
def test_callback_after_interpreter_shutdown(kept):
    """The C library calls Python's function at exit, when the interpreter is finalized."""
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


@pytest.mark.parametrize(
    "body",
    [
        "return a + b",
        "time.sleep(0.001); return 0",
        "locked.acquire(); return 0",
        "\n    while True: pass",
    ],
    ids=["that returns", "that sleeps", "that waits for good", "that never returns"],
)
def test_callback_from_c_thread_at_shutdown_blocks(body):
    """The callable stops in the middle: its thread blocks, and the process exits regardless."""
    for _ in range(3):
        assert (
            run(f"""
import sys, threading, time
from ffi import sample
locked, called = threading.Lock(), threading.Event()
locked.acquire()
def callback(a, b):
    called.set(); {body}
f = sample.binary(callback)
sample.call_until_the_end(f, 4)
called.wait()
class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.1)  # the others ask for the GIL meanwhile
sys.slow = Slow()
print('end')
""")
            == "end"
        )
