"""Types and values of numbers by Numba's rules, against Numba itself and a table."""

from __future__ import annotations

import itertools
import operator
import warnings

import numpy as np
import pytest

import entrepot as ep
from entrepot import numba_cuda as cuda
from entrepot.kernel.signatures import kernel_signature_of
from entrepot.kernel.simulator import numba_rules

pytestmark = pytest.mark.numpy

WHOLE = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
NAMES = [*WHOLE, *"float16 float32 float64 complex64 complex128".split()]

#: Results of `+` and of choices between two numbers, by Numba 0.68's typing of CUDA kernels. The
#: rows and columns are those of NAMES.
_COMBINED = """
i64 i64 i64 i64 i64 i64 i64 i64 i64 f16 f32 f64 c64 c128
i64 i64 i64 i64 i64 i64 i64 i64 i64 f16 f32 f64 c64 c128
i64 i64 i64 i64 i64 i64 i64 i64 i64 f32 f32 f64 c64 c128
i64 i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 c128 c128
i64 i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 c128 c128
i64 i64 i64 i64 i64 u64 u64 u64 u64 f32 f32 f64 c64 c128
i64 i64 i64 i64 i64 u64 u64 u64 u64 f64 f64 f64 c128 c128
i64 i64 i64 i64 i64 u64 u64 u64 u64 f64 f64 f64 c128 c128
i64 i64 i64 i64 i64 u64 u64 u64 u64 f64 f64 f64 c128 c128
f16 f16 f32 f64 f64 f32 f64 f64 f64 f16 f32 f64 c64 c128
f32 f32 f32 f64 f64 f32 f64 f64 f64 f32 f32 f64 c64 c128
f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128
c64 c64 c64 c128 c128 c64 c128 c128 c128 c64 c64 c128 c64 c128
c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128
"""
_UNIFIED = """
b i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 c64 c128
i8 i8 i16 i32 i64 i16 i32 i64 f64 f16 f32 f64 c64 c128
i16 i16 i16 i32 i64 i16 i32 i64 f64 f32 f32 f64 c64 c128
i32 i32 i32 i32 i64 i32 i32 i64 f64 f64 f64 f64 c128 c128
i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 f64 c128 c128
u8 i16 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 c64 c128
u16 i32 i32 i32 i64 u16 u16 u32 u64 f32 f32 f64 c64 c128
u32 i64 i64 i64 i64 u32 u32 u32 u64 f64 f64 f64 c128 c128
u64 f64 f64 f64 f64 u64 u64 u64 u64 f64 f64 f64 c128 c128
f16 f16 f32 f64 f64 f16 f32 f64 f64 f16 f32 f64 c64 c128
f32 f32 f32 f64 f64 f32 f32 f64 f64 f32 f32 f64 c64 c128
f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128
c64 c64 c64 c128 c128 c64 c64 c128 c128 c64 c64 c128 c64 c128
c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128
"""
LONG = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


def table(text):
    rows = [line.split() for line in text.split("\n") if line]
    return {
        (left, right): LONG[cell[0]] + cell[1:]
        for left, row in zip(NAMES, rows, strict=True)
        for right, cell in zip(NAMES, row, strict=True)
    }


COMBINED, UNIFIED = table(_COMBINED), table(_UNIFIED)
PAIRS = list(itertools.product(NAMES, NAMES))
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "<<": operator.lshift,
    ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
IN_ARITHMETIC = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide",
    "%": "modulo", "**": "power", "<<": "shift_left", ">>": "shift_right", "&": "bit_and",
    "|": "bit_or", "^": "bit_xor",
}  # fmt: skip


def expected_type(sign, left, right):
    """The type by the tables above; None if Numba has no such operator."""
    whole = left in WHOLE and right in WHOLE
    if sign in ("<<", ">>"):
        return COMBINED[left, left] if whole else None
    if sign in ("&", "|", "^"):
        return ("bool" if left == right == "bool" else COMBINED[left, right]) if whole else None
    if sign == "/" and whole:
        return "float64"
    found = COMBINED[left, right]
    if sign in ("//", "%") and found.startswith("complex"):
        return None
    if sign == "**" and left.startswith("float") and right in WHOLE and right != "bool":
        found = left
    return "float32" if sign in ("//", "%", "**") and found == "float16" else found


@cuda.jit
def operated(a, b, out):
    add = a[0] + b[0]
    subtract = a[0] - b[0]
    multiply = a[0] * b[0]
    divide = a[0] / b[0]
    power = a[0] ** b[0]
    out[0] = add.real + subtract.real + multiply.real + divide.real + power.real


@cuda.jit
def operated_real(a, b, out):
    floor_divide = a[0] // b[0]
    modulo = a[0] % b[0]
    least = min(a[0], b[0])
    chosen = a[0] if out[0] > 0 else b[0]
    both = a[0]
    both = b[0]
    out[0] = floor_divide + modulo + least + chosen + both


@cuda.jit
def operated_whole(a, b, out):
    shift_left = a[0] << b[0]
    shift_right = a[0] >> b[0]
    bit_and = a[0] & b[0]
    bit_or = a[0] | b[0]
    bit_xor = a[0] ^ b[0]
    out[0] = shift_left + shift_right + bit_and + bit_or + bit_xor


KERNELS = {
    **dict.fromkeys(("+", "-", "*", "/", "**"), operated),
    **dict.fromkeys(("//", "%"), operated_real),
    **dict.fromkeys(("<<", ">>", "&", "|", "^"), operated_whole),
}


def compiled_type(kernel, variable, left, right):
    signature = kernel_signature_of(f"void({left}[::1], {right}[::1], float64[::1])")
    return str(kernel.kernel._type_of(variable, signature, ep.device("host")))


@pytest.mark.parametrize("sign", OPERATORS)
def test_operator_has_the_type_of_the_table(sign):
    for left, right in PAIRS:
        wanted = expected_type(sign, left, right)
        if wanted:
            found = compiled_type(KERNELS[sign], IN_ARITHMETIC[sign], left, right)
            assert found == wanted, (left, sign, right)


@pytest.mark.parametrize("variable", ["least", "chosen", "both"])
def test_choice_has_the_type_of_the_table(variable):
    for left, right in PAIRS:
        wanted = UNIFIED[left, right]
        if wanted.startswith("complex"):
            continue
        if variable == "least" and wanted == "bool":
            wanted = "int64"  # Numba has no least of two bools
        assert compiled_type(operated_real, variable, left, right) == wanted, (left, right)


@pytest.mark.parametrize("sign", OPERATORS)
def test_simulated_operator_has_the_type_of_the_table(sign):
    operation = numba_rules.OPERATIONS[IN_ARITHMETIC[sign]]
    for left, right in PAIRS:
        wanted = expected_type(sign, left, right)
        if wanted:
            with np.errstate(all="ignore"):
                found = operation(np.dtype(left).type(1), np.dtype(right).type(1))
            assert found.dtype == wanted, (left, sign, right)


@pytest.fixture(scope="module")
def numbas_types():
    """Numba's typing of operators in CUDA kernels, which needs no GPU."""
    pytest.importorskip("numba")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target = pytest.importorskip("numba.cuda.descriptor").cuda_target
        context = target.typing_context
        context.refresh()
    return context


def numba_type(name):
    from numba import types

    return getattr(types, "boolean" if name == "bool" else name)


@pytest.mark.parametrize("sign", OPERATORS)
def test_table_has_the_types_of_numba(sign, numbas_types):
    for left, right in PAIRS:
        if sign == "**" and (left, right) == ("bool", "int32"):
            continue  # Numba finds float32 ** int32
        try:
            found = numbas_types.resolve_function_type(
                OPERATORS[sign], (numba_type(left), numba_type(right)), {}
            )
        except Exception:  # no such operator
            found = None
        wanted = expected_type(sign, left, right)
        if found is not None and wanted is not None:
            assert str(found.return_type) == wanted, (left, sign, right)


def test_table_has_the_choices_of_numba(numbas_types):
    for left, right in PAIRS:
        found = numbas_types.unify_pairs(numba_type(left), numba_type(right))
        assert str(found) == UNIFIED[left, right], (left, right)


# ------------------------------------------------------------------------------------- values


def values_of(name):
    if np.dtype(name).kind == "f":
        return np.array([0.1, 1.7, 3.3, 255.5, 1e6 + 0.3], name)
    limits = np.iinfo(name)
    return np.array([1, 3, 7, limits.max // 2, limits.max], name)


@cuda.jit
def all_operators(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x / y
        out[4, i] = x // y
        out[5, i] = x % y
        out[6, i] = x + 1
        out[7, i] = x * 0.1
        out[8, i] = -(x * 1)
        out[9, i] = (x < y) + 2 * (x == y)
        out[10, i] = max(x, y)
        out[11, i] = float(x) / 3


def by_numba(a, b):
    """Applies the operators by Numba's compiler for the CPU, whose rules are those of CUDA."""
    numba = pytest.importorskip("numba")

    @numba.njit
    def run(a, b, out):
        for i in range(a.size):
            x, y = a[i], b[i]
            out[0, i] = x + y
            out[1, i] = x - y
            out[2, i] = x * y
            out[3, i] = x / y
            out[4, i] = x // y
            out[5, i] = x % y
            out[6, i] = x + 1
            out[7, i] = x * 0.1
            out[8, i] = -(x * 1)
            out[9, i] = (x < y) + 2 * (x == y)
            out[10, i] = max(x, y)
            out[11, i] = float(x) / 3

    out = np.zeros((12, a.size))
    run(a, b, out)
    return out


@pytest.mark.parametrize("left", ["int8", "uint8", "int32", "uint32", "float32"])
@pytest.mark.parametrize("right", ["uint8", "int32", "float32"])
def test_operators_have_the_values_of_numba(runner, left, right):
    a, b = values_of(left), values_of(right)[::-1].copy()
    _, _, out = runner.run(all_operators, 1, 8, a, b, np.zeros((12, a.size)))
    np.testing.assert_allclose(out, by_numba(a, b), rtol=1e-15)


@cuda.jit
def sums(a, out):
    total = 0
    mean = 0.0
    for i in range(a.size):
        total += a[i]
        mean += a[i] / a.size
    out[0] = total
    out[1] = mean


def test_sum_of_small_integers_does_not_wrap(runner):
    a = np.full(1000, 200, "uint8")
    _, out = runner.run(sums, 1, 1, a, np.zeros(2))
    assert out[0] == 200_000
    assert out[1] == pytest.approx(200)


def test_sum_of_floats_is_a_float64(runner):
    a = np.full(1000, 0.1, "float32")
    _, out = runner.run(sums, 1, 1, a, np.zeros(2))
    total, mean = 0.0, 0.0
    for each in a.astype("f8"):
        total, mean = total + each, mean + each / a.size
    assert out[0] == total


@cuda.jit
def counted_down(n, out):
    n = n - 0.5
    out[0] = n


def test_argument_that_is_assigned_a_wider_number_is_widened(runner):
    (out,) = runner.run(counted_down, 1, 1, np.int32(3), np.zeros(1))
    assert out.tolist() == [2.5]


@cuda.jit
def with_literals(a, out):
    out[0] = a[0] & 0xFFFFFFFFFFFFFFFF
    out[1] = a[0] == 300
    out[2] = a[0] > -1
    out[3] = ~a[0]
    out[4] = int(a[0]) << 60


def test_literals_have_types_of_their_own(runner):
    _, out = runner.run(with_literals, 1, 1, np.array([255], "uint8"), np.zeros(5, "uint64"))
    assert out.tolist() == [255, 0, 1, 2**64 - 256, 2**60 * (255 % 16)]


@cuda.jit(device=True)
def half_of(x):
    return x * 0.5


@cuda.jit
def of_vectors(a, out):
    v = cuda.float32x2(a[0], a[1])
    w = v * 0.1
    out[0] = w.x
    out[1] = half_of(a[0])


def test_components_of_vectors_keep_their_type(runner):
    a = np.array([0.3, 0.7], "f4")
    _, out = runner.run(of_vectors, 1, 1, a, np.zeros(2))
    assert out[0] == np.float64(np.float32(a[0] * np.float32(0.1)))
    assert out[1] == np.float64(a[0]) * 0.5
