"""``cuda.libdevice``: results of its functions, and of those that round in a direction."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest

from entrepot import numba_cuda as cuda
from entrepot.numba_cuda import libdevice

pytestmark = pytest.mark.numpy

X = np.array([0.25, -0.75, 1.5, 2.5, 0.9], "f8")


@cuda.jit
def of_floats(x, out):
    i = cuda.grid(1)
    out[i, 0] = libdevice.sin(x[i])
    out[i, 1] = libdevice.sqrtf(abs(x[i]))
    out[i, 2] = libdevice.round(x[i])
    out[i, 3] = libdevice.rsqrt(abs(x[i]))
    out[i, 4] = libdevice.fmax(x[i], 0.5)
    out[i, 5] = libdevice.fdim(x[i], 0.5)
    out[i, 6] = libdevice.saturatef(x[i])
    out[i, 7] = libdevice.normcdf(x[i])
    out[i, 8] = libdevice.ldexp(x[i], 3)
    out[i, 9] = libdevice.ilogb(x[i])
    out[i, 10] = libdevice.signbitd(x[i])
    out[i, 11] = libdevice.sinpi(x[i])
    out[i, 12] = libdevice.fast_expf(x[i])
    out[i, 13] = libdevice.powi(x[i], 3)
    out[i, 14] = libdevice.exp10(x[i])


def test_functions_of_floats_equal_python(runner):
    _, out = runner.run(of_floats, 1, X.size, X, np.zeros((X.size, 15)))
    for x, row in zip(X.tolist(), out.tolist(), strict=True):
        expected = [
            math.sin(x),
            math.sqrt(abs(x)),
            math.copysign(math.floor(abs(x) + 0.5), x),
            1 / math.sqrt(abs(x)),
            max(x, 0.5),
            max(x - 0.5, 0),
            min(max(x, 0), 1),
            0.5 * math.erfc(-x / math.sqrt(2)),
            8 * x,
            math.frexp(x)[1] - 1,
            x < 0,
            math.sin(math.pi * x),
            math.exp(x),
            x**3,
            10**x,
        ]
        np.testing.assert_allclose(row, expected, rtol=1e-6)


@cuda.jit
def inverses(y, out):
    i = cuda.grid(1)
    out[i, 0] = libdevice.erfinv(y[i])
    out[i, 1] = libdevice.erfcinv(y[i] + 1)
    out[i, 2] = libdevice.normcdfinv((y[i] + 1) / 2)
    out[i, 3] = libdevice.erfcx(20 * y[i])


def test_inverses_of_the_error_function_are_inverse(runner):
    y = np.array([-0.99, -0.5, 1e-9, 0.3, 0.9, 0.999999])
    _, out = runner.run(inverses, 1, y.size, y, np.zeros((y.size, 4)))
    for value, (x, of_complement, normal, _) in zip(y.tolist(), out.tolist(), strict=True):
        np.testing.assert_allclose(math.erf(x), value, rtol=1e-13)
        np.testing.assert_allclose(math.erfc(of_complement), value + 1, rtol=1e-13)
        np.testing.assert_allclose(
            math.erfc(-normal / math.sqrt(2)) / 2, (value + 1) / 2, rtol=1e-13
        )
    t = np.linspace(0, 4, 200_001)
    for value, found in zip(20 * y[-3:], out[-3:, 3], strict=True):
        integral = np.trapezoid(np.exp(-t * t - 2 * value * t), t)
        np.testing.assert_allclose(found, 2 / math.sqrt(math.pi) * integral, rtol=1e-6)


@cuda.jit
def of_integers(x, y, out):
    i = cuda.grid(1)
    out[i, 0] = libdevice.mulhi(x[i], y[i])
    out[i, 1] = libdevice.mul64hi(x[i] << 32, y[i] << 30)
    out[i, 2] = libdevice.hadd(x[i], y[i])
    out[i, 3] = libdevice.rhadd(x[i], y[i])
    out[i, 4] = libdevice.sad(x[i], y[i], 10)
    out[i, 5] = libdevice.llmax(x[i], y[i])
    out[i, 6] = libdevice.popc(x[i]) + libdevice.clz(x[i])
    out[i, 7] = libdevice.byte_perm(0x33221100, 0x77665544, 0x7250)
    out[i, 8] = libdevice.mul24(x[i], y[i])


def test_functions_of_integers_equal_python(runner):
    x = np.array([7, -100000, 2**31 - 1, -5], "i8")
    y = np.array([3, 123456, 2**31 - 1, 4], "i8")
    *_, out = runner.run(of_integers, 1, 4, x, y, np.zeros((4, 9), "i8"))

    def low24(value: int) -> int:
        return ((value & 0xFFFFFF) ^ 0x800000) - 0x800000

    for a, b, row in zip(x.tolist(), y.tolist(), out.tolist(), strict=True):
        bits = a & 0xFFFFFFFF
        product = (low24(a) * low24(b) + 2**31) % 2**32 - 2**31
        high = (((a << 32) + 2**63) % 2**64 - 2**63) * (b << 30) >> 64
        assert row == [
            a * b >> 32,
            high,
            (a + b) >> 1,
            (a + b + 1) >> 1,
            abs(a - b) + 10,
            max(a, b),
            bits.bit_count() + 32 - bits.bit_length(),
            0x77225500,
            product,
        ]


@cuda.jit
def directed(x, y, out):
    i = cuda.grid(1)
    out[i, 0] = libdevice.dadd_rd(x[i], y[i])
    out[i, 1] = libdevice.dadd_ru(x[i], y[i])
    out[i, 2] = libdevice.dadd_rz(x[i], y[i])
    out[i, 3] = libdevice.dmul_rd(x[i], y[i])
    out[i, 4] = libdevice.dmul_ru(x[i], y[i])
    out[i, 5] = libdevice.ddiv_rd(x[i], y[i])
    out[i, 6] = libdevice.ddiv_ru(x[i], y[i])
    out[i, 7] = libdevice.double2float_rd(x[i])
    out[i, 8] = libdevice.double2float_ru(x[i])
    out[i, 9] = libdevice.double2int_rz(x[i])
    out[i, 10] = libdevice.double2int_rd(x[i])
    out[i, 11] = libdevice.ll2double_ru(9007199254740993)
    out[i, 12] = libdevice.int2float_rd(16777217)
    out[i, 13] = libdevice.dadd_rn(x[i], y[i])


def test_results_are_rounded_in_the_direction(runner):
    if runner.backend.simulates:
        pytest.skip("the simulator's fma rounds twice")
    x = np.array([0.1, -1.3, 1e10 + 0.3])
    y = np.array([0.7, 3.3, -0.1])
    *_, out = runner.run(directed, 1, 3, x, y, np.zeros((3, 14)))
    for a, b, row in zip(x.tolist(), y.tolist(), out.tolist(), strict=True):
        exact = Fraction(a) + Fraction(b)
        for below, above, value in [
            (row[0], row[1], exact),
            (row[3], row[4], Fraction(a) * Fraction(b)),
            (row[5], row[6], Fraction(a) / Fraction(b)),
        ]:
            assert Fraction(below) <= value <= Fraction(above)
            assert above in (below, math.nextafter(below, math.inf))
        assert abs(row[2]) <= abs(exact)
        assert row[7] <= a <= row[8]
        assert np.float32(row[8]) in (
            np.float32(row[7]),
            np.nextafter(np.float32(row[7]), np.float32(np.inf)),
        )
        assert (row[9], row[10]) == (
            np.float64(a).astype("i4") if abs(a) < 2**31 else row[9],
            math.floor(a) if abs(a) < 2**31 else row[10],
        )
        assert row[11:] == [9007199254740994, 16777216, a + b]


@cuda.jit
def largest(i32, u32, i64, u64, out):
    out[0] = libdevice.int2float_rd(i32[0])
    out[1] = libdevice.int2float_ru(i32[0])
    out[2] = libdevice.uint2float_rd(u32[0])
    out[3] = libdevice.uint2float_ru(u32[0])
    out[4] = libdevice.ll2double_rd(i64[0])
    out[5] = libdevice.ll2double_ru(i64[0])
    out[6] = libdevice.ull2float_rz(u64[0])
    out[7] = libdevice.ull2float_ru(u64[0])


def test_largest_integers_are_rounded_in_the_direction(runner):
    numbers = [np.array([np.iinfo(each).max], each) for each in ("i4", "u4", "i8", "u8")]
    *_, out = runner.run(largest, 1, 1, *numbers, np.zeros(8))
    above = [2.0**bits for bits in (31, 32, 63, 64)]
    steps = [2.0**7, 2.0**8, 2.0**10, 2.0**40]
    below = [limit - step for limit, step in zip(above, steps, strict=True)]
    assert out[0::2].tolist() == below
    assert out[1::2].tolist() == above


@cuda.jit
def counted(count, out):
    out[0] = libdevice.double2float_ru(cuda.atomic.add(count, 0, 1))
    out[1] = libdevice.int2float_rd(cuda.atomic.add(count, 1, 1))
    out[2] = libdevice.ll2double_rz(cuda.atomic.add(count, 2, 1))
    out[3] = cuda.eq_sync(0xFFFFFFFF, cuda.atomic.add(count, 3, 1))
    out[4] = cuda.eq_sync(1, cuda.atomic.add(count, 4, 1))


def test_argument_of_a_function_is_evaluated_once(runner):
    count, _ = runner.run(counted, 1, 1, np.zeros(5, "i4"), np.zeros(5))
    assert count.tolist() == [1] * 5


@cuda.jit
def reinterpreted(x, out):
    i = cuda.grid(1)
    out[i, 0] = libdevice.float_as_int(x[i])
    out[i, 1] = libdevice.double_as_longlong(x[i])
    out[i, 2] = libdevice.double2hiint(x[i])
    out[i, 3] = libdevice.double2loint(x[i])
    high, low = libdevice.double2hiint(x[i]), libdevice.double2loint(x[i])
    out[i, 4] = libdevice.hiloint2double(high, low) == x[i]
    out[i, 5] = libdevice.int_as_float(libdevice.float_as_int(x[i])) == libdevice.double2float_rn(
        x[i]
    )
    out[i, 6] = libdevice.longlong_as_double(libdevice.double_as_longlong(x[i])) == x[i]


def test_bits_of_floats_are_reinterpreted(runner):
    _, out = runner.run(reinterpreted, 1, X.size, X, np.zeros((X.size, 7), "i8"))
    for x, row in zip(X.tolist(), out.tolist(), strict=True):
        (long,) = struct.unpack("<q", struct.pack("<d", x))
        (narrow,) = struct.unpack("<i", struct.pack("<f", x))
        low, high = struct.unpack("<ii", struct.pack("<d", x))
        assert row == [narrow, long, high, low, 1, 1, 1]


@cuda.jit
def pairs(x, out):
    i = cuda.grid(1)
    sine, cosine = libdevice.sincos(x[i])
    fraction, whole = libdevice.modf(x[i])
    rest, quotient = libdevice.remquo(x[i], 0.4)
    out[i, 0] = sine
    out[i, 1] = cosine
    out[i, 2] = fraction
    out[i, 3] = whole
    out[i, 4] = rest
    out[i, 5] = quotient


def test_functions_of_several_results_equal_python(runner):
    _, out = runner.run(pairs, 1, X.size, X, np.zeros((X.size, 6)))
    for x, row in zip(X.tolist(), out.tolist(), strict=True):
        rest = math.remainder(x, 0.4)
        expected = [math.sin(x), math.cos(x), *math.modf(x), rest, round((x - rest) / 0.4)]
        np.testing.assert_allclose(row, expected, atol=1e-12)


NAMES = libdevice.functions()


def test_functions_all_compile():
    """Each function of one to three floats or integers is compiled by the host's compiler."""
    text = "def every(out, x, y, z):\n"
    for place, name in enumerate(NAMES):
        macro = getattr(libdevice, name)
        given = None
        for count in (1, 2, 3):
            arguments = [f"{each}[{place}]" for each in "xyz"[:count]]
            if not isinstance(_expanded(macro, arguments), str):
                given = arguments
                break
        assert given, name
        text += f"    r{place} = libdevice.{name}({', '.join(given)})\n"
    from entrepot.kernel.source import make

    function = make("every", text, {"libdevice": libdevice})
    kernel = cuda.jit("void(float64[:], float64[:], float64[:], float64[:])")(function)
    assert kernel.specialized


def _expanded(macro, arguments):
    import ast

    call = ast.parse(f"f({', '.join(arguments)})", mode="eval").body
    return macro.expand(call, {})
