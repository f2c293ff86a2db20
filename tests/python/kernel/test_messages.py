"""Refusals of launches and signatures, and files that messages name.

Refused programs are in test_refusals.py."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from support.modules import load_module

pytestmark = [pytest.mark.numpy, pytest.mark.host]


@dppy.kernel
def fills(a, value):
    a[dppy.get_global_id(0)] = value


def message_of(error: type[Exception], call, *arguments, **named) -> str:
    with ep.device_context("host"), pytest.raises(error) as raised:
        call(*arguments, **named)
    return str(raised.value)


def imported(path: Path, text: str) -> ModuleType:
    path.write_text(textwrap.dedent(text))
    return load_module(path)


# ------------------------------------------------------------------------ ranges


@pytest.mark.parametrize(
    "made",
    [lambda index: fills[index], lambda index: fills.simulate[index]],
    ids=["compiled", "simulated"],
)
@pytest.mark.parametrize("index", [4 / 2, (4 / 2, None), ((2, 4 / 2), None)], ids=str)
def test_range_of_floats_is_refused(made, index):
    assert message_of(TypeError, made, index) == (
        "launch: a range is of integers, and 2.0 is a float: divide by //, as in kernel[n // 2], "
        "or round it by int(…)"
    )


def test_ranges_as_objects_are_of_integers():
    assert "and 2.5 is a float: divide by //" in message_of(TypeError, dppy.Range, 2.5)
    assert "and '4' is a str: write an int" in message_of(TypeError, dppy.NdRange, 8, "4")
    assert dppy.Range(np.int32(3), True) == (3, 1)


def test_range_of_text_is_refused():
    assert message_of(TypeError, lambda: fills["4"]) == (
        "launch: a range is of integers, and '4' is a str: write kernel[global, local], each an "
        "int or a tuple of ints"
    )


# --------------------------------------------------------------------- arguments


def test_list_as_array_is_refused():
    assert message_of(TypeError, fills[3], [1, 2, 3], 0) == (
        "kernel 'fills': argument 0 (a) is a list, and a kernel takes arrays and numbers: make an "
        "array of it, as in "
        "numpy.array(a, 'float32')"
    )


def test_arguments_have_places():
    assert message_of(TypeError, fills[3], np.zeros(3), value=0) == (
        "kernel 'fills' was given 'value' by name, and takes its arguments by their places: write "
        "fills[…](…, value); by name a "
        "launch takes queue, depends_on and wait"
    )
    assert "unexpected keyword argument 'queu'; it takes queue, depends_on, wait" in message_of(
        TypeError, fills[3], np.zeros(3), 0, queu=None
    )


def test_argument_may_have_the_name_of_an_option():
    @dppy.kernel
    def named(a, wait):
        a[0] = wait

    a = np.zeros(1)
    named[1](a, 3, wait=True)
    assert a.tolist() == [3]


@dppy.kernel("void(float32[::1], int32, float32)")
def declared(array, count, factor):
    array[dppy.get_global_id(0)] = count * factor


@dppy.kernel(["void(float32[::1], int32, float32)", "void(float64[::1], int32, float32)"])
def declared_twice(array, count, factor):
    array[dppy.get_global_id(0)] = count * factor


@pytest.mark.parametrize(
    "error,place,given,words",
    [
        (
            TypeError,
            1,
            "x",
            r"\(count\), which the signature says is int32: a str was given for an element of "
            r"int32; pass an int",
        ),
        (TypeError, 1, None, r"\(count\), which the signature says is int32: a NoneType was given"),
        (
            TypeError,
            1,
            2.5,
            r"\(count\), which the signature says is int32: a float was given for an element of "
            r"int32",
        ),
        (TypeError, 1, [1], r"\(count\), which the signature says is int32: a list was given"),
        (
            TypeError,
            1,
            np.zeros(2),
            r"\(count\), which the signature says is int32: a numpy.ndarray was given",
        ),
        (
            OverflowError,
            1,
            2**40,
            r"\(count\), which the signature says is int32: 1099511627776 does not fit int32",
        ),
        (
            OverflowError,
            1,
            2**70,
            r"\(count\), which the signature says is int32: 1180591620717411303424 does not fit "
            r"int32",
        ),
        (
            TypeError,
            2,
            1j,
            r"\(factor\), which the signature says is float32: a complex was given for an element "
            r"of float32",
        ),
        (
            TypeError,
            0,
            np.zeros(4, "i8"),
            r"\(array\) is int64\[::1\], and the signature says float32\[::1\]",
        ),
        (
            TypeError,
            0,
            np.zeros(8, "f4")[::2],
            r"\(array\) is float32\[:\], and the signature says float32\[::1\]",
        ),
        (TypeError, 0, "x", r"\(array\): a str holds no memory that can be viewed"),
        (
            TypeError,
            0,
            [1.0],
            r"\(array\) is a list, and a kernel takes arrays and numbers: make an array of it",
        ),
    ],
)
@pytest.mark.parametrize(
    "kernel", [declared, declared_twice], ids=lambda kernel: kernel.function.__name__
)
def test_argument_outside_the_signature_is_named(kernel, error, place, given, words):
    arguments = [np.zeros(4, "f4"), 1, 1.0]
    arguments[place] = given
    name = kernel.function.__name__
    with (
        pytest.raises(error, match=rf"^kernel '{name}': argument {place} {words}"),
        ep.device_context("host"),
    ):
        kernel[4](*arguments)


weighted = dppy.vectorize(lambda value, weight: value * weight)
summed = dppy.reduce(lambda a, b: a + b)


@pytest.mark.parametrize(
    "error,call,words",
    [
        (
            TypeError,
            lambda: weighted(np.ones(3), "x"),
            r"<lambda>\(\): argument 1 \(weight\): a str holds no memory",
        ),
        (
            TypeError,
            lambda: weighted([1, 2], np.ones(3)),
            r"<lambda>\(\): argument 0 \(value\): a list holds no memory",
        ),
        (
            OverflowError,
            lambda: weighted(np.ones(3, "i1"), 300),
            r"<lambda>\(\): argument 1 \(weight\): 300 does not fit int8",
        ),
        (
            ep.ExchangeError,
            lambda: weighted(np.ones(3), np.array([None])),
            r"<lambda>\(\): argument 1 \(weight\): NumPy: typestr",
        ),
        (
            TypeError,
            lambda: weighted(np.ones(3), np.ones(3), out="x"),
            r"<lambda>\(\): out: a str holds no memory",
        ),
        (
            ep.KernelError,
            lambda: weighted(np.ones(3), ep.zeros(3, "float8_e4m3fn", device="host")),
            "argument `weight` is float8",
        ),
        (
            TypeError,
            lambda: summed("x"),
            r"<lambda>\(\): argument 0 \(array\): a str holds no memory",
        ),
        (
            ep.KernelError,
            lambda: summed(ep.zeros(3, "float8_e4m3fn", device="host")),
            "argument `array` is float8",
        ),
    ],
)
def test_element_wise_and_reduction_errors_name_the_argument(error, call, words):
    assert re.search(words, message_of(error, call))


def test_vectorized_parameters_may_have_option_names():
    added = dppy.vectorize(
        lambda out, i0, function, get_global_id: out + i0 + function + get_global_id
    )
    ones = np.ones(3)
    assert added(ones, ones, 2, ones).tolist() == [5, 5, 5]


SIGNATURE = "void(float32[::1], int32)"


@pytest.mark.parametrize(
    "call,words",
    [
        (
            lambda: dppy.kernel(3),  # type: ignore[call-overload]
            r"kernel\(\) takes a Python function, a signature such as .*, or a list of those, not "
            r"3",
        ),
        (lambda: dppy.func(3), r"func\(\) takes a Python function, a signature .* not 3"),  # type: ignore[call-overload]
        (
            lambda: dppy.vectorize(np.sin),
            r"vectorize\(\) takes a Python function, a signature .* not <ufunc 'sin'>",
        ),
        (
            lambda: dppy.vectorize(["float64(float64)"])(3),
            r"vectorize\(\) takes a Python function of numbers, not 3",
        ),
        (lambda: fills.source(3), r"dialect: one of 'opencl-c', .* was expected, not 3"),  # type: ignore[arg-type]
        (lambda: fills.options(dialect=3), r"dialect: one of 'opencl-c', .* was expected, not 3"),  # type: ignore[arg-type]
        (
            lambda: fills.source(signature=SIGNATURE, dimensions="x"),  # type: ignore[arg-type]
            "dimensions: an int from 1 to 3 was expected, not 'x'",
        ),
        (
            lambda: ep.zeros("ab", "int8"),  # type: ignore[arg-type]
            "an int or a sequence of ints was expected, as a shape is, not 'ab'",
        ),
        (
            lambda: ep.zeros(2.5, "int8"),  # type: ignore[arg-type]
            "an int or a sequence of ints was expected, as a shape is, not 2.5",
        ),
        (
            lambda: ep.empty((1, None), "int8"),  # type: ignore[arg-type]
            r"an int or a sequence of ints was expected, as a shape is, not \(1, None\)",
        ),
        (
            lambda: dppy.LocalAccessor("ab", "int8"),
            "an int or a sequence of ints was expected, as a shape is, not 'ab'",
        ),
        (
            lambda: ep.zeros(4, "int8").reshape("ab"),  # type: ignore[arg-type]
            "an int or a sequence of ints was expected, as a shape is, not 'ab'",
        ),
    ],
)
def test_wrong_type_error_names_expected_and_found(call, words):
    assert re.search(words, message_of(TypeError, call))


def test_local_memory_error_suggests_local_accessor():
    message = message_of(TypeError, fills[3], ep.LocalMemory(16), 0)
    assert (
        "argument 0 (a) is an entrepot.LocalMemory, which does not know its elements' type: give"
        in message
    )
    assert "entrepot.kernel.LocalAccessor(shape, dtype)" in message


def test_local_memory_by_other_names():
    assert message_of(ep.KernelError, dppy.local.array, 4, dppy.float32).endswith(
        "and launch that; local memory as an argument of a launch is LocalAccessor(shape, dtype)"
    )
    assert message_of(AttributeError, lambda: dppy.LocalMemory) == (
        "module 'entrepot.kernel' has no attribute 'LocalMemory': local memory of a size that is "
        "given at the launch is "
        "LocalAccessor(shape, dtype)"
    )


# -------------------------------------------------------------------- signatures


@pytest.mark.parametrize("use", ["kernel", "source", "export"])
def test_signature_with_result_is_refused(use, tmp_path):
    signature = "float32(float64[::1], float64)"
    uses = {
        "kernel": lambda: dppy.kernel(signature)(fills.function),
        "source": lambda: fills.source(signature=signature),
        "export": lambda: fills.export(tmp_path / "fills.hpp", signature=signature),
    }
    assert message_of(ValueError, uses[use]) == (
        "signature 'float32(float64[::1], float64)': a kernel returns nothing, and this says "
        "float32: write void, and give an "
        "array to write to"
    )


@dppy.kernel
def in_two_dimensions(a):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    a[i, j] += 10 * i + j


@dppy.func
def third(dimension):
    return dppy.get_global_id(dimension)


@dppy.kernel
def in_three_dimensions(a):
    a[third(2)] = dppy.get_local_size(1)


@dppy.kernel
def by_an_item(item: dppy.Item, a):
    a[item.get_linear_id()] = 1


@pytest.mark.parametrize(
    "kernel,signature,dimensions",
    [
        (fills, "void(int64[::1], int64)", 1),
        (in_two_dimensions, "void(int64[:, ::1])", 2),
        (in_three_dimensions, "void(int64[::1])", 3),
        (by_an_item, "void(int64[::1])", 1),
    ],
    ids=lambda value: value.function.__name__ if hasattr(value, "function") else None,
)
def test_signature_infers_the_dimensions_that_the_kernel_uses(kernel, signature, dimensions):
    with ep.device_context("host"):
        inferred = kernel.source(signature=signature)
        assert inferred == kernel.source(signature=signature, dimensions=dimensions)
        for other in range(1, 4):
            if other > dimensions:
                assert inferred != kernel.source(signature=signature, dimensions=other)
            elif other < dimensions:
                assert f"{other} is too few for it" in message_of(
                    ValueError, kernel.source, signature=signature, dimensions=other
                )


def test_too_few_dimensions_are_refused():
    assert message_of(
        ValueError, in_two_dimensions.source, signature="void(int64[:, ::1])", dimensions=1
    ) == (
        "dimensions: kernel 'in_two_dimensions' asks about dimension 1, as get_global_id(1) does, "
        "and 1 is too few for it: leave "
        "dimensions out, or give 2 or 3"
    )


def test_kernel_compiled_by_signature_is_launched():
    """The first launch does not compile again, in two dimensions."""
    with ep.device_context("host"):
        made = dppy.kernel("void(int64[:, ::1])")(in_two_dimensions.function)
        a = ep.zeros((2, 3), "int64", device="host")
        made[(2, 3), None](a).wait()
    assert made.specializations == 1
    assert a.numpy().tolist() == [[0, 1, 2], [10, 11, 12]]


def test_source_has_the_dimensions_of_last_launch():
    """The launched variant is shown, even if it had fewer dimensions than the kernel asks about."""
    made = dppy.kernel(in_two_dimensions.function)
    a = ep.zeros((3, 1), "int64", device="host")
    made[3](a).wait()
    assert a.numpy().tolist() == [[0], [10], [20]]
    assert made.source() != made.source(dimensions=2)
    assert "1 is too few" in message_of(ValueError, made.source, dimensions=1)


# ------------------------------------------------------------------------- files

SAME = """
    import entrepot.kernel as dppy

    @dppy.func
    def first_of(values):
        return values[0, 0]

    @dppy.kernel
    def program(a):
        a[0] = first_of(a)
"""


def test_error_names_the_file_among_equal_files(tmp_path):
    """The functions' code is equal by Python's comparison, and messages name each function's own
    file."""
    modules = [imported(tmp_path / f"{name}.py", SAME) for name in ("one", "two", "three")]
    assert modules[0].program.function.__code__ == modules[1].program.function.__code__
    for name, module in zip(("one", "two", "three"), modules, strict=True):
        message = message_of(ep.KernelError, module.program[1], np.zeros(1))
        assert f"{tmp_path / name}.py:6: there are 2 indices" in message
        assert f"{tmp_path / name}.py:10: called here" in message
    modules[0].program.function.__globals__["first_of"] = modules[1].first_of
    message = message_of(ep.KernelError, modules[0].program[1], np.zeros(1))
    assert f"{tmp_path / 'two'}.py:6: there are 2 indices" in message
    assert f"{tmp_path / 'one'}.py:10: called here" in message


# ------------------------------------------------------------------ Python's words

STATEMENTS = {
    "class C: pass": "`class` statement",
    "v = b'bytes'": "bytes",
    "del a": "`del` statement",
    "v = {1: 2}": "dictionaries",
    "v = {k: k for k in range(3)}": "dictionary comprehensions",
    "v = max(k for k in range(3))": "generator expressions",
    "global v; v = 1": "`global` statement",
    "import math": "`import` statement",
    "from math import pi": "`import` statement",
    "v = lambda: 1": "`lambda`",
    "v = [k for k in range(3)]": "list comprehensions",
    "match a[0]:\n        case 1: pass": "`match` statement",
    "a[0] = (v := 2)": "`:=`",
    "raise ValueError": "`raise` statement",
    "v = {1, 2}": "sets",
    "v = {k for k in range(3)}": "set comprehensions",
    "try: pass\n    finally: pass": "`try` statement",
    "with a: pass": "`with` statement",
    "yield 1": "`yield`",
    "yield from a": "`yield from`",
    "def f(): pass": "`def` inside of it",
    "async def f(): pass": "`async def` inside of it",
}
if sys.version_info >= (3, 11):
    STATEMENTS["try: pass\n    except* ValueError: pass"] = "`try` statement"
if sys.version_info >= (3, 12):
    STATEMENTS["type V = int"] = "`type` statement"
if sys.version_info >= (3, 14):
    STATEMENTS["v = t'{a[0]}'"] = "t-strings"


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda text: text.split("\n")[0])
def test_statements_are_called_as_in_python(statement, tmp_path):
    text = f"import entrepot.kernel as dppy\n\n@dppy.kernel\ndef program(a):\n    {statement}\n"
    module = imported(tmp_path / "program.py", text)
    message = message_of(ep.KernelError, module.program[1], np.zeros(1))
    assert f"program.py:5: a kernel has no {STATEMENTS[statement]}; " in message


def test_captured_variable_is_not_writable():
    def made():
        v = 1

        @dppy.kernel
        def program(a):
            nonlocal v
            v = 2

        return program

    assert (
        "a kernel has no `nonlocal` statement; what a kernel captures is constant; pass an array"
        in message_of(ep.KernelError, made()[1], np.zeros(1))
    )
