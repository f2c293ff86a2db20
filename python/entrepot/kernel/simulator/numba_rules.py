"""Operators by Numba's rules for types, for simulated functions of numba.cuda's language.

The table is that of ``frontend/numba_typing.cpp``. A Python number counts as int64, uint64, float64
or complex128. If all operands are Python numbers, the result is one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import arithmetic
from .arithmetic import converted, kind_of

#: The smallest float that an integer type is combined and unified with, in bytes.
_FLOAT_OF: dict[str, tuple[int, int]] = {
    "bool": (2, 2),
    "int8": (2, 2),
    "int16": (4, 4),
    "int32": (8, 8),
    "int64": (8, 8),
    "uint8": (4, 2),
    "uint16": (8, 4),
    "uint32": (8, 8),
    "uint64": (8, 8),
}
_COMBINED, _UNIFIED = 0, 1
_WHOLE = ("bool", "int", "uint")


def _type_of(value: Any) -> np.dtype[Any]:
    if isinstance(value, np.generic):
        return value.dtype
    if isinstance(value, bool):
        return np.dtype("bool")
    if isinstance(value, int):
        return np.dtype("uint64" if value >= 2**63 else "int64")
    return np.dtype("float64" if isinstance(value, float) else "complex128")


def _with_float(left: np.dtype[Any], right: np.dtype[Any], column: int) -> np.dtype[Any]:
    if "complex" in (kind_of(left), kind_of(right)):
        parts = [
            np.dtype(f"float{4 * each.itemsize}") if kind_of(each) == "complex" else each
            for each in (left, right)
        ]
        part = _with_float(parts[0], parts[1], column)
        return np.dtype("complex128" if part.itemsize == 8 else "complex64")
    if kind_of(left) == kind_of(right):
        return arithmetic.join(left, right)
    floating, whole = (left, right) if kind_of(left) == "float" else (right, left)
    size = _FLOAT_OF[whole.name][column]
    return floating if floating.itemsize >= size else np.dtype(f"float{8 * size}")


@functools.cache
def combined(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which an operator combines two types."""
    kinds = kind_of(left), kind_of(right)
    if not set(kinds) <= set(_WHOLE):
        return _with_float(left, right, _COMBINED)
    return np.dtype("uint64" if kinds == ("uint", "uint") else "int64")


@functools.cache
def unified(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    """The type of a number that is one of two."""
    kinds = kind_of(left), kind_of(right)
    if not set(kinds) <= set(_WHOLE):
        return _with_float(left, right, _UNIFIED)
    if kinds == ("bool", "bool"):
        return left
    if set(kinds) == {"int", "uint"} and np.dtype("uint64") in (left, right):
        return np.dtype("float64")
    return arithmetic.join(left, right)


def _converts(operation: Callable[..., Any], common: Callable[..., Any]) -> Callable[..., Any]:
    """The operation on values in their common type."""

    def apply(*values: Any) -> Any:
        numbers = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        if not any(isinstance(each, np.generic) for each in numbers):
            return operation(*values)
        if not all(isinstance(each, (int, float, complex, np.generic)) for each in numbers):
            return operation(*values)  # which refuses them
        dtype = functools.reduce(common, map(_type_of, numbers))
        return operation(*[converted(dtype, each) for each in numbers])

    return apply


def _without_half(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Numba has no ``//``, ``%`` and ``**`` of float16."""

    def apply(left: Any, right: Any) -> Any:
        if isinstance(left, np.float16):
            left, right = np.float32(left), np.float32(right)
        return operation(left, right)

    return apply


def _power(left: Any, right: Any) -> Any:
    whole = isinstance(right, (int, np.integer)) and not isinstance(right, bool)
    if isinstance(left, np.generic) and kind_of(left.dtype) == "float" and whole:
        base = np.float32(left) if isinstance(left, np.float16) else left
        return arithmetic.power(base, base.dtype.type(right))
    return _combined_power(left, right)


def _shift(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A shift in the type of the left operand, which becomes one of 64 bits."""

    def apply(left: Any, right: Any) -> Any:
        typed = isinstance(left, np.generic) or isinstance(right, np.generic)
        whole = (int, np.integer, np.bool_)
        if not typed or not isinstance(left, whole) or not isinstance(right, whole):
            return operation(left, right)
        dtype = combined(_type_of(left), _type_of(left))
        return operation(converted(dtype, left), converted(dtype, right))

    return apply


def _bits(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    of_integers = _converts(operation, combined)

    def apply(left: Any, right: Any) -> Any:
        if all(isinstance(each, (bool, np.bool_)) for each in (left, right)):
            return operation(left, right)
        whole = all(isinstance(each, (int, np.integer, np.bool_)) for each in (left, right))
        return (of_integers if whole else operation)(left, right)  # which refuses others

    return apply


def _compared(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    of_floats = _converts(operation, combined)

    def apply(left: Any, right: Any) -> Any:
        if all(isinstance(each, (int, np.integer, np.bool_)) for each in (left, right)):
            return np.bool_(operation(int(left), int(right)))  # exact, also of uint64 and int64
        return of_floats(left, right)

    return apply


def _unary(operation: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if isinstance(value, np.integer):
            value = converted(combined(value.dtype, value.dtype), value)
        return operation(value)

    return apply


_combined_power = _converts(_without_half(arithmetic.power), combined)

#: Operations of ``arithmetic`` by name, with Numba's rules.
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _converts(getattr(arithmetic, name), combined)
        for name in ("add", "subtract", "multiply", "divide")
    },
    **{
        name: _converts(_without_half(getattr(arithmetic, name)), combined)
        for name in ("floor_divide", "modulo")
    },
    "power": _power,
    **{name: _shift(getattr(arithmetic, name)) for name in ("shift_left", "shift_right")},
    **{name: _bits(getattr(arithmetic, name)) for name in ("bit_and", "bit_or", "bit_xor")},
    **{
        name: _compared(getattr(arithmetic, name))
        for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    },
    **{name: _unary(getattr(arithmetic, name)) for name in ("negate", "plus", "invert")},
}


def cast(spelling: Any, value: Any = 0, imaginary: Any = None) -> Any:
    """A conversion, where ``int`` and ``float`` keep the width of integers and floats."""
    if spelling is int and isinstance(value, np.integer):
        return value
    if spelling is float and isinstance(value, np.generic) and kind_of(value.dtype) == "float":
        return value
    return arithmetic.cast(spelling, value, imaginary)


OPERATIONS["cast"] = cast


#: Functions that return one of their arguments, by name.
_CHOOSE = frozenset({"min", "max", "minimum", "maximum", "where", "clip", "fmin", "fmax"})
#: Functions of several numbers, which they convert to their common type.
_COMBINE = frozenset(
    {"atan2", "arctan2", "copysign", "divmod", "fma", "fmod", "hypot", "nextafter", "remainder"}
)


def function_of(callee: Any, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python, ``math`` or NumPy by Numba's rules."""
    name = callee.__name__
    if callee is pow or callee is np.power:
        return OPERATIONS["power"]
    if name in _CHOOSE:
        return _converts(implementation, unified)
    return (
        _converts(implementation, combined) if name in _COMBINE or name == "pow" else implementation
    )
