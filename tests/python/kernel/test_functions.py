"""Functions: math, Python's own, NumPy's, device functions, and print."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import every_backend, every_dialect
from kernel.test_group_operations import dtype_of, skip_what_the_device_has_not
from support.modules import load_module

pytestmark = pytest.mark.numpy


@dppy.kernel
def of_the_unit_interval(out, x):
    i = dppy.get_global_id(0)
    v = x[i]
    out[i, 0] = math.sin(v)
    out[i, 1] = math.cos(v)
    out[i, 2] = math.tan(v)
    out[i, 3] = math.asin(v)
    out[i, 4] = math.acos(v)
    out[i, 5] = math.atan(v)
    out[i, 6] = math.sinh(v)
    out[i, 7] = math.cosh(v)
    out[i, 8] = math.tanh(v)
    out[i, 9] = math.asinh(v)
    out[i, 10] = math.atanh(v)
    out[i, 11] = math.exp(v)
    out[i, 12] = math.expm1(v)
    out[i, 13] = math.log1p(v)
    out[i, 14] = math.erf(v)
    out[i, 15] = math.erfc(v)
    out[i, 16] = math.degrees(v)
    out[i, 17] = math.radians(v)
    out[i, 18] = math.fabs(v)
    out[i, 19] = math.copysign(2.0, v)


UNIT: list[Callable[[Any], Any]] = [
    np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh,
    np.arctanh, np.exp, np.expm1,
    np.log1p, np.vectorize(math.erf), np.vectorize(math.erfc), np.degrees, np.radians, np.abs,
    lambda v: np.copysign(2.0, v),
]  # fmt: skip


@dppy.kernel
def of_what_is_positive(out, x, y):
    i = dppy.get_global_id(0)
    v = x[i]
    out[i, 0] = math.sqrt(v)
    out[i, 1] = math.log(v)
    out[i, 2] = math.log2(v)
    out[i, 3] = math.log10(v)
    out[i, 4] = math.lgamma(v)
    out[i, 5] = math.gamma(v)
    out[i, 6] = math.acosh(v + 1)
    out[i, 7] = math.pow(v, y[i])
    out[i, 8] = math.atan2(v, y[i])
    out[i, 9] = math.fmod(v, y[i])
    out[i, 10] = math.hypot(v, y[i])
    out[i, 11] = v ** y[i]
    out[i, 12] = v**0.5


POSITIVE: list[Callable[..., Any]] = [
    lambda v, _: np.sqrt(v), lambda v, _: np.log(v), lambda v, _: np.log2(v), lambda v,
    _: np.log10(v),
    lambda v, _: np.vectorize(math.lgamma)(v), lambda v, _: np.vectorize(math.gamma)(v), lambda v,
    _: np.arccosh(v + 1),
    np.power, np.arctan2, np.fmod, np.hypot, np.power, lambda v, _: np.sqrt(v),
]  # fmt: skip


@every_backend
@pytest.mark.parametrize("dtype", ["float32", "float64"])
class TestMath:
    def test_functions_on_the_unit_interval(self, backend, dtype):
        x = np.array([-0.9, -0.5, -1e-3, 0, 0.25, 0.75, 0.99], dtype)
        (out, _) = backend.run(of_the_unit_interval, 7, None, np.zeros((7, len(UNIT)), dtype), x)
        expected = np.stack([function(x.astype("f8")) for function in UNIT], axis=1)
        assert np.allclose(
            out,
            expected,
            rtol=4e-6 if dtype == "float32" else 1e-13,
            atol=1e-7 if dtype == "float32" else 1e-15,
        )

    def test_functions_of_positive_numbers(self, backend, dtype):
        x, y = (
            np.array([0.1, 0.5, 1, 2, 3.7, 10], dtype),
            np.array([2, -1, 0.3, 1.5, 3, -0.7], dtype),
        )
        (out, *_) = backend.run(
            of_what_is_positive, 6, None, np.zeros((6, len(POSITIVE)), dtype), x, y
        )
        expected = np.stack(
            [function(x.astype("f8"), y.astype("f8")) for function in POSITIVE], axis=1
        )
        assert np.allclose(
            out,
            expected,
            rtol=2e-5 if dtype == "float32" else 1e-12,
            atol=1e-6 if dtype == "float32" else 1e-14,
        )


@dppy.kernel
def rounding(out, truth, x):
    i = dppy.get_global_id(0)
    v = x[i]
    out[i, 0] = math.floor(v)
    out[i, 1] = math.ceil(v)
    out[i, 2] = math.trunc(v)
    out[i, 3] = round(v)
    out[i, 4] = abs(v)
    out[i, 5] = min(v, 1)
    out[i, 6] = max(v, -1, v * 2)
    truth[i, 0] = math.isnan(v)
    truth[i, 1] = math.isinf(v)
    truth[i, 2] = math.isfinite(v)


@every_dialect
def test_rounding_and_pythons_own_functions(backend):
    x = np.array([2.5, -2.5, 3.5, 0.49, -0.51, 7], "f8")
    out, truth, _ = backend.run(rounding, 6, None, np.zeros((6, 7), "f8"), np.zeros((6, 3), "?"), x)
    rows = [
        [math.floor(v), math.ceil(v), math.trunc(v), round(v), abs(v), min(v, 1), max(v, -1, v * 2)]
        for v in x.tolist()
    ]
    assert out.tolist() == rows
    assert truth.tolist() == [[False, False, True]] * 6


@dppy.kernel
def rounding_to_digits(out, x):
    i = dppy.get_global_id(0)
    out[i, 0] = round(x[i], 2)
    out[i, 1] = round(x[i], -1)
    out[i, 2] = round(x[i], -2)
    out[i, 3] = round(x[i], -3)
    out[i, 4] = round(x[i] > 0, -1)


@every_backend
@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "int32", "int64", "uint64"])
def test_integers_are_rounded_to_digits_before_the_point(backend, dtype):
    """Rounds midpoints to an even multiple, as Python does."""
    numbers = [0, 4, 5, 6, 14, 15, 25, 50, 51, 99, 100, 120]
    if dtype != "int8":
        numbers += [149, 150, 151, 250]
    if dtype not in ("int8", "uint8"):
        numbers += [350, 499, 500, 501, 1499, 1500, 2500, 65_499]
    if dtype[0] != "u":
        numbers += [-number for number in numbers]
    if dtype[-2:] == "64":
        numbers += [2**62 + 12_345, 2**63 - 12_345]
    x = np.array(numbers, dtype)
    (out, _) = backend.run(rounding_to_digits, x.size, None, np.zeros((x.size, 5), dtype), x)
    assert out.tolist() == [[*(round(v, places) for places in (2, -1, -2, -3)), 0] for v in numbers]


@every_backend
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_integers_that_are_rounded_beyond_their_type_wrap(backend, dtype):
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.min + 4, limits.max - 4, limits.max], dtype)
    (out, _) = backend.run(rounding_to_digits, x.size, None, np.zeros((x.size, 5), dtype), x)
    modulus = 2**limits.bits

    def wrapped(number):
        return (number - limits.min) % modulus + limits.min

    assert out.tolist() == [
        [*(wrapped(round(v, places)) for places in (2, -1, -2, -3)), 0] for v in x.tolist()
    ]


@dppy.kernel
def rounding_to_nothing(out, x):
    out[0] = round(x[0], -19)


@every_backend
@pytest.mark.parametrize("dtype", ["uint8", "int64", "uint64"])
def test_integers_are_rounded_to_powers_of_ten_that_int64_holds(backend, dtype):
    with pytest.raises(
        dppy.KernelError,
        match="takes at least -18 digits, not -19: int64 holds no greater power of ten",
    ):
        backend.run(rounding_to_nothing, 1, None, np.zeros(1, dtype), np.ones(1, dtype))


@every_backend
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_are_rounded_to_digits(backend, dtype):
    x = np.array([0.125, 0.375, -2.5, 1234.5625, 25, 35, -45, 150, 250, 1500], dtype)
    (out, _) = backend.run(rounding_to_digits, x.size, None, np.zeros((x.size, 5), dtype), x)
    expected = np.array(
        [[*(round(v, places) for places in (2, -1, -2, -3)), 0] for v in x.tolist()]
    )
    assert np.array_equal(out, expected.astype(dtype))


@every_backend
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_small_floats_are_rounded_to_digits(backend, name):
    """Numbers whose digits fit in so few bits."""
    skip_what_the_device_has_not(backend, name)
    x = np.array([0.125, 0.375, 1.25, -1.75, -2.5, 25, 35, -45, 50, 150], dtype_of(name))
    (out, _) = backend.run(rounding_to_digits, x.size, None, np.zeros((x.size, 5), x.dtype), x)
    expected = np.array(
        [[*(round(v, places) for places in (2, -1, -2, -3)), 0] for v in x.astype("f8").tolist()]
    )
    assert np.array_equal(out, expected.astype(x.dtype))


@dppy.kernel
def classify(out, x):
    i = dppy.get_global_id(0)
    out[i, 0] = math.isnan(x[i])
    out[i, 1] = math.isinf(x[i])
    out[i, 2] = x[i] == x[i]


@every_backend
def test_nan_and_infinities(backend):
    (out, _) = backend.run(
        classify, 4, None, np.zeros((4, 3), "?"), np.array([np.nan, np.inf, -np.inf, 1], "f4")
    )
    assert out.tolist() == [
        [True, False, False],
        [False, True, True],
        [False, True, True],
        [False, False, True],
    ]


@dppy.kernel
def whole(out, x, y):
    i = dppy.get_global_id(0)
    quotient, remainder = divmod(x[i], y[i])
    out[i, 0] = quotient
    out[i, 1] = remainder
    out[i, 2] = pow(x[i], 3)
    out[i, 3] = abs(x[i])
    out[i, 4] = min(x[i], y[i])
    out[i, 5] = max(x[i], y[i], 4)
    out[i, 6] = len(x)


@every_backend
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_functions_of_integers(backend, dtype):
    x, y = np.array([7, -7, 10, -9], dtype), np.array([2, 2, -3, -3], dtype)
    (out, *_) = backend.run(whole, 4, None, np.zeros((4, 7), "i8"), x, y)
    rows = [
        [*divmod(a, b), a**3, abs(a), min(a, b), max(a, b, 4), 4]
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    assert out.tolist() == rows


@dppy.kernel
def numpys(out, x):
    i = dppy.get_global_id(0)
    out[i, 0] = np.sqrt(x[i])
    out[i, 1] = np.exp(-x[i])
    out[i, 2] = np.minimum(x[i], 1.0)
    out[i, 3] = np.maximum(x[i], np.float32(1.0))
    out[i, 4] = np.floor(x[i])
    out[i, 5] = np.arctan2(x[i], 2.0)


@every_backend
def test_numpys_functions(backend):
    x = np.array([0.3, 1.5, 4, 0], "f4")
    (out, _) = backend.run(numpys, 4, None, np.zeros((4, 6), "f4"), x)
    expected = [
        np.sqrt(x),
        np.exp(-x),
        np.minimum(x, 1),
        np.maximum(x, 1),
        np.floor(x),
        np.arctan2(x, np.float32(2)),
    ]
    assert np.allclose(out, np.stack(expected, axis=1), rtol=1e-6)


@dppy.kernel
def extremes(out, x, y):
    i = dppy.get_global_id(0)
    out[i, 0] = np.maximum(x[i], y[i])
    out[i, 1] = np.minimum(x[i], y[i])
    out[i, 2] = np.clip(x[i], y[i], 2)
    out[i, 3] = np.clip(x[i], -2, y[i])
    out[i, 4] = np.maximum(1.0, math.nan)
    out[i, 5] = np.minimum(math.nan, 1)
    out[i, 6] = max(x[i], y[i])
    out[i, 7] = min(x[i], y[i])


@every_dialect
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_numpy_minimum_and_maximum_propagate_nan(backend, dtype):
    """Python's min and max return the first argument instead."""
    ends = [np.nan, 1, -1, np.inf, -np.inf]
    pairs = np.array([(x, y) for x in ends for y in ends])
    x, y = np.ascontiguousarray(pairs.T).astype(dtype)
    out, _, _ = backend.run(extremes, x.size, None, np.zeros((x.size, 8), dtype), x, y)
    none = np.full_like(x, np.nan)
    expected = [
        np.maximum(x, y),
        np.minimum(x, y),
        np.minimum(np.maximum(x, y), 2),
        np.clip(x, -2, y),
        none,
        none,
    ]
    expected += [np.where(y > x, y, x), np.where(y < x, y, x)]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1))


@dppy.kernel
def remainders(out, floats, x, y):
    i = dppy.get_global_id(0)
    out[i, 0] = np.fmod(x[i], y[i])
    out[i, 1] = np.fmod(x[i], 2)
    floats[i] = math.fmod(x[i], 2)


@every_dialect
@pytest.mark.parametrize("dtype", ["i1", "u4", "i8", "u8"])
def test_numpys_remainder_of_integers_is_one(backend, dtype):
    """Python's result is a float: for 2**63 - 1 and 2 it is 0, as that is no float64."""
    limits = np.iinfo(dtype)
    numbers = [
        0,
        1,
        2,
        7,
        100,
        limits.max,
        limits.max - 1,
        limits.min,
        *([-1, -7, limits.min + 1] if limits.min else []),
    ]
    x, y = np.ascontiguousarray(np.array([(a, b) for a in numbers for b in numbers], dtype).T)
    out, floats, _, _ = backend.run(
        remainders, x.size, None, np.zeros((x.size, 2), dtype), np.zeros(x.size), x, y
    )
    with np.errstate(divide="ignore"):
        expected = [np.fmod(x, y), np.fmod(x, np.array(2, dtype))]
    assert out.tolist() == np.stack(expected, axis=1).tolist()
    assert np.array_equal(floats, np.fmod(x.astype("f8"), 2))


@dppy.kernel
def more_functions(out, x):
    i = dppy.get_global_id(0)
    fraction, integer = math.modf(x[i])
    out[i, 0] = fraction
    out[i, 1] = integer
    out[i, 2] = math.isclose(x[i], 1.5)
    out[i, 3] = np.where(x[i] > 0, x[i], 0)
    out[i, 4] = np.clip(x[i], -1, 2)
    out[i, 5] = np.square(x[i])
    out[i, 6] = np.degrees(x[i])
    out[i, 7] = np.floor(x[i]) + math.floor(x[i])
    out[i, 8] = math.log(abs(x[i]) + 1, 2)


@every_backend
def test_numpy_functions_of_numbers(backend):
    x = np.array([1.5, -2.75, 3.25, 0])
    (out, _) = backend.run(more_functions, 4, None, np.zeros((4, 9)), x)
    fraction, integer = np.modf(x)
    expected = [
        fraction,
        integer,
        x == 1.5,
        np.where(x > 0, x, 0),
        np.clip(x, -1, 2),
        x * x,
        np.degrees(x),
        2 * np.floor(x),
    ]
    assert np.allclose(out, np.stack([*expected, np.log2(abs(x) + 1)], axis=1))


@dppy.func
def square(x):
    return x * x


@dppy.func
def length_of(x, y):
    return math.sqrt(square(x) + square(y))


@dppy.func
def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@dppy.func
def ordered(a, b):
    if a < b:
        return a, b
    return b, a


@dppy.func
def sum_of(row):
    total = 0.0
    for k in range(row.shape[0]):
        total += row[k]
    return total


@dppy.func
def scale(row, by):
    for k in range(len(row)):
        row[k] *= by


@dppy.kernel
def calls(out, x, y):
    i = dppy.get_global_id(0)
    out[i, 0] = length_of(x[i], y[i])
    out[i, 1] = clamp(x[i], y[i], y[i] + 1)
    low, high = ordered(x[i], y[i])
    out[i, 2] = low
    out[i, 3] = high
    out[i, 4] = square(i)


@every_dialect
def test_device_functions(backend):
    x, y = np.array([3, 0, 5, 2.5], "f4"), np.array([4, 1, -2, 2], "f4")
    (out, *_) = backend.run(calls, 4, None, np.zeros((4, 5), "f4"), x, y)
    expected = [
        np.hypot(x, y),
        np.clip(x, y, y + 1),
        np.minimum(x, y),
        np.maximum(x, y),
        np.arange(4) ** 2,
    ]
    assert np.allclose(out, np.stack(expected, axis=1))


@dppy.kernel
def calls_with_arrays(out, table):
    i = dppy.get_global_id(0)
    scale(table[i], 2)
    out[i] = sum_of(table[i]) + sum_of(table[:, 0])


@every_dialect
def test_device_functions_take_arrays_and_parts_of_them(backend):
    table = np.arange(12, dtype="f4").reshape(1, 12)
    out, after = backend.run(calls_with_arrays, 1, None, np.zeros(1, "f4"), table)
    assert np.array_equal(after, table * 2)
    assert out[0] == (table * 2).sum() + 0


def printed(capfd):
    """Output of kernels. C's stdout, which they print to, is flushed: it is block-buffered here."""
    ctypes.CDLL(None).fflush(None)
    return capfd.readouterr().out


@dppy.kernel
def prints(x):
    if dppy.get_global_id(0) == 1:
        print("element", 1, "is", x[1])


@every_dialect
def test_print_from_one_work_item_prints_once(backend, capfd):
    backend.run(prints, 2, None, np.array([3, 44], "i4"))
    assert printed(capfd).split() == ["element", "1", "is", "44"]


@dppy.kernel
def prints_formatted(x):
    i = dppy.get_global_id(0)
    print(f"x[{i}]={x[i]}")


@every_dialect
def test_print_of_an_f_string(backend, capfd):
    backend.run(prints_formatted, 1, None, np.array([7], "i4"))
    assert printed(capfd).strip() == "x[0]=7"


@dppy.kernel
def prints_every_type(f4, f8, u8, c16, truth):
    print("100 %d:", f4[0], f4[1], f4[2], f4[3], "é", f8[0], f8[1], f8[2], f8[3], 1.0)
    print(u8[0], c16[0], truth[0], truth[1], -7, f4[0] > 0, "%s", f8[4], f8[5])


@every_dialect
def test_print_of_every_type(backend, capfd):
    f4, f8 = np.array([1, -0.0, 0.25, -3000], "f4"), np.array([1e14, -2, 0.1, 1e-7, np.inf, np.nan])
    u8, c16, truth = np.array([2**64 - 1], "u8"), np.array([1.5 - 2j]), np.array([True, False])
    backend.run(prints_every_type, 1, None, f4, f8, u8, c16, truth)
    assert printed(capfd).split("\n")[:2] == [
        "100 %d: 1.0 -0.0 0.25 -3000.0 é 100000000000000.0 -2.0 0.1 1e-07 1.0",
        "18446744073709551615 (1.5-2j) True False -7 True %s inf nan",
    ]


@dppy.kernel
def prints_large_ones(x):
    print(x[0], x[1], x[2], x[3])


@every_dialect
def test_print_of_numbers_with_more_digits_than_are_shown(backend, capfd):
    """Devices print seven digits; a float without decimal places is still shown as a float."""
    backend.run(
        prints_large_ones, 1, None, np.array([8388607.5, -1234567.9, 999999, 123456.7], "f4")
    )
    shown = printed(capfd).split()
    assert [np.float32(each) for each in shown] == pytest.approx(
        [8388607.5, -1234567.9, 999999, 123456.7], rel=2e-7
    )
    assert all("." in each for each in shown)


@pytest.mark.parametrize(("count", "arguments"), [(16, 32), (17, 17), (32, 32)])
def test_print_respects_cudas_printf_argument_limit(count, arguments, tmp_path):
    path = tmp_path / "printing.py"
    path.write_text(
        "import entrepot.kernel as k\n@k.kernel\ndef prints(x):\n    "
        f"print({', '.join(['x[0]'] * count)})\n"
    )
    module = load_module(path, "printing")
    (line,) = re.findall(
        r"printf\((.*)\);", module.prints.source("cuda", signature="void(float32[::1])")
    )
    assert line.partition('\\n", ')[2].count(", ") + 1 == arguments


@dppy.kernel
def names_of_dialects(a):
    global_id0 = dppy.get_global_id(0)
    local_id0 = a[global_id0] + 1
    int_ = local_id0 * 2
    float = int_ + 1
    kernel = float + 1
    INT_MAX = kernel + 1
    half = INT_MAX + 1
    items = half + 1
    a[global_id0] = items


NAMES_OF_DIALECTS = (
    "rsqrt", "exp10", "sinpi", "isnormal", "convert_int", "convert_uchar_sat", "as_float4",
    "float4", "int2", "half2", "uchar16",
    "cl_mem_fence_flags", "std", "fdim", "fmax", "sincos", "mad24", "fract", "isequal",
)  # fmt: skip


@every_dialect
@pytest.mark.parametrize("name", NAMES_OF_DIALECTS)
def test_functions_may_have_names_that_dialects_use(backend, name, tmp_path):
    path = tmp_path / "named.py"
    path.write_text(
        f"import entrepot.kernel as dppy\n\n@dppy.func\ndef {name}(v):\n    return v + 1\n\n"
        f"@dppy.kernel\ndef launched(a):\n    a[dppy.get_global_id(0)] = {name}(a[0])\n"
    )
    named: dict[str, object] = {"__name__": "named"}
    exec(compile(path.read_text(), str(path), "exec"), named)
    (a,) = backend.run(named["launched"], 1, None, np.array([2.5]))
    assert a.tolist() == [3.5]


@every_dialect
def test_variables_may_have_names_that_dialects_use(backend):
    (a,) = backend.run(names_of_dialects, 4, None, np.arange(4, dtype="f8"))
    assert a.tolist() == [(v + 1) * 2 + 5 for v in range(4)]
