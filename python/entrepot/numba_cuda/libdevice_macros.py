"""Tables of libdevice's names: the function and the types of the arguments of each."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernel.language import (
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
from . import libdevice_functions as functions
from .expressions import call, function

_LETTERS = "xyz"

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
    "tgamma": (math.gamma, 1), "round": (functions.rounded, 1),
    "sinpi": (functions.sinpi, 1), "cospi": (functions.cospi, 1),
    "normcdf": (functions.normcdf, 1), "logb": (functions.logb, 1), "ilogb": (functions.ilogb, 1),
    "hypot": (np.hypot, 2), "pow": (math.pow, 2), "fdim": (functions.positive_difference, 2),
    "fmax": (max, 2), "fmin": (min, 2), "fma": (bits.FMA, 3),
    "sincos": (functions.sincos, 1), "sincospi": (functions.sincospi, 1), "modf": (math.modf, 1),
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
    powers = {"ldexp": math.ldexp, "scalbn": math.ldexp, "powi": functions.power}
    for suffix, dtype in (("", float64), ("f", float32)):
        for name, target in powers.items():
            _add(made, f"{name}{suffix}", [dtype, int32], target)
        _add(made, f"llrint{suffix}", [dtype], np.rint, int64)
        _add(made, f"llround{suffix}", [dtype], functions.rounded, int64)
    fast = {"cosf": math.cos, "sinf": math.sin, "tanf": math.tan, "expf": math.exp,
            "exp10f": bits.exp10, "logf": math.log, "log2f": math.log2, "log10f": math.log10,
            "sincosf": functions.sincos}  # fmt: skip
    for name, target in fast.items():
        _add(made, f"fast_{name}", [float32], target)
    _add(made, "fast_powf", [float32, float32], math.pow)
    for suffix, dtype in (("d", float64), ("f", float32)):
        _add(made, f"isinf{suffix}", [dtype], math.isinf, int32)
        _add(made, f"isnan{suffix}", [dtype], math.isnan, int32)
        _add(made, f"signbit{suffix}", [dtype], functions.signbit)
    _add(made, "isfinited", [float64], math.isfinite, int32)
    _add(made, "finitef", [float32], math.isfinite, int32)
    _add(made, "saturatef", [float32], functions.saturate)


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
    _add(made, "fma_rn", [float64] * 3, bits.FMA)
    _add(made, "fmaf_rn", [float32] * 3, bits.FMA)


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
        return call(rounding.narrowed, call(float64, given["x"]), direction)

    return function(f"libdevice.{name}", "x", build)


def _floating(name: str, integer: Any, dtype: Any, direction: int) -> Macro:
    limit = float(np.iinfo(str(integer)).max + 1)

    def build(given: dict[str, ast.expr]) -> ast.expr:
        target = rounding.to_float64 if dtype is float64 else rounding.to_float32
        return call(target, call(integer, given["x"]), limit, direction)

    return function(f"libdevice.{name}", "x", build)


def _integers(made: dict[str, Macro]) -> None:
    for name, dtype in (("abs", int32), ("llabs", int64)):
        _add(made, name, [dtype], abs)
    kinds = {"": int32, "u": uint32, "ll": int64, "ull": uint64}
    for prefix, dtype in kinds.items():
        _add(made, f"{prefix}max", [dtype, dtype], max)
        _add(made, f"{prefix}min", [dtype, dtype], min)
    for prefix, dtype, wide in (("", int32, int64), ("u", uint32, uint64)):
        _add(made, f"{prefix}hadd", [dtype, dtype], functions.halved)
        _add(made, f"{prefix}mul24", [dtype, dtype], functions.low24)
        _add(made, f"{prefix}mulhi", [wide, wide], functions.high32, dtype)
        _add(made, f"{prefix}sad", [dtype, dtype, uint32], functions.difference, uint32)
    _add(made, "rhadd", [int32, int32], functions.halved_up)
    _add(made, "urhadd", [uint32, uint32], functions.halved_up)
    _add(made, "mul64hi", [int64, int64], functions.signed_high64)
    _add(made, "umul64hi", [uint64, uint64], functions.high64)
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
    _add(made, "half2float", [int16], functions.half_as_float)
    _add(made, "double2hiint", [float64], functions.high_word)
    _add(made, "double2loint", [float64], functions.low_word)
    _add(made, "hiloint2double", [int32, int32], functions.joined_words)
    _add(made, "byte_perm", [uint32, uint32, uint32], functions.permuted_bytes, int32)
    for suffix, dtype in (("", float64), ("f", float32)):
        _add(made, f"remquo{suffix}", [dtype, dtype], functions.remainder_and_quotient)
        _add(made, f"erfinv{suffix}", [dtype], special.erfinv)
        _add(made, f"erfcinv{suffix}", [dtype], special.erfcinv)
        _add(made, f"normcdfinv{suffix}", [dtype], special.normcdfinv)
        _add(made, f"erfcx{suffix}", [dtype], special.erfcx)


def _viewed(name: str, dtype: Any, bits_of: Any) -> Macro:
    def build(given: dict[str, ast.expr]) -> ast.expr:
        view = ast.Attribute(call(dtype, given["x"]), "view", ast.Load())
        return ast.Call(view, [ast.Constant(bits_of)], [])

    return function(f"libdevice.{name}", "x", build)


def macros() -> dict[str, Macro]:
    made: dict[str, Macro] = {}
    for add in (_floats, _arithmetic, _conversions, _integers, _of_bits):
        add(made)
    return made
