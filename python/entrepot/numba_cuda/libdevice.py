"""Functions of CUDA's libdevice, by its names, in terms of the functions of the language.

``sinf(x)`` is ``math.sin(float32(x))``, ``sin(x)`` is ``math.sin(float64(x))``, and so on.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernel.functions import func
from ..kernel.language import (
    Builtin,
    float16,
    float32,
    float64,
    int16,
    int32,
    int64,
    uint32,
    uint64,
)
from ..kernel.macros import Macro
from . import bits, rounding, special
from .errors import not_served
from .expressions import call, function

_LETTERS = "xyz"


@func
def fdim(x, y):  # type: ignore[no-untyped-def]
    """``x - y``, or 0 if that is negative."""
    return x - y if x > y else (x - x) * (y - y)


@func
def normcdf(x):  # type: ignore[no-untyped-def]
    """Distribution function of the normal distribution."""
    return math.erfc(-x * math.sqrt(0.5)) / 2


@func
def rounded(x):  # type: ignore[no-untyped-def]
    """The nearest integer, halves away from zero."""
    below = np.floor(abs(x))
    return math.copysign(below + 1 if abs(x) - below >= 0.5 else below, x)


@func
def sinpi(x):  # type: ignore[no-untyped-def]
    """Sine of ``x`` times pi."""
    return math.sin(math.pi * np.fmod(x, 2))


@func
def cospi(x):  # type: ignore[no-untyped-def]
    """Cosine of ``x`` times pi."""
    return math.cos(math.pi * np.fmod(x, 2))


@func
def sincos(x):  # type: ignore[no-untyped-def]
    """Sine and cosine."""
    return math.sin(x), math.cos(x)


@func
def sincospi(x):  # type: ignore[no-untyped-def]
    """Sine and cosine of ``x`` times pi."""
    return sinpi(x), cospi(x)


@func
def saturate(x):  # type: ignore[no-untyped-def]
    """``x`` between 0 and 1; 0 for nan."""
    return min(max(x, x * 0), x * 0 + 1) if x == x else float32(0)


@func
def signbit(x):  # type: ignore[no-untyped-def]
    """1 if the sign is negative, also of zero."""
    return int32(1) if math.copysign(1.0, x) < 0 else int32(0)


@func
def ilogb(x):  # type: ignore[no-untyped-def]
    """Exponent of two, as an integer."""
    _, exponent = math.frexp(x)
    return int32(exponent - 1)


@func
def logb(x):  # type: ignore[no-untyped-def]
    """Exponent of two, as a float."""
    _, exponent = math.frexp(x)
    return x * 0 + (exponent - 1)


@func
def halved(x, y):  # type: ignore[no-untyped-def]
    """The mean of two integers, rounded down, which does not overflow."""
    return (x & y) + ((x ^ y) >> 1)


@func
def halved_up(x, y):  # type: ignore[no-untyped-def]
    """The mean of two integers, rounded up, which does not overflow."""
    return (x | y) - ((x ^ y) >> 1)


@func
def high32(x, y):  # type: ignore[no-untyped-def]
    """The upper half of the product of two integers that were widened to 64 bits."""
    return (x * y) >> 32


@func
def high64(x, y):  # type: ignore[no-untyped-def]
    """The upper half of the product of two uint64."""
    mask = uint64(0xFFFFFFFF)
    low = (x & mask) * (y & mask)
    first = (x >> 32) * (y & mask) + (low >> 32)
    second = (x & mask) * (y >> 32) + (first & mask)
    return (x >> 32) * (y >> 32) + (first >> 32) + (second >> 32)


@func
def signed_high64(x, y):  # type: ignore[no-untyped-def]
    """The upper half of the product of two int64."""
    high = int64(high64(uint64(x), uint64(y)))
    return high - (y if x < 0 else int64(0)) - (x if y < 0 else int64(0))


@func
def low24(x, y):  # type: ignore[no-untyped-def]
    """The product of the lower 24 bits."""
    return ((x << 8) >> 8) * ((y << 8) >> 8)


@func
def difference(x, y, z):  # type: ignore[no-untyped-def]
    """``|x - y| + z``."""
    return (x - y if x > y else y - x) + z


@func
def power(x, n):  # type: ignore[no-untyped-def]
    """``x`` to an integer power."""
    return x ** (x * 0 + n)


@func
def half_as_float(bits):  # type: ignore[no-untyped-def]
    """The float16 with these bits, as a float32."""
    return float32(bits.view(float16))


@func
def high_word(x):  # type: ignore[no-untyped-def]
    """The upper 32 bits of a float64."""
    return int32(x.view(int64) >> 32)


@func
def low_word(x):  # type: ignore[no-untyped-def]
    """The lower 32 bits of a float64."""
    return int32(uint32(x.view(uint64)))


@func
def joined_words(high, low):  # type: ignore[no-untyped-def]
    """The float64 of two words."""
    return ((uint64(uint32(high)) << 32) | uint64(uint32(low))).view(float64)


@func
def permuted_bytes(x, y, selector):  # type: ignore[no-untyped-def]
    """Four of the eight bytes of ``y`` and ``x``; bit 3 of a selector repeats the byte's sign."""
    both = (uint64(y) << 32) | uint64(x)
    result = uint32(0)
    for place in range(4):
        chosen = (selector >> uint32(4 * place)) & uint32(0xF)
        byte = uint32(both >> uint64(8 * (chosen & uint32(7)))) & uint32(0xFF)
        if chosen >= 8:
            byte = uint32(0xFF) if byte >= 0x80 else uint32(0)
        result |= byte << uint32(8 * place)
    return result


@func
def remainder_and_quotient(x, y):  # type: ignore[no-untyped-def]
    """IEEE 754's remainder, and the nearest integer to ``x / y``."""
    rest = math.remainder(x, y)
    return rest, int32(int64(np.rint((x - rest) / y)))


_FMA = Builtin("math.fma", "``x * y + z`` with one rounding.")
#: Functions of one float, by the name of libdevice; ``f`` is appended for float32.
_OF_FLOATS: dict[str, tuple[Any, int]] = {
    **{
        name: (getattr(math, name), 1)
        for name in (
            "acos acosh asin asinh atan atanh cos cosh erf erfc exp expm1 fabs lgamma log log10 "
            "log1p log2 sin sinh sqrt tan tanh"
        ).split()
    },
    **{
        name: (getattr(math, name), 2)
        for name in ("atan2", "copysign", "fmod", "nextafter", "remainder")
    },
    "cbrt": (np.cbrt, 1), "ceil": (np.ceil, 1), "floor": (np.floor, 1), "trunc": (np.trunc, 1),
    "rint": (np.rint, 1), "nearbyint": (np.rint, 1), "exp2": (np.exp2, 1),
    "exp10": (bits.exp10, 1), "rsqrt": (bits.rsqrt, 1), "rcbrt": (bits.rcbrt, 1),
    "tgamma": (math.gamma, 1), "round": (rounded, 1), "sinpi": (sinpi, 1), "cospi": (cospi, 1),
    "normcdf": (normcdf, 1), "logb": (logb, 1), "ilogb": (ilogb, 1),
    "hypot": (np.hypot, 2), "pow": (math.pow, 2), "fdim": (fdim, 2),
    "fmax": (max, 2), "fmin": (min, 2), "fma": (_FMA, 3),
    "sincos": (sincos, 1), "sincospi": (sincospi, 1), "modf": (math.modf, 1),
    "frexp": (math.frexp, 1),
}  # fmt: skip
_OPERATORS: dict[str, ast.operator] = {
    "add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "div": ast.Div(),
}  # fmt: skip
_INTEGERS = {"int": int32, "uint": uint32, "ll": int64, "ull": uint64}
_ROUNDED: dict[str, Any] = {"rn": np.rint, "rd": np.floor, "ru": np.ceil, "rz": np.trunc}


def _converted(target: Any, dtypes: list[Any], result: Any = None) -> Callable[..., ast.expr]:
    """Calls the function with the arguments in these types."""

    def build(given: dict[str, ast.expr]) -> ast.expr:
        values = [call(dtype, given[name]) for dtype, name in zip(dtypes, _LETTERS, strict=False)]
        made = call(target, *values)
        return made if result is None else call(result, made)

    return build


def _add(
    made: dict[str, Macro], name: str, dtypes: list[Any], target: Any, result: Any = None
) -> None:
    parameters = ", ".join(_LETTERS[: len(dtypes)])
    made[name] = function(f"libdevice.{name}", parameters, _converted(target, dtypes, result))


def _floats(made: dict[str, Macro]) -> None:
    for name, (target, count) in _OF_FLOATS.items():
        _add(made, name, [float64] * count, target)
        _add(made, f"{name}f", [float32] * count, target)
    for suffix, dtype in (("", float64), ("f", float32)):
        for name, target in (("ldexp", math.ldexp), ("scalbn", math.ldexp), ("powi", power)):
            _add(made, f"{name}{suffix}", [dtype, int32], target)
        for name in ("llrint", "llround"):
            _add(made, f"{name}{suffix}", [dtype], np.rint if name == "llrint" else rounded, int64)
    fast = {"cosf": math.cos, "sinf": math.sin, "tanf": math.tan, "expf": math.exp,
            "exp10f": bits.exp10, "logf": math.log, "log2f": math.log2, "log10f": math.log10,
            "sincosf": sincos}  # fmt: skip
    for name, target in fast.items():
        _add(made, f"fast_{name}", [float32], target)
    _add(made, "fast_powf", [float32, float32], math.pow)
    for suffix, dtype in (("d", float64), ("f", float32)):
        _add(made, f"isinf{suffix}", [dtype], math.isinf, int32)
        _add(made, f"isnan{suffix}", [dtype], math.isnan, int32)
        _add(made, f"signbit{suffix}", [dtype], signbit)
    _add(made, "isfinited", [float64], math.isfinite, int32)
    _add(made, "finitef", [float32], math.isfinite, int32)
    _add(made, "saturatef", [float32], saturate)


def _binary(name: str, dtype: Any, operator: ast.operator) -> Macro:
    return function(
        f"libdevice.{name}",
        "x, y",
        lambda given: ast.BinOp(call(dtype, given["x"]), operator, call(dtype, given["y"])),
    )


def _directed(name: str, dtype: Any, target: Any, count: int, direction: int) -> Macro:
    def build(given: dict[str, ast.expr]) -> ast.expr:
        values = [call(dtype, given[each]) for each in _LETTERS[:count]]
        return call(target, *values, direction)

    return function(f"libdevice.{name}", ", ".join(_LETTERS[:count]), build)


def _arithmetic(made: dict[str, Macro]) -> None:
    made["fast_fdividef"] = _binary("fast_fdividef", float32, ast.Div())
    for letter, dtype in (("d", float64), ("f", float32)):
        for name, operator in _OPERATORS.items():
            if (letter, name) == ("d", "sub"):
                continue  # libdevice has none
            made[f"{letter}{name}_rn"] = _binary(f"{letter}{name}_rn", dtype, operator)
            for mode, direction in rounding.DIRECTIONS.items():
                own = f"{letter}{name}_{mode}"
                made[own] = _directed(own, dtype, getattr(rounding, name), 2, direction)
        _add(made, f"{letter}sqrt_rn", [dtype], math.sqrt)
        made[f"{letter}rcp_rn"] = function(
            f"libdevice.{letter}rcp_rn",
            "x",
            lambda given, dtype=dtype: ast.BinOp(  # type: ignore[misc]
                call(dtype, 1), ast.Div(), call(dtype, given["x"])
            ),
        )
        for name in ("sqrt", "rcp"):
            for mode, direction in rounding.DIRECTIONS.items():
                own = f"{letter}{name}_{mode}"
                made[own] = _directed(own, dtype, getattr(rounding, name), 1, direction)
    _add(made, "frsqrt_rn", [float32], bits.rsqrt)
    _add(made, "fma_rn", [float64] * 3, _FMA)
    _add(made, "fmaf_rn", [float32] * 3, _FMA)


def _conversions(made: dict[str, Macro]) -> None:
    for source, dtype in (("double", float64), ("float", float32)):
        for target, integer in _INTEGERS.items():
            for mode, how in _ROUNDED.items():
                _add(made, f"{source}2{target}_{mode}", [dtype], how, integer)
    _add(made, "double2float_rn", [float64], float32)
    for mode, direction in rounding.DIRECTIONS.items():
        made[f"double2float_{mode}"] = _narrowing(f"double2float_{mode}", direction)
    for source, integer in _INTEGERS.items():
        for target, dtype in (("double", float64), ("float", float32)):
            _add(made, f"{source}2{target}_rn", [integer], dtype)
            if (source, target) in (("int", "double"), ("uint", "double")):
                continue  # exact
            for mode, direction in rounding.DIRECTIONS.items():
                own = f"{source}2{target}_{mode}"
                made[own] = _floating(own, integer, dtype, direction)


def _narrowing(name: str, direction: int) -> Macro:
    def build(given: dict[str, ast.expr]) -> ast.expr:
        wide = call(float64, given["x"])
        return call(rounding.narrowed, wide, call(float32, wide), direction)

    return function(f"libdevice.{name}", "x", build)


def _floating(name: str, integer: Any, dtype: Any, direction: int) -> Macro:
    def build(given: dict[str, ast.expr]) -> ast.expr:
        number = call(integer, given["x"])
        nearest = call(dtype, number)
        return call(rounding.floated, number, nearest, call(integer, nearest), direction)

    return function(f"libdevice.{name}", "x", build)


def _integers(made: dict[str, Macro]) -> None:
    for name, dtype in (("abs", int32), ("llabs", int64)):
        _add(made, name, [dtype], abs)
    kinds = {"": int32, "u": uint32, "ll": int64, "ull": uint64}
    for prefix, dtype in kinds.items():
        _add(made, f"{prefix}max", [dtype, dtype], max)
        _add(made, f"{prefix}min", [dtype, dtype], min)
    for prefix, dtype, wide in (("", int32, int64), ("u", uint32, uint64)):
        _add(made, f"{prefix}hadd", [dtype, dtype], halved)
        _add(made, f"{prefix}mul24", [dtype, dtype], low24)
        _add(made, f"{prefix}mulhi", [wide, wide], high32, dtype)
        _add(made, f"{prefix}sad", [dtype, dtype, uint32], difference, uint32)
    _add(made, "rhadd", [int32, int32], halved_up)
    _add(made, "urhadd", [uint32, uint32], halved_up)
    _add(made, "mul64hi", [int64, int64], signed_high64)
    _add(made, "umul64hi", [uint64, uint64], high64)
    for name, dtype in (("", uint32), ("ll", uint64)):
        _add(made, f"popc{name}", [dtype], bits.popc, int32)
        _add(made, f"clz{name}", [dtype], bits.clz, int32)
        _add(made, f"ffs{name}", [dtype], bits.ffs, int32)
        _add(made, f"brev{name}", [dtype], bits.brev, dtype)


def _of_bits(made: dict[str, Macro]) -> None:
    reinterpreted = {
        "double_as_longlong": (float64, int64),
        "float_as_int": (float32, int32),
        "int_as_float": (int32, float32),
        "longlong_as_double": (int64, float64),
        "float2half_rn": (float16, int16),
    }
    for name, (dtype, bits_of) in reinterpreted.items():
        made[name] = _viewed(name, dtype, bits_of)
    _add(made, "half2float", [int16], half_as_float)
    _add(made, "double2hiint", [float64], high_word)
    _add(made, "double2loint", [float64], low_word)
    _add(made, "hiloint2double", [int32, int32], joined_words)
    _add(made, "byte_perm", [uint32, uint32, uint32], permuted_bytes, int32)
    for suffix, dtype in (("", float64), ("f", float32)):
        _add(made, f"remquo{suffix}", [dtype, dtype], remainder_and_quotient)
        _add(made, f"erfinv{suffix}", [dtype], special.erfinv)
        _add(made, f"erfcinv{suffix}", [dtype], special.erfcinv)
        _add(made, f"normcdfinv{suffix}", [dtype], special.normcdfinv)
        _add(made, f"erfcx{suffix}", [dtype], special.erfcx)


def _viewed(name: str, dtype: Any, bits_of: Any) -> Macro:
    def build(given: dict[str, ast.expr]) -> ast.expr:
        view = ast.Attribute(call(dtype, given["x"]), "view", ast.Load())
        return ast.Call(view, [ast.Constant(bits_of)], [])

    return function(f"libdevice.{name}", "x", build)


def _made() -> dict[str, Macro]:
    made: dict[str, Macro] = {}
    for add in (_floats, _arithmetic, _conversions, _integers, _of_bits):
        add(made)
    return made


_MACROS = _made()
globals().update(_MACROS)
__all__ = sorted(_MACROS)

_SPECIAL = "compute it on the host with SciPy, or write its series as a device function"
#: Functions that are not served, and what to use.
INSTEAD = {
    **dict.fromkeys("j0 j0f j1 j1f jn jnf y0 y0f y1 y1f yn ynf".split(), _SPECIAL),
    **dict.fromkeys(
        "fma_rd fma_ru fma_rz fmaf_rd fmaf_ru fmaf_rz".split(), "fma_rn() rounds to nearest"
    ),
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise not_served(f"libdevice.{name}", INSTEAD.get(name, "libdevice has no such function"))
