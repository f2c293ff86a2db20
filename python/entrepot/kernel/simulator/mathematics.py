"""Python's ``math`` and ``cmath`` on NumPy scalars: integers, parts of floats, tuples, complex
numbers.
"""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import arithmetic
from .arithmetic import converted, kind_of, meet
from .errors import refuse

_LARGEST = 2**63 - 1


def _met(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """All values in their common type."""
    together = functools.reduce(lambda left, right: meet(left, right)[0], values)
    if isinstance(together, np.bool_):
        together = np.int64(together)
    if not isinstance(together, np.generic):
        return values
    return tuple(converted(together.dtype, value) for value in values)


def _integers(values: tuple[Any, ...]) -> None:
    for value in values:
        if not isinstance(value, (int, np.integer, np.bool_)):
            raise refuse(f"{value!r} is no integer; write int(…)")


def _integral(function: Callable[..., int]) -> Callable[..., Any]:
    """A function of integers whose result has their type and wraps."""

    def apply(*values: Any) -> Any:
        _integers(values)
        met = _met(values) if values else values
        result = function(*map(int, met))
        if not met:
            return result
        return (
            arithmetic.cast(met[0].dtype, result)
            if isinstance(met[0], np.generic)
            else arithmetic.integer(result)
        )

    return apply


def _counting(function: Callable[..., int]) -> Callable[..., Any]:
    """A function of integers that returns int64, or 0 if int64 does not hold the result."""

    def apply(*values: Any) -> Any:
        _integers(values)
        numbers = list(map(int, values))
        result = 0 if min(numbers) < 0 or numbers[-1] > numbers[0] else _bounded(function, numbers)
        return (
            np.int64(result)
            if any(isinstance(value, np.generic) for value in values)
            else arithmetic.integer(result)
        )

    return apply


def _bounded(function: Callable[..., int], numbers: list[int]) -> int:
    # The result would be far too large for int64 and very slow to compute.
    if function is not math.comb and len(numbers) == 1 and numbers[0] > 20:
        return 0
    if (
        len(numbers) == 2
        and numbers[0] > 66
        and 33 < numbers[1] < (numbers[0] - 33 if function is math.comb else math.inf)
    ):
        return 0
    result = function(*numbers)
    return result if result <= _LARGEST else 0


def _taken_apart(value: Any) -> tuple[Any, Any]:
    mantissa, exponent = math.frexp(float(value))
    return arithmetic.mathematical(lambda _: mantissa)(value), np.int64(exponent)


def _scaled(value: Any, exponent: Any) -> Any:
    _integers((exponent,))
    return arithmetic.mathematical(lambda x: np.ldexp(x, max(-5000, min(int(exponent), 5000))))(
        value
    )


def _next(value: Any, towards: Any) -> Any:
    value, towards = meet(value, towards)
    if isinstance(value, np.generic) and kind_of(value.dtype) != "float":
        value, towards = np.float64(value), np.float64(towards)
    return (
        np.nextafter(value, towards)
        if isinstance(value, np.generic)
        else math.nextafter(value, towards)
    )


def _last_place(value: Any) -> Any:
    if not isinstance(value, np.generic):
        return math.ulp(value)
    size = np.abs(value if kind_of(value.dtype) == "float" else np.float64(value))
    above = _next(size, math.inf)
    if np.isinf(size):
        return size
    return size - _next(size, 0.0) if np.isinf(above) else above - size


def _multiplied(items: tuple[Any, ...], start: Any = 1) -> Any:
    return functools.reduce(arithmetic.multiply, items, start)


def _sum_of_products(left: tuple[Any, ...], right: tuple[Any, ...]) -> Any:
    return functools.reduce(arithmetic.add, map(arithmetic.multiply, left, right), 0)


def _distance(left: tuple[Any, ...], right: tuple[Any, ...]) -> Any:
    between = arithmetic.mathematical(
        lambda *values: math.dist(values[: len(left)], values[len(left) :])
    )
    return between(*left, *right) if left else 0.0


def _length(*coordinates: Any) -> Any:
    return arithmetic.mathematical(math.hypot)(*coordinates) if coordinates else 0.0


def _sum(items: tuple[Any, ...]) -> Any:
    return arithmetic.mathematical(lambda *values: math.fsum(values))(*items) if items else 0.0


def _complex(value: Any) -> Any:
    """A complex number of the same width; a Python number becomes a Python complex."""
    if isinstance(value, np.generic):
        narrow = (
            kind_of(value.dtype) == "float" and value.dtype.itemsize <= 4
        ) or value.dtype == np.dtype("complex64")
        return (np.complex64 if narrow else np.complex128)(value)
    if not isinstance(value, (int, float, complex)):
        raise refuse(f"{value!r} is no number; mathematical functions take numbers")
    return complex(value)


def _analytic(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function computed in complex128 for all numbers and rounded to the argument's type."""

    def apply(value: Any) -> Any:
        z = _complex(value)
        with np.errstate(all="ignore"):
            result = function(np.complex128(z))
        if isinstance(result, (bool, np.bool_)):
            return np.bool_(result)
        if not isinstance(z, np.generic):
            return result.item() if isinstance(result, np.generic) else result
        part = z.real.dtype
        return (
            z.dtype.type(result)
            if isinstance(result, (complex, np.complexfloating))
            else part.type(result)
        )

    return apply


def _logarithm(value: Any, base: Any = None) -> Any:
    natural = _analytic(np.log)
    return natural(value) if base is None else arithmetic.divide(natural(value), natural(base))


def _rectangular(size: Any, angle: Any) -> Any:
    size, angle = meet(size, angle)
    narrow = (
        isinstance(size, np.generic) and kind_of(size.dtype) == "float" and size.dtype.itemsize <= 4
    )
    result = complex(float(size) * math.cos(angle), float(size) * math.sin(angle))
    if not isinstance(size, np.generic):
        return result
    return np.complex64(result) if narrow else np.complex128(result)


def _close(left: Any, right: Any, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    close = cmath.isclose(
        complex(left), complex(right), rel_tol=float(rel_tol), abs_tol=float(abs_tol)
    )
    return np.bool_(close)


def _from_origin(z: Any) -> Any:
    return np.arctan2(z.imag, z.real)


#: Functions of Python's ``math`` by name.
OF_NUMBERS: dict[str, Callable[..., Any]] = {
    "comb": _counting(math.comb),
    "dist": _distance,
    "factorial": _counting(math.factorial),
    "frexp": _taken_apart,
    "fsum": _sum,
    "gcd": _integral(math.gcd),
    "hypot": _length,
    "isqrt": _integral(lambda n: math.isqrt(max(n, 0))),
    "lcm": _integral(math.lcm),
    "ldexp": _scaled,
    "nextafter": _next,
    "perm": _counting(math.perm),
    "prod": _multiplied,
    "remainder": arithmetic.mathematical(
        lambda x, y: np.float64("nan") if y == 0 or math.isinf(x) else math.remainder(x, y)
    ),
    "sumprod": _sum_of_products,
    "ulp": _last_place,
}

#: Functions of Python's ``cmath`` by name, and of NumPy's where their arguments are complex.
OF_COMPLEX: dict[str, Callable[..., Any]] = {
    name: _analytic(getattr(np, numpy_name))
    for name, numpy_name in {
        "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
        "atan": "arctan", "atanh": "arctanh",
        "cos": "cos", "cosh": "cosh", "exp": "exp", "isfinite": "isfinite", "isinf": "isinf",
        "isnan": "isnan",
        "log10": "log10", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan",
        "tanh": "tanh",
    }.items()
}  # fmt: skip
OF_COMPLEX |= {
    "isclose": _close,
    "log": _logarithm,
    "phase": _analytic(_from_origin),
    "polar": lambda z: (arithmetic.absolute(_complex(z)), _analytic(_from_origin)(z)),
    "rect": _rectangular,
}
