"""Functions of float16, ``cuda.fp16``, in terms of the operators and functions of the language."""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from ..kernel.language import float16
from ..kernel.macros import Macro
from . import bits
from .errors import refusing
from .expressions import Names, call, function

_UNARY: dict[str, Any] = {
    "habs": abs, "hceil": np.ceil, "hcos": math.cos, "hexp": math.exp, "hexp10": bits.exp10,
    "hexp2": np.exp2, "hfloor": np.floor, "hlog": math.log, "hlog10": math.log10,
    "hlog2": math.log2, "hrint": np.rint, "hrsqrt": bits.rsqrt, "hsin": math.sin,
    "hsqrt": math.sqrt, "htrunc": np.trunc,
}  # fmt: skip
_OPERATORS: dict[str, ast.operator] = {
    "hadd": ast.Add(), "hsub": ast.Sub(), "hmul": ast.Mult(), "hdiv": ast.Div(),
}  # fmt: skip
_COMPARISONS: dict[str, ast.cmpop] = {
    "heq": ast.Eq(), "hne": ast.NotEq(), "hge": ast.GtE(), "hgt": ast.Gt(), "hle": ast.LtE(),
    "hlt": ast.Lt(),
}  # fmt: skip


def _unary(name: str, target: Any) -> Macro:
    return function(
        f"fp16.{name}", "a", lambda given: call(float16, call(target, call(float16, given["a"])))
    )


def _operation(name: str, operator: ast.operator) -> Macro:
    return function(
        f"fp16.{name}",
        "a, b",
        lambda given: ast.BinOp(call(float16, given["a"]), operator, call(float16, given["b"])),
    )


def _comparison(name: str, operator: ast.cmpop) -> Macro:
    return function(
        f"fp16.{name}",
        "a, b",
        lambda given: ast.Compare(
            call(float16, given["a"]), [operator], [call(float16, given["b"])]
        ),
    )


def _made() -> dict[str, Macro]:
    def half(node: ast.expr) -> ast.expr:
        return call(float16, node)

    return {
        **{name: _unary(name, target) for name, target in _UNARY.items()},
        **{name: _operation(name, operator) for name, operator in _OPERATORS.items()},
        **{name: _comparison(name, operator) for name, operator in _COMPARISONS.items()},
        "hneg": function("fp16.hneg", "a", lambda given: ast.UnaryOp(ast.USub(), half(given["a"]))),
        "hrcp": function(
            "fp16.hrcp",
            "a",
            lambda given: ast.BinOp(half(ast.Constant(1)), ast.Div(), half(given["a"])),
        ),
        "hfma": function(
            "fp16.hfma",
            "a, b, c",
            lambda given: call(bits.FMA, *(half(given[each]) for each in "abc")),
        ),
        "hmax": function(
            "fp16.hmax", "a, b", lambda given: call(max, half(given["a"]), half(given["b"]))
        ),
        "hmin": function(
            "fp16.hmin", "a, b", lambda given: call(min, half(given["a"]), half(given["b"]))
        ),
    }


_MACROS = _made()
fp16 = Names("fp16", _MACROS)

# numba-cuda has the functions in a module, and numba in an object.
__getattr__ = refusing("fp16", otherwise=f"fp16 has {', '.join(_MACROS)}", members=_MACROS)
