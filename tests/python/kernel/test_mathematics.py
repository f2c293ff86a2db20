"""Python's math and cmath beyond functions of floats, against Python: integers, float parts,
tuples, complex numbers."""

from __future__ import annotations

import cmath
import math
import sys

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import every_backend, every_dialect

pytestmark = pytest.mark.numpy


@dppy.kernel
def of_integers(out, counted, a, b):
    i = dppy.get_global_id(0)
    out[i, 0] = math.gcd(a[i], b[i])
    out[i, 1] = math.lcm(a[i], b[i])
    out[i, 2] = math.isqrt(abs(a[i]))
    out[i, 3] = math.gcd(a[i], b[i], 6)
    out[i, 4] = math.gcd(a[i]) + math.gcd() + math.lcm()
    out[i, 5] = np.gcd(a[i], b[i]) + np.lcm(a[i], 2)
    counted[i, 0] = math.comb(a[i], b[i])
    counted[i, 1] = math.perm(a[i], b[i])
    counted[i, 2] = math.factorial(b[i])
    counted[i, 3] = math.perm(b[i])


def _counted(function, *numbers):
    """The result as int64; 0 if it does not fit, or Python refuses the arguments."""
    try:
        result = function(*numbers)
    except ValueError:
        return 0
    return result if result < 2**63 else 0


@every_dialect
@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64"])
def test_integer_functions(backend, dtype):
    pairs = [
        (12, 18),
        (0, 0),
        (0, 5),
        (7, 3),
        (100, 10),
        (62, 31),
        (66, 33),
        (68, 20),
        (5, 6),
        (21, 21),
    ]
    if dtype[0] == "i":
        pairs += [(-12, 18), (5, -10), (-7, -7)]
    if dtype.endswith("64"):
        pairs += [
            (2**62 + 1, 3),
            (10**12, 4 * 10**11),
            (2**53, 2**40),
            (3037000499**2, 2),
            (2**63 - 1, 2),
        ]
    a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    out, counted, *_ = backend.run(
        of_integers,
        len(pairs),
        None,
        np.zeros((len(pairs), 6), "i8"),
        np.zeros((len(pairs), 4), "i8"),
        a,
        b,
    )
    info = np.iinfo(dtype)

    def wrapped(value):
        return (value - info.min) % (info.max - info.min + 1) + info.min

    for row, (x, y) in zip(out.tolist(), pairs, strict=True):
        lcm = wrapped(math.lcm(x, 2))
        expected = [
            math.gcd(x, y),
            math.lcm(x, y),
            math.isqrt(abs(x)),
            math.gcd(x, y, 6),
            abs(x) + 1,
            math.gcd(x, y) + lcm,
        ]
        assert row == [wrapped(value) for value in expected], (x, y)
    huge = 10**11  # Python would calculate numbers with as many digits
    for row, (n, k) in zip(counted.tolist(), pairs, strict=True):
        many = n > huge and k > 33
        comb = 0 if many else _counted(math.comb, n, k)
        perm = 0 if many else _counted(math.perm, n, k)
        factorial = 0 if k > 20 else _counted(math.factorial, k)
        assert row == [comb, perm, factorial, factorial], (n, k)


@dppy.kernel
def counts_bits(out, a):
    i = dppy.get_global_id(0)
    out[i] = np.bitwise_count(a[i])


@every_dialect
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]
)
def test_bitwise_count_of_each_width_is_the_number_of_set_bits(backend, dtype):
    if dtype == "bool":
        a = np.array([False, True])
    else:
        limits = np.iinfo(dtype)
        a = np.array([0, 1, 2, 7, 100, limits.max, limits.max - 1, limits.min], dtype)
        if limits.min:
            a = np.append(a, np.array([-1, -2, -100, limits.min + 1], dtype))
    out, _ = backend.run(counts_bits, a.size, None, np.zeros(a.size, "u1"), a)
    assert out.tolist() == [int(x).bit_count() for x in a.tolist()]


@dppy.kernel
def of_parts(out, exponents, x, y, scale):
    i = dppy.get_global_id(0)
    mantissa, exponent = math.frexp(x[i])
    out[i, 0] = mantissa
    exponents[i] = exponent
    out[i, 1] = math.ldexp(x[i], scale[i])
    out[i, 2] = math.nextafter(x[i], y[i])
    out[i, 3] = math.ulp(x[i])
    fraction, whole = math.modf(x[i])
    out[i, 4] = fraction
    out[i, 5] = whole
    again, _ = np.frexp(x[i])
    out[i, 6] = np.ldexp(again, exponent)
    out[i, 7] = np.nextafter(y[i], x[i])


@every_dialect
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_float_parts(backend, dtype):
    if dtype == "float16" and backend.marker == "sycl" and not backend.device.has_aspect_fp16:
        pytest.skip("the device has no float16")
    inf, nan, largest = math.inf, math.nan, float(np.finfo(dtype).max)
    x = np.array([1, -1.5, 0.1, 1000.25, 0, -0.0, largest, -largest, inf, -inf, nan, 1, 1], dtype)
    y = np.array([2, -inf, 0, inf, 1, -1, inf, inf, 0, inf, 1, 1, nan], dtype)
    scale = np.array([3, -2, 0, 2**40, 5, -(2**40), 1, -3, 2, -2, 1, 4, -5], "i8")
    n = len(x)
    out, exponents, *_ = backend.run(
        of_parts, n, None, np.zeros((n, 8), dtype), np.zeros(n, "i8"), x, y, scale
    )
    with np.errstate(all="ignore"):
        mantissas, powers = np.frexp(x)
        scaled = np.ldexp(x, np.clip(scale, -5000, 5000))
        size, infinity, nothing = np.abs(x), np.array(inf, dtype), np.array(0, dtype)
        last = np.where(
            size == largest, size - np.nextafter(size, nothing), np.nextafter(size, infinity) - size
        )
        expected = [mantissas, scaled, np.nextafter(x, y), last]
    last[np.isinf(x)] = inf
    fractions = np.array([math.modf(v) for v in x.tolist()], dtype)
    finite = np.isfinite(x)
    assert np.array_equal(exponents, np.where(finite, powers, 0))
    expected += [fractions[:, 0], fractions[:, 1], x, np.nextafter(y, x)]
    for column, values in zip(out.T, expected, strict=True):
        assert np.array_equal(column, values.astype(dtype), equal_nan=True)
        known = ~np.isnan(values)
        assert np.array_equal(np.signbit(column[known]), np.signbit(values[known]))


@every_backend
def test_float_parts_of_subnormals(backend):
    x = np.array([5e-324, -1e-310, 2.2250738585072014e-308])
    scale = np.array([1074, 52, -1], "i8")
    out, exponents, *_ = backend.run(
        of_parts, 3, None, np.zeros((3, 8)), np.zeros(3, "i8"), x, np.zeros(3), scale
    )
    pairs = [math.frexp(v) for v in x.tolist()]
    assert exponents.tolist() == [exponent for _, exponent in pairs]
    assert out[:, 0].tolist() == [mantissa for mantissa, _ in pairs]
    assert out[:, 1].tolist() == [
        math.ldexp(v, e) for v, e in zip(x.tolist(), scale.tolist(), strict=True)
    ]
    assert out[:, 3].tolist() == [5e-324] * 3
    assert out[:, 6].tolist() == x.tolist()


@dppy.kernel
def of_tuples(out, x):
    i = dppy.get_global_id(0)
    row = (x[i, 0], x[i, 1], x[i, 2], x[i, 3])
    out[i, 0] = math.fsum(row)
    out[i, 1] = math.prod(row)
    out[i, 2] = math.prod(row, start=2)
    out[i, 3] = math.dist(row, (1, 1, 0.5, 2))
    out[i, 4] = math.hypot(x[i, 0], x[i, 1], x[i, 2])
    out[i, 5] = math.hypot(x[i, 0]) + math.hypot() + math.prod(()) + math.fsum(())


@every_dialect
def test_functions_of_tuples(backend):
    x = np.array(
        [
            [1, 2, 3, 4],
            [1e16, 1, -1e16, 1],
            [0.1, 0.2, 0.3, -0.6],
            [1e100, 1, -1e100, 1e-3],
            [1, math.inf, 2, 3],
        ]
    )
    (out, _) = backend.run(of_tuples, 5, None, np.zeros((5, 6)), x)
    for values, row in zip(out.tolist(), x.tolist(), strict=True):
        assert values[0] == math.fsum(row)
        expected = [
            math.prod(row),
            2 * math.prod(row),
            math.dist(row, (1, 1, 0.5, 2)),
            math.hypot(*row[:3]),
            abs(row[0]) + 1,
        ]
        assert values[1:] == pytest.approx(expected, rel=1e-14, abs=1e-15)


@dppy.kernel
def distances(out, p, q):
    i = dppy.get_global_id(0)
    out[i] = math.dist((p[i], q[i]), (q[i], p[i]))


@every_backend
def test_distances_of_unsigned_integers(backend):
    p, q = np.array([1, 250, 7], "u1"), np.array([4, 0, 7], "u1")
    (out, *_) = backend.run(distances, 3, None, np.zeros(3), p, q)
    assert out == pytest.approx(
        [math.dist((a, b), (b, a)) for a, b in zip(p.tolist(), q.tolist(), strict=True)], rel=1e-15
    )


@dppy.kernel
def products(out, x):
    i = dppy.get_global_id(0)
    out[i] = math.sumprod((x[i, 0], x[i, 1]), (x[i, 1], 3))  # type: ignore[attr-defined] # from 3.12 on


@every_backend
@pytest.mark.skipif(sys.version_info < (3, 12), reason="math.sumprod is of Python 3.12")
def test_sums_of_products(backend):
    x = np.array([[1, 2], [0.5, -4]], "f4")
    (out, _) = backend.run(products, 2, None, np.zeros(2), x)
    assert out.tolist() == [8, -14]


@dppy.kernel
def of_complex(out, z):
    i = dppy.get_global_id(0)
    v = z[i]
    out[i, 0] = cmath.exp(v)
    out[i, 1] = cmath.log(v)
    out[i, 2] = cmath.sqrt(v)
    out[i, 3] = cmath.sin(v)
    out[i, 4] = cmath.cos(v)
    out[i, 5] = cmath.tan(v)
    out[i, 6] = cmath.sinh(v)
    out[i, 7] = cmath.cosh(v)
    out[i, 8] = cmath.tanh(v)
    out[i, 9] = cmath.asin(v)
    out[i, 10] = cmath.acos(v)
    out[i, 11] = cmath.atan(v)
    out[i, 12] = cmath.asinh(v)
    out[i, 13] = cmath.acosh(v)
    out[i, 14] = cmath.atanh(v)
    out[i, 15] = cmath.log10(v)
    out[i, 16] = cmath.log(v, 3)
    size, angle = cmath.polar(v)
    out[i, 17] = complex(size, angle)
    out[i, 18] = cmath.rect(size, angle)
    out[i, 19] = cmath.phase(v)
    out[i, 20] = np.sqrt(v) + np.exp(v)
    out[i, 21] = cmath.sqrt(v.real) + cmath.exp(2)


OF_COMPLEX = [
    cmath.exp, cmath.log, cmath.sqrt, cmath.sin, cmath.cos, cmath.tan, cmath.sinh, cmath.cosh,
    cmath.tanh, cmath.asin, cmath.acos,
    cmath.atan, cmath.asinh, cmath.acosh, cmath.atanh, cmath.log10, lambda z: cmath.log(z, 3),
    lambda z: complex(*cmath.polar(z)),
    lambda z: z, lambda z: complex(cmath.phase(z)), lambda z: cmath.sqrt(z) + cmath.exp(z),
    lambda z: cmath.sqrt(z.real) + cmath.exp(2),
]  # fmt: skip


@every_dialect
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions(backend, dtype):
    z = np.array(
        [
            1 + 2j,
            -1.5 + 0.25j,
            -2 - 1j,
            0.3 - 0.7j,
            3j,
            -3j,
            2,
            -2,
            0.5,
            -0.5,
            1.01 + 0.1j,
            25 + 1j,
            -30 - 2j,
            1e-3j,
        ],
        dtype,
    )
    z = np.concatenate(
        [
            z,
            np.array(
                [complex(-2, -0.0), complex(2, -0.0), complex(-0.0, 2), complex(0.0, -2)], dtype
            ),
        ]
    )
    (out, _) = backend.run(of_complex, len(z), None, np.zeros((len(z), len(OF_COMPLEX)), dtype), z)
    expected = np.array([[function(v) for function in OF_COMPLEX] for v in z.tolist()])
    single = dtype == "complex64"
    for k in range(len(OF_COMPLEX)):
        size = np.abs(expected[:, k])
        assert np.all(
            np.abs(out[:, k] - expected[:, k])
            <= (2e-5 if single else 1e-13) * np.maximum(size, 1e-3)
        ), k


@every_backend
def test_complex_functions_at_extreme_magnitudes(backend):
    z = np.array([1e200 + 1e200j, -1e200j, 1e-200 + 1e-200j, 1 + 1e-9j, 1 + 0j, 1e16 + 1j, -1e18j])
    (out, _) = backend.run(of_complex, len(z), None, np.zeros((len(z), len(OF_COMPLEX)), "c16"), z)
    for k in (1, 2, 15):  # log, sqrt, log10
        expected = np.array([OF_COMPLEX[k](v) for v in z.tolist()])
        assert np.allclose(out[:, k], expected, rtol=1e-14, atol=0)
    for k in (9, 10, 11, 12, 13):  # the inverse functions but atanh, which has none at 1
        assert np.allclose(
            out[:, k], [OF_COMPLEX[k](v) for v in z.tolist()], rtol=1e-14, atol=1e-300
        )


@every_backend
def test_extreme_complex_numbers(backend):
    inf = math.inf
    z = np.array(
        [
            1.5e308 + 1.5e308j,
            5e-324,
            1e-323 + 1e-323j,
            -5e-324j,
            -3e-320 + 1e-310j,
            complex(-inf, inf),
        ]
    )
    (out, _) = backend.run(of_complex, len(z), None, np.zeros((len(z), len(OF_COMPLEX)), "c16"), z)
    for k in (1, 2):  # log, sqrt
        assert np.allclose(out[:, k], [OF_COMPLEX[k](v) for v in z.tolist()], rtol=1e-14, atol=0)
    assert out[-1, 0] == 0


@dppy.kernel
def told_of_complex(out, z, w):
    i = dppy.get_global_id(0)
    out[i, 0] = cmath.isnan(z[i])
    out[i, 1] = cmath.isinf(z[i])
    out[i, 2] = cmath.isfinite(z[i])
    out[i, 3] = cmath.isclose(z[i], w[i])
    out[i, 4] = np.isnan(z[i])
    out[i, 5] = cmath.isfinite(z[i].real)


@every_dialect
def test_complex_predicates(backend):
    z = np.array(
        [
            1 + 2j,
            complex(math.nan, 1),
            complex(1, math.nan),
            complex(math.inf, 0),
            complex(0, -math.inf),
            complex(math.inf, math.nan),
            complex(math.inf, 0),
            5,
        ]
    )
    w = np.array([v * (1 + 1e-10) if cmath.isfinite(v) else v for v in z.tolist()])
    w[-2:] = [5, complex(math.inf, 0)]
    (out, *_) = backend.run(told_of_complex, 8, None, np.zeros((8, 6), "?"), z, w)
    for row, v, other in zip(out.tolist(), z.tolist(), w.tolist(), strict=True):
        close = cmath.isclose(v, other)
        assert row == [
            cmath.isnan(v),
            cmath.isinf(v),
            cmath.isfinite(v),
            close,
            cmath.isnan(v),
            math.isfinite(v.real),
        ]


@dppy.kernel
def weak_mathematics(out, k):
    i = dppy.get_global_id(0)
    out[i, 0] = k[i] + math.gcd(12, 18)
    out[i, 1] = k[i] + math.comb(5, 2)
    mantissa, exponent = math.frexp(12.0)
    out[i, 2] = exponent + mantissa * 16
    out[i, 3] = math.hypot(3, 4) + abs(cmath.rect(2, 0))


@every_backend
def test_functions_of_literals(backend):
    (out, _) = backend.run(weak_mathematics, 2, None, np.zeros((2, 4)), np.array([1, 120], "i1"))
    # A calculated integer is int64.
    assert out.tolist() == [[7, 11, 16, 7], [126, 130, 16, 7]]


@dppy.kernel
def bfloats(out, x, y):
    i = dppy.get_global_id(0)
    out[i, 0] = math.nextafter(x[i], y[i])
    out[i, 1] = math.ulp(x[i])
    mantissa, exponent = math.frexp(x[i])
    out[i, 2] = math.ldexp(mantissa, exponent)


@every_backend
def test_functions_of_bfloat16(backend):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x, y = (
        np.array(v, ml_dtypes.bfloat16) for v in ([1, -1, 0, 3e38, 100], [2, 0, -1, math.inf, -100])
    )
    (out, *_) = backend.run(bfloats, 5, None, np.zeros((5, 3)), x, y)
    step = 2.0**-7
    assert out[:, 0].tolist()[:2] == [1 + step, -1 + step / 2]
    assert out[4, 0] == 100 - 0.5
    assert out[:, 1].tolist()[:2] == [step, step]
    assert out[:, 2].tolist() == x.astype("f8").tolist()


@dppy.kernel
def remainders(out, x, y):
    i = dppy.get_global_id(0)
    out[i] = math.remainder(x[i], y[i])


@every_backend
def test_remainder_is_to_the_nearest(backend):
    x, y = np.array([5, 4, -5, 7.5, 2.5]), np.array([3, 3, 3, 5, 1.0])
    (out, *_) = backend.run(remainders, 5, None, np.zeros(5), x, y)
    assert out.tolist() == [
        math.remainder(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]


def test_simulator_has_all_functions_of_math_and_cmath():
    """Every function of math and cmath, except additions of Python 3.15."""
    from entrepot.kernel.simulator import mathematics
    from entrepot.kernel.simulator.arithmetic import MATHEMATICAL

    newer = {"fmax", "fmin", "isnormal", "issubnormal", "signbit", "integer"}
    of_math = {
        name for name, value in vars(math).items() if callable(value) and name[0] != "_"
    } - newer
    of_cmath = {name for name, value in vars(cmath).items() if callable(value) and name[0] != "_"}
    assert of_math <= {*MATHEMATICAL, *mathematics.OF_NUMBERS}
    assert of_cmath <= set(mathematics.OF_COMPLEX)
