"""Types and operators: weak literals, the type rules of docs/kernels/types.md, and Python's
integer operators."""

from __future__ import annotations

import functools
import json
import math
import textwrap

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend, every_dialect
from support.processes import run_script

pytestmark = pytest.mark.numpy

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float32", "float64"]


@dppy.kernel
def add_literals(bytes_out, floats_out, bytes_in, floats_in):
    i = dppy.get_global_id(0)
    bytes_out[i] = bytes_in[i] + 1
    floats_out[i] = floats_in[i] * 2.1


@every_dialect
def test_literals_take_the_other_operands_type(backend):
    small = np.array([0, 1, 254, 255], "u1")
    floats = np.array([0.1, 1e-20, 3, -7], "f4")
    out = backend.run(add_literals, 4, None, np.zeros(4, "u8"), np.zeros(4, "f8"), small, floats)
    assert out[0].tolist() == [1, 2, 255, 0]  # uint8 wraps before it is stored
    assert np.array_equal(out[1], (floats * np.float32(2.1)).astype("f8"))


@dppy.kernel
def meet(out, left, right):
    i = dppy.get_global_id(0)
    out[i, 0] = left[i] + right[i]
    out[i, 1] = left[i] - right[i]
    out[i, 2] = left[i] * right[i]


@every_backend
@pytest.mark.parametrize("left,right,result", [
    ("int8", "uint8", "int16"), ("int32", "uint32", "int64"), ("int64", "uint8", "int64"),
    ("int64", "uint64", "int64"),
    ("int16", "int32", "int32"), ("uint8", "uint32", "uint32"), ("bool", "bool", "int64"),
    ("bool", "int8", "int8"),
    ("int32", "float32", "float32"), ("int64", "float32", "float32"),
    ("float32", "float64", "float64"),
    ("uint64", "float64", "float64"),
])  # fmt: skip
def test_mixed_types_promote_like_numpy(backend, left, right, result):
    values = {
        "b": [True, False, True, True],
        "i": [-100, 7, 0, 127],
        "u": [200, 3, 0, 255],
        "f": [1.25, -1e6, 0.1, 3e7],
    }
    a, b = (np.array(values[np.dtype(each).kind], each) for each in (left, right))
    (out, *_) = backend.run(
        meet, 4, None, np.zeros((4, 3), "f8" if result[0] == "f" else "i8"), a, b
    )
    x, y = a.astype(result), b.astype(result)
    with np.errstate(over="ignore"):
        expected = np.stack([x + y, x - y, x * y], axis=1).astype(out.dtype)
    assert np.array_equal(out, expected)


@dppy.kernel
def python_division(floors, remainders, quotients, left, right):
    i = dppy.get_global_id(0)
    floors[i] = left[i] // right[i]
    remainders[i] = left[i] % right[i]
    quotients[i] = left[i] / right[i]


@every_backend
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32", "float32", "float64"])
def test_division_is_pythons(backend, dtype):
    kind = np.dtype(dtype).kind
    left = np.array([7, 7, 8, 9, 100, 1] if kind == "u" else [7, -7, 7, -7, -8, 0], dtype)
    right = np.array([2, 3, 8, 4, 7, 5] if kind == "u" else [2, 2, -2, -2, 4, 3], dtype)
    zeros = np.zeros(6, dtype)
    out = backend.run(python_division, 6, None, zeros, zeros, np.zeros(6, "f8"), left, right)
    numbers = [(x, y) for x, y in zip(left.tolist(), right.tolist(), strict=True)]
    assert out[0].tolist() == [x // y for x, y in numbers]
    assert out[1].tolist() == [x % y for x, y in numbers]
    single = dtype == "float32" or (not backend.fp64 and np.dtype(dtype).itemsize <= 4)
    exact = [x / y if not single else float(np.float32(x) / np.float32(y)) for x, y in numbers]
    # OpenCL C allows a float32 division an error of 2.5 units in the last place.
    assert out[2] == pytest.approx(
        exact, rel=2.5 * 2**-23 if single and backend.marker == "sycl" else 0, abs=0
    )


@every_backend
def test_floats_by_infinity(backend):
    left, right = (
        np.array([1, -1, 1, -1, 0], "f8"),
        np.array([np.inf, np.inf, -np.inf, -np.inf, -np.inf]),
    )
    floors, remainders, *_ = backend.run(
        python_division, 5, None, np.zeros(5), np.zeros(5), np.zeros(5), left, right
    )
    assert floors.tolist() == [a // b for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    assert remainders.tolist() == [
        a % b for a, b in zip(left.tolist(), right.tolist(), strict=True)
    ]


@every_backend
def test_integer_division_by_zero_gives_zero(backend):
    left = np.array([7, -7, 0], "i4")
    out = backend.run(
        python_division,
        3,
        None,
        np.ones(3, "i4"),
        np.ones(3, "i4"),
        np.zeros(3, "f8"),
        left,
        np.zeros(3, "i4"),
    )
    assert out[0].tolist() == out[1].tolist() == [0, 0, 0]
    assert np.isinf(out[2][:2]).all() and np.isnan(out[2][2])


@every_backend
def test_least_integer_divided_by_minus_one_wraps(backend):
    least = np.array([np.iinfo("i4").min], "i4")
    out = backend.run(
        python_division,
        1,
        None,
        np.zeros(1, "i4"),
        np.ones(1, "i4"),
        np.zeros(1, "f8"),
        least,
        np.array([-1], "i4"),
    )
    assert out[0][0] == least[0]  # wraps
    assert out[1][0] == 0


@dppy.kernel
def powers(out, floats, bases, exponents):
    i = dppy.get_global_id(0)
    out[i, 0] = bases[i] ** exponents[i]
    out[i, 1] = bases[i] ** 2
    floats[i] = (bases[i] + 0.5) ** exponents[i]


@every_backend
def test_powers_of_integers_are_integers(backend):
    bases = np.array([2, -3, 1, -1, -1, 5, 0], "i8")
    exponents = np.array([10, 3, -4, -3, -2, -1, 0], "i8")
    out = backend.run(powers, 7, None, np.zeros((7, 2), "i8"), np.zeros(7, "f8"), bases, exponents)
    assert out[0][:, 0].tolist() == [1024, -27, 1, -1, 1, 0, 1]
    assert out[0][:, 1].tolist() == [x * x for x in bases.tolist()]
    assert out[1] == pytest.approx(
        [(x + 0.5) ** y for x, y in zip(bases.tolist(), exponents.tolist(), strict=True)]
    )


@dppy.kernel
def bits(out, left, right):
    i = dppy.get_global_id(0)
    out[i, 0] = left[i] & right[i]
    out[i, 1] = left[i] | right[i]
    out[i, 2] = left[i] ^ right[i]
    out[i, 3] = ~left[i]
    out[i, 4] = left[i] << 3
    out[i, 5] = left[i] >> 2
    out[i, 6] = -left[i]


@every_backend
@pytest.mark.parametrize("dtype", INTEGERS)
def test_bit_operators(backend, dtype):
    left = (
        np.array([1, 77, 100, 3], dtype) if dtype[0] == "u" else np.array([1, -77, 100, -3], dtype)
    )
    right = np.array([3, 12, 0, 7], dtype)
    (out, *_) = backend.run(bits, 4, None, np.zeros((4, 7), dtype), left, right)
    three, two = np.dtype(dtype).type(3), np.dtype(dtype).type(2)
    expected = [
        left & right,
        left | right,
        left ^ right,
        ~left,
        left << three,
        left >> two,
        (0 - left).astype(dtype),
    ]
    assert np.array_equal(out, np.stack(expected, axis=1))


@dppy.kernel
def unary_operators_on_constants(out, n):
    out[0] = dppy.int64(~dppy.uint64(0) >> 32)
    out[1] = dppy.int64(~dppy.uint32(5))
    out[2] = ~dppy.uint64(5) > dppy.uint64(7)
    out[3] = (~dppy.int64(-2)) << 33
    out[4] = (-dppy.int64(5)) << 33
    out[5] = (-dppy.int64(65536)) * (-dppy.int64(65536))
    out[6] = dppy.int64(-dppy.uint32(5))
    out[7] = dppy.int64(-dppy.uint64(5) >> 32)
    out[8] = (~-dppy.int64(7)) << 33
    out[9] = dppy.int64(~dppy.uint8(5)) + dppy.int64(-dppy.uint16(5))
    out[10] = -dppy.int64(-9223372036854775808)
    out[11] = dppy.int64(~dppy.uint32(5) >> n)


@every_dialect
def test_unary_operators_keep_the_type_of_a_constant(backend):
    (out,) = backend.run(unary_operators_on_constants, 1, None, np.zeros(12, "i8"), 4)
    assert out.tolist() == [
        *(2**32 - 1, 2**32 - 6, 1),
        *(1 << 33, -5 << 33, 2**32),
        *(2**32 - 5, 2**32 - 1, 6 << 33),
        *(250 + 65531, -(2**63), (2**32 - 6) >> 4),
    ]


@dppy.kernel
def shifts(out, values, by):
    i = dppy.get_global_id(0)
    out[i, 0] = values[i] << by[i]
    out[i, 1] = values[i] >> by[i]


@every_dialect
def test_shifts_by_the_width_and_more(backend):
    values, by = np.array([1, -1, -5, 7, 1], "i4"), np.array([31, 32, 40, 33, 0], "i4")
    (out, *_) = backend.run(shifts, 5, None, np.zeros((5, 2), "i4"), values, by)
    assert out[:, 0].tolist() == [-(2**31), 0, 0, 0, 1]
    assert out[:, 1].tolist() == [0, -1, -1, 0, 1]


@dppy.kernel
def comparisons(out, x, y):
    i = dppy.get_global_id(0)
    out[i, 0] = x[i] < y[i]
    out[i, 1] = x[i] <= y[i]
    out[i, 2] = x[i] == y[i]
    out[i, 3] = x[i] != y[i]
    out[i, 4] = 0 < x[i] <= y[i] < 5
    out[i, 5] = not x[i]
    out[i, 6] = x[i] > 0 and y[i] / x[i] > 1
    out[i, 7] = x[i] == 0 or y[i] > 2


@every_backend
@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
def test_comparisons_and_logic(backend, dtype):
    x, y = np.array([0, 1, 2, 4, 5], dtype), np.array([1, 1, 4, 4, 2], dtype)
    (out, *_) = backend.run(comparisons, 5, None, np.zeros((5, 8), "?"), x, y)
    rows = [
        [a < b, a <= b, a == b, a != b, 0 < a <= b < 5, not a, a > 0 and b / a > 1, a == 0 or b > 2]
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    assert out.tolist() == [[bool(each) for each in row] for row in rows]


@dppy.kernel
def conditionals(out, x):
    i = dppy.get_global_id(0)
    out[i, 0] = x[i] if x[i] > 0 else -x[i]
    out[i, 1] = x[i] or 9
    out[i, 2] = x[i] and 9


@every_backend
def test_conditional_expressions_have_pythons_value(backend):
    x = np.array([-2, 0, 3], "i4")
    (out, *_) = backend.run(conditionals, 3, None, np.zeros((3, 3), "i4"), x)
    assert out.tolist() == [[a if a > 0 else -a, a or 9, a and 9] for a in x.tolist()]


@dppy.kernel
def bits_of_numbers(f4, f8, i4, out):
    out[0] = f4[0].view(dppy.int32)
    out[1] = f8[0].view(dppy.uint64) >> 52
    out[2] = i4[0].view(dppy.uint32)
    out[3] = int(i4[1].view(dppy.float32) * 2)
    out[4] = f4[0].view(dppy.float32) == f4[0]


@every_backend
def test_view_takes_the_bits_of_a_number(backend):
    one = np.array([1.5], "f4")
    integers = np.array([-1, one.view("i4")[0]], "i4")
    *_, out = backend.run(
        bits_of_numbers, 1, None, one, np.array([1.0]), integers, np.zeros(5, "i8")
    )
    assert out.tolist() == [one.view("i4")[0], 0x3FF, 2**32 - 1, 3, 1]


@dppy.kernel
def bits_of_another_size(x, out):
    out[0] = x[0].view(dppy.int64)


@every_backend
def test_view_as_another_size_is_refused(backend):
    with pytest.raises(ep.KernelError, match="of the same size"):
        backend.run(bits_of_another_size, 1, None, np.ones(1, "f4"), np.zeros(1, "i8"))


@dppy.kernel
def conversions(small, whole, truth, x):
    i = dppy.get_global_id(0)
    small[i] = dppy.float32(x[i]) / 3
    whole[i] = int(x[i])
    truth[i] = bool(x[i])


@every_backend
def test_explicit_conversions(backend):
    x = np.array([2.9, -2.9, 0, 1e6 + 0.5], "f8")
    small, whole, truth, _ = backend.run(
        conversions, 4, None, np.zeros(4, "f8"), np.zeros(4, "i8"), np.zeros(4, "?"), x
    )
    assert np.array_equal(small, (x.astype("f4") / np.float32(3)).astype("f8"))
    assert whole.tolist() == [2, -2, 0, 1000000]
    assert truth.tolist() == [True, True, False, True]


@functools.cache
def whole_floats(floating, integer):
    @dppy.func
    def cut(x):
        return integer(x)

    @dppy.kernel
    def kernel(out, pairs, stored, x):
        i = dppy.get_global_id(0)
        whole = integer(x[i])
        out[i, 0] = floating(integer(x[i]))
        out[i, 1] = floating(whole)
        out[i, 2] = whole
        out[i, 3] = floating(cut(x[i]))
        out[i, 4] = floating(math.ceil(x[i]))
        out[i, 5] = whole * floating(1)
        out[i, 6] = floating(integer(x[i] if x[i] < 1 else x[i] - 1))
        stored[i] = integer(x[i])
        out[i, 7] = stored[i]
        pairs[i] = complex(whole, whole)

    return kernel


@every_backend
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("integer", ["int8", "int32", "uint32", "int64", "uint64"])
def test_float_of_integer_of_negative_fraction_is_plus_zero(backend, dtype, integer):
    x = np.full(16, -0.25, dtype)
    kernel = whole_floats(getattr(dppy, dtype), getattr(dppy, integer))
    outs = np.ones((16, 8), dtype), np.ones(16, "c16"), np.ones(16, integer)
    out, pairs, *_ = backend.run(kernel, 16, None, *outs, x)
    for zeros in out, pairs.real, pairs.imag:
        assert not zeros.any() and not np.signbit(zeros).any()


@dppy.kernel
def store(out, x):
    i = dppy.get_global_id(0)
    out[i] = x[i]


@every_backend
@pytest.mark.parametrize("source,target", [
    ("int64", "uint8"), ("float64", "int32"), ("float64", "float32"), ("int32", "float64"),
    ("uint8", "bool"),
    ("bool", "float32"), ("int64", "int16"),
])  # fmt: skip
def test_stores_convert_as_c_does(backend, source, target):
    x = np.array([1, 0, 1, 1] if source == "bool" else [0, 3, 100, 77], source)
    if np.dtype(source).kind in "if":
        x[1] = -3.7 if source[0] == "f" else -3
    (out, _) = backend.run(store, 4, None, np.zeros(4, target), x)
    if target[0] == "u":
        assert out.tolist() == (x % 256).tolist()
    else:
        assert np.array_equal(out, x.astype(target))


@dppy.kernel
def complex_numbers(out, parts, x, y):
    i = dppy.get_global_id(0)
    z = x[i] * y[i] + 2j
    out[i] = z / y[i] - x[i]
    parts[i, 0] = z.real
    parts[i, 1] = z.imag
    parts[i, 2] = abs(z)
    parts[i, 3] = z == x[i]


@every_backend
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(backend, dtype):
    x = np.array([1 + 2j, -0.5j, 3, 2 - 2j], dtype)
    y = np.array([2 - 1j, 1j, 0.25, -1 + 1j], dtype)
    real = "f4" if dtype == "complex64" else "f8"
    out, parts, *_ = backend.run(
        complex_numbers, 4, None, np.zeros(4, dtype), np.zeros((4, 4), real), x, y
    )
    z = x * y + np.dtype(dtype).type(2j)
    tolerance = 1e-5 if dtype == "complex64" else 1e-12
    assert np.allclose(out, z / y - x, rtol=tolerance, atol=tolerance)
    assert np.allclose(
        parts, np.stack([z.real, z.imag, abs(z), z == x], axis=1), rtol=tolerance, atol=tolerance
    )


@dppy.kernel
def complex_powers(out, z, exponents):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    out[i, j, 0] = z[i] ** exponents[j]
    out[i, j, 1] = z[i] ** 3
    out[i, j, 2] = z[i] ** -1
    out[i, j, 3] = z[i] ** 0.5


@every_dialect
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_of_complex_numbers(backend, dtype):
    """Whole exponents multiply, as in Python. 0 has no negative powers."""
    z = np.array([1j, 2 - 1j, -3, 1e-3 + 2j, 0], dtype)
    exponents = np.array([-3, -1, 0, 1, 2, 3, 20])
    out, *_ = backend.run(complex_powers, (5, 7), None, np.zeros((5, 7, 4), dtype), z, exponents)
    assert out[0, :, 0].tolist() == [1j, -1j, 1, 1j, -1, -1j, 1]
    assert out[:3, 0, 1].tolist() == [-1j, 2 - 11j, -27]
    expected = [[[a**b, a**3, 1 / a, a**0.5] for b in exponents.tolist()] for a in z[:-1].tolist()]
    np.testing.assert_allclose(out[:-1], expected, rtol=3e-6 if dtype == "complex64" else 1e-13)
    of_zero = out[-1]
    assert of_zero[2:, 0].tolist() == [1, 0, 0, 0, 0]
    assert of_zero[:, [1, 3]].tolist() == [[0, 0]] * 7
    for found in (of_zero[:2, 0], of_zero[:, 2]):
        assert np.isnan(found.real).all() and np.isnan(found.imag).all()


@dppy.kernel
def made_complex(out, x):
    i = dppy.get_global_id(0)
    out[i, 0] = complex(x[i], 2)
    out[i, 1] = complex(x[i], -x[i])
    out[i, 2] = complex(x[i])


@every_dialect
def test_complex_from_parts(backend):
    x = np.array([0.5, -3], "f4")
    (out, _) = backend.run(made_complex, 2, None, np.zeros((2, 3), "c8"), x)
    assert out.tolist() == [[complex(v, 2), complex(v, -v), complex(v, 0)] for v in x.tolist()]


@dppy.kernel
def half_floors(quotients, rests, x, y):
    i = dppy.get_global_id(0)
    quotients[i] = x[i] // y[i]
    rests[i] = x[i] % y[i]


@every_dialect
def test_float16_divides_as_numpy_does(backend):
    if backend.marker == "sycl" and not backend.device.has_aspect_fp16:
        pytest.skip(f"{backend.selector} has no float16")
    random = np.random.default_rng(3)
    bits = random.integers(0, 1 << 16, (2, 20_000), "u2")
    bits[:, :6] = [
        [0x4900, 0xC900, 0x3C00, 0x7BFF, 0x0001, 0x8000],
        [0x4200, 0x4200, 0xC000, 0x0001, 0x7BFF, 0x3C00],
    ]
    x, y = bits.view("f2")
    finite = np.isfinite(x) & np.isfinite(y) & (y != 0)
    x, y = x[finite], y[finite]
    quotients, rests, *_ = backend.run(
        half_floors, x.size, None, np.zeros_like(x), np.zeros_like(x), x, y
    )
    with np.errstate(all="ignore"):
        assert np.array_equal(rests, x % y)
        assert np.array_equal(quotients, x // y)


@dppy.kernel
def half(out, x):
    i = dppy.get_global_id(0)
    y = x[i] * 3
    z = y + 0.5
    out[i] = z - x[i]


@every_backend
@pytest.mark.ml_dtypes
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_round_after_each_operation(backend, dtype):
    import ml_dtypes

    narrow = np.dtype(dtype if dtype == "float16" else ml_dtypes.bfloat16)
    x = np.random.default_rng(5).uniform(-300, 300, 2000).astype("f4").astype(narrow)
    zeros = np.zeros(x.size, narrow)
    if dtype == "float16" and not backend.device.has_aspect_fp16 and backend.marker == "sycl":
        with pytest.raises(
            ep.KernelError, match="float16, which the device does not have; use float32"
        ):
            backend.run(half, x.size, None, zeros, x)
        return
    (out, _) = backend.run(half, x.size, None, zeros, x)
    expected = x * narrow.type(3) + narrow.type(0.5) - x
    assert np.array_equal(out, expected)
    rounded_once = (x.astype("f4") * 3 + 0.5 - x.astype("f4")).astype(narrow)
    assert not np.array_equal(expected, rounded_once), (
        "the numbers must be such that it makes a difference"
    )


@dppy.kernel
def narrow_literals(out, x):
    i = dppy.get_global_id(0)
    out[i, 0] = x[i] * 2.1
    out[i, 1] = x[i] == 2.1
    out[i, 2] = max(x[i], 2.1)
    out[i, 3] = x[i] < 2.1


@every_dialect
@pytest.mark.ml_dtypes
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_literals_are_rounded_to_the_narrow_float_type(backend, dtype):
    import ml_dtypes

    narrow = np.dtype(dtype if dtype == "float16" else ml_dtypes.bfloat16)
    x = np.array([1.919, 2.1, 0.3, -7.7, 1e-7], narrow)
    literal = narrow.type(2.1)
    (out, _) = backend.run(narrow_literals, x.size, None, np.zeros((x.size, 4)), x)
    expected = np.stack(
        [x * literal, x == literal, np.maximum(x, literal), x < literal], axis=1
    ).astype("f8")
    assert np.array_equal(out, expected)


@dppy.kernel
def store_each(out, x):
    i = dppy.get_global_id(0)
    out[i] = x[i]


@every_dialect
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_doubles_are_rounded_once(backend, dtype):
    """Rounded to float32 first, they would be midpoints, which then round to even."""
    bits = 10 if dtype == "float16" else 7
    middle = 1 + 2.0**-bits * (np.arange(8) + 0.5)
    x = np.concatenate(
        [
            [0.0, -0.0, np.inf, -np.inf, 1e-320, -1e-320],
            middle,
            middle + 2.0**-40,
            -middle + 2.0**-40,
        ]
    )
    (out, _) = backend.run(
        store_each, x.size, None, backend.array(np.zeros(x.size, "u2")).view(dtype), x
    )
    step = 2.0**-bits
    expected = np.where(
        np.isinf(x), x, np.rint(np.where(np.isinf(x), 0, x) / step) * step
    )  # of numbers from 1 to 2
    expected[:6] = [0, -0.0, np.inf, -np.inf, 0, -0.0]
    assert np.array_equal(np.asarray(out, "f8"), expected)


@dppy.kernel
def against_large_literals(out, x):
    i = dppy.get_global_id(0)
    out[i, 0] = x[i] == (1 << 63)
    out[i, 1] = x[i] == 2**63 + 1
    out[i, 2] = (x[i] | (1 << 63)) == x[i]
    out[i, 3] = x[i] % (1 << 63) == 1
    out[i, 4] = x[i] == (2**62 << 1) + 1
    out[i, 5] = x[i] == (2**63 - 1) * 2 + 1


@every_dialect
def test_literals_beyond_int64_are_exact(backend):
    x = np.array([2**63, 2**63 + 1, 1, 2**64 - 1], "u8")
    (out, _) = backend.run(against_large_literals, 4, None, np.zeros((4, 6), "i4"), x)
    top, one = 1 << 63, 1
    expected = [
        [v == top, v == top + 1, v | top == v, v % top == one, v == top + 1, v == 2**64 - 1]
        for v in map(int, x)
    ]
    assert np.array_equal(out.astype(bool), np.array(expected))


@dppy.kernel
def compare_all(out, left, right):
    i = dppy.get_global_id(0)
    out[i, 0] = left[i] < right[i]
    out[i, 1] = left[i] <= right[i]
    out[i, 2] = left[i] > right[i]
    out[i, 3] = left[i] >= right[i]
    out[i, 4] = left[i] == right[i]
    out[i, 5] = left[i] != right[i]


@every_dialect
@pytest.mark.parametrize("signed", ["int8", "int32", "int64"])
def test_negative_int_is_less_than_any_uint64(backend, signed):
    numbers = np.array([1, -1, -1, 5, 5, -128, 0], signed)
    naturals = np.array([2**63, 2**64 - 1, 0, 5, 4, 2**64 - 128, 0], "u8")
    for left, right in ((numbers, naturals), (naturals, numbers)):
        (out, *_) = backend.run(
            compare_all, numbers.size, None, np.zeros((numbers.size, 6), "i4"), left, right
        )
        a, b = ([int(each) for each in side] for side in (left, right))
        expected = [
            [x < y, x <= y, x > y, x >= y, x == y, x != y] for x, y in zip(a, b, strict=True)
        ]
        assert np.array_equal(out.astype(bool), np.array(expected))


@dppy.kernel
def accumulate(out, x):
    i = dppy.get_global_id(0)
    total = 0
    for k in range(x.shape[0]):
        total += x[k]
    out[i] = total


@every_backend
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int32"])
def test_literal_variable_takes_the_type_it_meets(backend, dtype):
    """uint8 wraps, and float32 rounds after each addition."""
    x = np.array([200, 100, 60, 3], dtype) / np.dtype(dtype).type(1)
    x = x.astype(dtype) if dtype != "float32" else np.array([0.1, 1e8, 3.3, -1e8], "f4")
    (out, _) = backend.run(accumulate, 1, None, np.zeros(1, "f8"), x)
    expected = np.dtype(dtype).type(0)
    with np.errstate(over="ignore"):
        for each in x:
            expected = expected + each
    assert out[0] == expected


@dppy.kernel
def wraps(out, x):
    i = dppy.get_global_id(0)
    v = x[i]
    out[i, 0] = v + x[0]
    out[i, 1] = v - x[1]
    out[i, 2] = v * 3
    out[i, 3] = -v // 2  # a compiler that assumes no wrapping negates after the division
    out[i, 4] = v * 2 // 2
    out[i, 5] = (v << 1) // 2
    out[i, 6] = v + 1 > v
    v += x[0]
    out[i, 7] = v


@every_dialect
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_wrap(backend, dtype):
    most, least = np.iinfo(dtype).max, np.iinfo(dtype).min
    x = np.array([most, least, 5, -3, most // 2 + 1], dtype)
    (out, _) = backend.run(wraps, 5, None, np.zeros((5, 8), "i8"), x)
    one = x.dtype.type(1)
    with np.errstate(over="ignore"):
        columns = [
            x + x[0],
            x - x[1],
            x * 3,
            -x // 2,
            x * 2 // 2,
            (x << 1) // 2,
            x + one > x,
            x + x[0],
        ]
    assert out.T.tolist() == [column.tolist() for column in columns]


DIVISIONS = """
    import sys
    import numpy as np
    from kernel.backends import BACKENDS
    import entrepot.kernel as dppy

    @dppy.kernel
    def divides(out, x, y):
        i = dppy.get_global_id(0)
        v = x[i]
        if v != 0:
            out[i, 0] = y[i] // (v * v)
            out[i, 1] = y[i] % (v * v)
        out[i, 2] = v // y[i]
        out[i, 3] = v % y[i]
        out[i, 4] = (v * 2) // (y[i] * -1)
        out[i, 5] = -v // (y[i] - 1)

    x = np.array([2**32, -(2**63), 2**63 - 1, 3, 0], "i8")
    y = np.array([-1, -1, 2**63 - 1, 0, -(2**63)], "i8")
    backend = next(each for each in BACKENDS if str(each) == sys.argv[1])
    print(backend.run(divides, 5, None, np.zeros((5, 6), "i8"), x, y)[0].tolist())
"""


@every_dialect
def test_division_by_a_wrapped_zero_does_not_crash(backend, tmp_path):
    """2**32 squared wraps to 0, and a processor cannot divide the least integer by -1."""
    script = tmp_path / "divisions.py"
    script.write_text(textwrap.dedent(DIVISIONS))
    most = 2**63 - 1
    assert json.loads(run_script(script, str(backend), timeout=120)) == [
        [0, 0, -(2**32), 0, 2**33, 2**31],
        [0, 0, -most - 1, 0, 0, 2**62],
        [most, 0, 1, 0, 0, -2],
        [0, 0, 0, 0, 0, 3],
        [0, 0, 0, 0, 0, 0],
    ]


@dppy.kernel
def narrowed(out, b):
    i = dppy.get_global_id(0)
    v = dppy.int8(5)
    for _ in range(2):
        v = dppy.int8(max(dppy.uint32(b[i]), v))
    out[i, 0] = v // 46
    out[i, 1] = v % 46


@every_backend
def test_conversion_may_make_a_number_negative(backend):
    """The operand is known not to be negative; the result of the conversion is not."""
    b = np.array([1, 100, 128, 200, 255], "u1")
    (out, _) = backend.run(narrowed, 5, None, np.zeros((5, 2), "i8"), b)
    v = np.full(5, 5, "i8")
    for _ in range(2):
        v = np.maximum(b, v).astype("i1").astype("i8")
    assert out.tolist() == np.stack([v // 46, v % 46], axis=1).tolist()


@dppy.kernel
def compared_before(out, x, y):
    i = dppy.get_global_id(0)
    v = x[i]
    out[i, 2] = 0
    if v == y[i]:
        out[i, 2] = 1
    out[i, 0] = v // 46
    out[i, 1] = v % 46


@every_backend
def test_comparison_does_not_narrow_later_code(backend):
    """If two values differ, nothing is known of either, though one of them is not negative."""
    x = np.array([-100, -1, 0, 50], "i1")
    (out, *_) = backend.run(
        compared_before, 4, None, np.ones((4, 3), "i8"), x, np.array([1, 2, 0, 50], "u8")
    )
    assert out.tolist() == [[v // 46, v % 46, int(v >= 0)] for v in x.tolist()]


@dppy.kernel
def compared_without_a_sign(out, x, y):
    i = dppy.get_global_id(0)
    v = x[i]
    if dppy.uint64(v) > 5:
        out[i] = y[v]


@every_backend
def test_unsigned_comparison_does_not_narrow_the_sign(backend):
    """Converted to uint64, -1 is greater than 5, and yet it is the index of the last element."""
    (out, *_) = backend.run(
        compared_without_a_sign,
        3,
        None,
        np.zeros(3, "i8"),
        np.array([-1, 6, 3], "i4"),
        np.arange(10, 20),
    )
    assert out.tolist() == [19, 16, 0]


@dppy.kernel
def hash_text(out, table, text):
    h = dppy.int64(0)
    for k in range(len(text)):
        h = h * 33 + text[k]
    out[0] = h
    if h != 0:
        out[1] = h % 13
        out[2] = h // 13
        table[3 + h % 13] += 1


@every_dialect
def test_hash_that_wrapped_divides_as_in_python(backend):
    """A loop that starts at 0 and adds proves nothing about the sign: the sum wraps."""
    text = np.array([255, 0, 1, 128, 127, 200, 3, 7, 85, 20, 99, 250, 3, 77, 121], "u1")
    out, table, _ = backend.run(hash_text, 1, None, np.zeros(3, "i8"), np.zeros(16, "i8"), text)
    h = 0
    for byte in text.tolist():
        h = h * 33 + byte
    h = (h + 2**63) % 2**64 - 2**63
    assert h < 0
    assert out.tolist() == [h, h % 13, h // 13]
    assert np.nonzero(table)[0].tolist() == [3 + h % 13]


@dppy.kernel
def divide_above_wrapped_bounds(out, c, b):
    y, x, z = c[0], c[1], c[2]
    if y > 0:
        if x >= y + y:
            out[0] = x // 2
            out[1] = x % 3
    if z >= abs(c[3]):
        out[2] = z // 2
        out[3] = z % 4
    v, w = b[0], b[1]
    if v >= 0:
        if w >= v + v:
            out[4] = w // 3
            out[5] = w % 3


@every_dialect
def test_division_above_a_wrapped_bound_rounds_down(backend):
    """A wrapped sum is not a lower bound: x is negative, and yet not less than y + y."""
    c, b = np.array([2**31 - 1, -1, -7, -(2**31)], "i4"), np.array([100, -50], "i1")
    (out, *_) = backend.run(divide_above_wrapped_bounds, 1, None, np.zeros(6, "i8"), c, b)
    assert out.tolist() == [-1 // 2, -1 % 3, -7 // 2, -7 % 4, -50 // 3, -50 % 3]


@dppy.kernel
def divide_in_int64(out, u, n):
    size = dppy.get_global_size(0) + 1
    out[0] = u[0] // size
    out[1] = u[0] % size
    if u[1] > 5:
        big = u[1]
        if big > 5:
            out[2] = 7 * size // big
            out[3] = (size + 5) % big
    for i in range(n[0], n[0] + 1):
        if n[0] > 0:
            out[4] = i * 4 // 3


@every_dialect
def test_division_of_a_wrapped_negative_rounds_down(backend):
    """uint64 with int64 is calculated in int64, where the result may be negative."""
    u, n = np.array([2**64 - 7, 2**64 - 3], "u8"), np.array([2**61], "i8")
    (out, *_) = backend.run(divide_in_int64, 1, None, np.zeros(5, "i8"), u, n)
    assert out.tolist() == [-7 // 2, -7 % 2, 14 // -3, 7 % -3, -(2**63) // 3]


ZERO_DIVISIONS = """
    import sys
    import numpy as np
    from kernel.backends import BACKENDS
    import entrepot.kernel as dppy

    @dppy.kernel
    def divides(out, b, c):
        y, u, v = c[0], b[0], b[1]
        if y > 0:
            if v > y + y:
                out[0] = u // v
                out[1] = u % v

    b, c = np.array([7, 0], "u1"), np.array([100], "i1")
    backend = next(each for each in BACKENDS if str(each) == sys.argv[1])
    print(backend.run(divides, 1, None, np.array([9, 9]), b, c)[0].tolist())
"""


@every_dialect
def test_zero_above_a_wrapped_bound_divides_to_zero(backend, tmp_path):
    """100 + 100 is -56 in int8, so that 0 is greater than it."""
    script = tmp_path / "divisions.py"
    script.write_text(textwrap.dedent(ZERO_DIVISIONS))
    assert json.loads(run_script(script, str(backend), timeout=120)) == [0, 0]


@dppy.func
def given_back(value):
    return value


@dppy.kernel
def meets_integers_of_literals(out, u8, u32):
    limit = 300
    out[0] = u8[0] + limit
    out[1] = min(u8[0], limit)
    out[2] = u8[0] < limit
    out[3] = u8[0] * (2 if u8[0] < 128 else 256)
    out[4] = u8[0] + given_back(300)
    out[5] = divmod(limit, 254)[1]
    big = 2**40
    out[6] = u32[0] + big
    less = -1
    out[7] = u32[0] > less
    count = 0
    for _ in range(500):
        count += 1
    out[8] = u8[0] * count
    total = 0
    total += u8[0]
    total += u8[0]
    out[9] = total
    part = 0.5
    part = count
    out[10] = part
    out[11] = min(limit, u8[0]) + max(count, u8[0])
    out[12] = math.gcd(limit, u8[0])
    out[13] = np.where(u8[0] > 7, limit, 1) + u8[0]


@every_dialect
def test_non_literal_integer_is_int64(backend):
    (out, *_) = backend.run(
        meets_integers_of_literals,
        1,
        None,
        np.zeros(14, "i8"),
        np.array([200], "u1"),
        np.array([5], "u4"),
    )
    assert out.tolist() == [
        500,
        200,
        1,
        51200,
        500,
        46,
        2**40 + 5,
        1,
        100_000,
        144,
        500,
        700,
        100,
        500,
    ]


@dppy.kernel
def that_the_compiler_refuses(out, u8):
    limit = sorted((300, 400))[0]
    out[0] = u8[0] + limit


def test_simulator_knows_no_types_of_an_uncompilable_kernel():
    with pytest.raises(ep.KernelError, match="300 is out of the range of uint8"):
        that_the_compiler_refuses.simulate[1](np.zeros(1, "i8"), np.array([200], "u1"))


@dppy.func
def added(total, value):
    total = total + value
    return total


@dppy.func
def more_of(value, limit):
    if value > 100:
        return value + limit
    return limit


@dppy.kernel
def variables_of_integers(out, u8, u64):
    n = 300
    wide = n
    wide = wide + u8[0]
    out[0] = wide
    total = 0 if u8[0] < 7 else 1
    total += u8[0]
    out[1] = total
    total += u8[0]
    out[2] = total
    first = second = 2 if u8[0] < 7 else 3
    first *= u8[0]
    second -= u8[0]
    out[3] = first
    out[4] = second
    out[5] = added(n, u8[0])
    out[6] = more_of(u8[0], n)
    least = 300
    least = u8[0] + n
    out[7] = least
    below = n - 301
    below += u64[0]
    out[8] = below
    pair = (n, 0)
    pair = (pair[0] + u8[0], pair[1] + u8[0])
    out[9] = pair[0] + pair[1] * 2
    counted = 0
    for _ in range(3):
        counted += u8[0]
    out[10] = counted


@every_dialect
def test_variable_assigned_a_literal_is_int64(backend):
    """It takes the other operand's type only if all of it are literals."""
    arrays = np.zeros(11, "i8"), np.array([200], "u1"), np.array([7], "u8")
    (out, *_) = backend.run(variables_of_integers, 1, None, *arrays)
    assert out.tolist() == [
        500,
        201,
        401 - 256,
        600 - 512,
        3 - 200 + 256,
        500,
        500,
        500,
        6,
        500 + 400 - 256,
        600 - 512,
    ]


@dppy.func
def increased(value):
    value += dppy.int16(1)
    return value


@dppy.kernel
def sums_of_variables_of_literals(out):
    n = 300
    signed = n
    signed += dppy.int16(1)
    out[0] = signed
    natural = n
    natural += dppy.uint8(1)
    out[1] = natural
    middle = n
    last = middle
    last += dppy.int16(1)
    last += dppy.uint8(1)
    out[2] = last
    pair = (n, 0)
    pair = (pair[0] + dppy.int16(1), pair[1] + dppy.int16(1))
    out[3] = pair[0] + pair[1] * 1000
    first = n
    second = 3
    for _ in range(3):
        first, second = second, first + dppy.int16(1)
    out[4] = first + second * 1000
    out[5] = increased(n)
    half = n / 600
    half += dppy.float32(1)
    out[6] = half
    out[dppy.int64(signed) - 294] = 7


@every_dialect
def test_sums_of_literal_variables_are_int64(backend):
    """A Python number in a variable has the type of the whole variable, like a counter."""
    (out,) = backend.run(sums_of_variables_of_literals, 1, None, np.zeros(8))
    first, second = 300, 3
    for _ in range(3):
        first, second = second, first + 1
    assert out.tolist() == [301, 301, 302, 301 + 1000, first + second * 1000, 301, 1.5, 7]


@dppy.kernel
def sums_of_converted_integers(out):
    start = dppy.int16(2)
    index = dppy.int64(start + dppy.int16(1))
    index += 1
    out[index] = 5
    limit = 300
    wide = dppy.int64(limit + dppy.uint8(1))
    wide += 1
    out[0] = wide
    total = 0
    for _ in range(3):
        part = total + dppy.int16(1)
        total = part + dppy.int64(1)
    out[1] = total
    down = dppy.int64(start - dppy.int16(1))
    while down > -2:
        down -= 1
    out[2] = down
    out[down] = 9


@every_dialect
def test_sums_of_converted_integers_are_compiled(backend):
    (out,) = backend.run(sums_of_converted_integers, 1, None, np.zeros(6, "i8"))
    assert out.tolist() == [302, 6, -2, 0, 9, 0]


@dppy.kernel
def types_exchanged_in_a_circle(out):
    first = 0
    second = 8
    third = first
    first = second * dppy.uint32(3)
    out[0] = first
    first, second = second, third
    out[1] = first
    out[2] = second
    second = dppy.int64(3) * 3
    out[3] = second


@every_dialect
def test_types_exchanged_in_a_circle_become_one(backend):
    """Each variable is int64 together with the others, which single walks over the kernel do not
    find.
    """
    (out,) = backend.run(types_exchanged_in_a_circle, 1, None, np.zeros(4, "i8"))
    assert out.tolist() == [24, 8, 0, 9]


@dppy.kernel
def types_in_a_circle(out):
    last = 0
    for _ in range(2):
        value = dppy.int16(1) if last.dtype == dppy.float32 else dppy.float32(1)  # type: ignore[attr-defined]
        last = value
    out[0] = last


def test_incompatible_types_are_refused():
    message = "the types of the variables of `types_in_a_circle` depend on each other in a circle"
    with pytest.raises(ep.KernelError, match=message):
        types_in_a_circle.source("c++", signature="void(int64[::1])")


@dppy.kernel
def choices_of_types(out, u8, i8, f32):
    n = 300
    out[0] = (i8[0] if u8[0] > 7 else u8[0]) * 200
    out[1] = (u8[0] and 7) + 250
    out[2] = (0 or n) + u8[0]
    out[3] = (1 if u8[0] > 7 else 300) * u8[0]
    out[4] = f32[0] * (n / 7)
    out[5] = n // -7 + (n << 60) + (n >> 70)
    out[6] = (n < 5) + 255 * u8[0]
    best = 0
    out[7] = best - 1
    if u8[0] < 7:
        best = u8[0]
    first, second = 0, n
    first, second = second, first
    out[8] = first + second * u8[0]
    out[9] = abs(-n) * u8[0] + math.gcd(4, 6) * u8[0]
    out[10] = (not u8[0]) + 255 * u8[0]


@every_dialect
def test_conditional_expression_has_one_type(backend):
    """For either branch."""
    arrays = np.zeros(11), np.array([200], "u1"), np.array([-7], "i1"), np.array([0.1], "f4")
    (out, *_) = backend.run(choices_of_types, 1, None, *arrays)
    single = float(np.float32(0.1) * np.float32(300 / 7))
    shifted = (300 << 60) % 2**64 - 2**64 * ((300 << 60) % 2**64 >= 2**63)
    assert out.tolist() == [
        -1400,
        1,
        500,
        200,
        single,
        float(-43 + shifted),
        56,
        255,
        300,
        60400,
        56,
    ]


def test_uint64_modulo_zero_checks_the_divisor() -> None:
    @dppy.kernel
    def program(o, u):
        o[0] = u % 0

    assert "u % 0" not in program.source("c++", signature="void(uint64[::1], uint64)")
