"""Arithmetic of the language on NumPy's scalars: typed values meet by the rules of
docs/kernels/types.md.

A value from an array, an id or a conversion is a NumPy scalar and typed. A literal or a captured
number is a Python number and weak: it takes the type of the other operand. An Integer is a weak int
that is not a literal.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from typing import cast as cast_type

import numpy as np

from .errors import refuse


class Integer(int):
    """A weak integer that is not a literal, such as a counter. It meets typed integers as int64."""

    __slots__ = ()

    @property
    def real(self) -> Integer:
        return self

    def conjugate(self) -> Integer:
        return self


_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_FLOATS = {2: np.float16, 4: np.float32, 8: np.float64}


def dtype_of(spelling: Any) -> np.dtype[Any]:
    """NumPy's dtype for a dtype of Entrepot, NumPy or Python, or a name. Raises TypeError for
    anything else.
    """
    name = str(getattr(spelling, "name", spelling))
    for each in (spelling, name):
        try:
            found: np.dtype[Any] = np.dtype(each)
        except TypeError:
            continue
        return found
    import ml_dtypes  # only for bfloat16 and smaller floats, which NumPy lacks

    found = np.dtype(getattr(ml_dtypes, name))
    return found


def kind_of(dtype: np.dtype[Any]) -> str:
    """'bool', 'int', 'uint', 'float' or 'complex'; ml_dtypes' floats are floats."""
    return _KINDS.get(dtype.kind, "float")


def _is_bfloat16(dtype: np.dtype[Any]) -> bool:
    # NumPy would put the name together at each access.
    return dtype.kind == "V" and dtype.itemsize == 2


def _wider_float(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    if left.itemsize == right.itemsize:  # float16 and bfloat16: neither holds the other
        return left if left == right else np.dtype(_FLOATS[2 * left.itemsize])
    return max(left, right, key=lambda dtype: dtype.itemsize)


@functools.cache
def join(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    """The common type of two typed operands."""
    kinds = kind_of(left), kind_of(right)
    if left == right:
        return np.dtype("int64") if kinds[0] == "bool" else left
    if "bool" in kinds:
        return right if kinds[0] == "bool" else left
    if "complex" in kinds:
        sizes = {"complex": 16, "float": 8}
        double = any(dtype.itemsize == sizes.get(kind_of(dtype)) for dtype in (left, right))
        return np.dtype("complex128" if double else "complex64")
    if kinds == ("float", "float"):
        return _wider_float(left, right)
    if "float" in kinds:
        return left if kinds[0] == "float" else right
    if kinds[0] == kinds[1]:
        return max(left, right, key=lambda dtype: dtype.itemsize)
    signed, unsigned = (left, right) if kinds[0] == "int" else (right, left)
    return np.dtype(f"int{8 * max(signed.itemsize, min(2 * unsigned.itemsize, 8))}")


@functools.cache
def _join_weak(typed: np.dtype[Any], weak: type) -> np.dtype[Any]:
    """The common type of a typed operand and a Python number of class ``weak``."""
    kind = kind_of(typed)
    if weak is complex:
        single = typed.itemsize <= 4 if kind == "float" else typed == np.dtype("complex64")
        return np.dtype("complex64" if single else "complex128")
    if weak is float and kind in ("bool", "int", "uint"):
        return np.dtype("float64")
    if kind == "bool":
        return np.dtype("int64")
    if weak is Integer and kind in ("int", "uint"):
        return join(typed, np.dtype("int64"))
    return typed


def _weaker(value: Any) -> type:
    return next(kind for kind in (bool, Integer, int, float, complex) if isinstance(value, kind))


def _to_odd(value: Any) -> Any:
    """Rounds a double to odd (sticky bit), so that rounding the float further, by ml_dtypes, gives
    the double's result.
    """
    if not isinstance(value, np.float64):
        return value
    single = np.float32(value)
    if np.float64(single) == value or np.isnan(value):
        return single
    bits = single.view(np.uint32) - np.uint32(abs(np.float64(single)) > abs(value))
    return (bits | np.uint32(1)).view(np.float32)


def converted(dtype: np.dtype[Any], value: Any) -> Any:
    """Converts a value as C does, but refuses a literal out of the type's range."""
    if isinstance(value, np.generic):
        if value.dtype is dtype:
            return value
        if kind_of(value.dtype) == "complex" and kind_of(dtype) != "complex":
            raise refuse(f"a {value.dtype} does not become a {dtype}; take .real or abs()")
        return (_to_odd(value) if _is_bfloat16(dtype) else value).astype(dtype)
    if isinstance(value, bool):
        return dtype.type(value)
    if isinstance(value, Integer):
        return np.int64(value).astype(dtype)
    if not isinstance(value, (int, float, complex)):
        raise refuse(f"{value!r} is no number; a kernel computes with numbers")
    if isinstance(value, float) and kind_of(dtype) in ("int", "uint"):
        return np.float64(value).astype(dtype)
    if isinstance(value, complex) and kind_of(dtype) != "complex":
        raise refuse(f"{value!r} does not become a {dtype}; take .real or abs()")
    if isinstance(value, float) and _is_bfloat16(dtype):
        return dtype.type(_to_odd(np.float64(value)))
    try:
        return dtype.type(value)
    except OverflowError:
        raise refuse(f"{value} is out of the range of {dtype}") from None


def cast(spelling: Any, value: Any = 0, imaginary: Any = None) -> Any:
    """``float32(value)``, which wraps like C's conversion. ``complex(real, imaginary)`` has the
    wider type of the two.
    """
    if spelling is complex:
        return _complex(value, 0 if imaginary is None else imaginary)
    dtype = dtype_of(spelling)
    if isinstance(value, int) and kind_of(dtype) in ("int", "uint"):
        return np.int64(_wrapped(value)).astype(dtype)
    return converted(dtype, value)


def _complex(real: Any, imaginary: Any) -> Any:
    if isinstance(real, (complex, np.complexfloating)):
        return real
    real, imaginary = meet(real, imaginary)
    # Not a sum: an infinite part would make the other one NaN.
    number = complex(float(real), float(imaginary))
    if not isinstance(real, np.generic):
        return number
    narrow = kind_of(real.dtype) == "float" and real.dtype.itemsize <= 4
    return (np.complex64 if narrow else np.complex128)(number)


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def meet(left: Any, right: Any) -> tuple[Any, Any]:
    """Both values in their common type; two Python numbers are unchanged."""
    typed = isinstance(left, np.generic), isinstance(right, np.generic)
    if typed == (True, True):
        dtype = join(left.dtype, right.dtype)
    elif typed[0]:
        dtype = _join_weak(left.dtype, _checked(right))
    elif typed[1]:
        dtype = _join_weak(right.dtype, _checked(left))
    else:
        _checked(left), _checked(right)
        return left, right
    return converted(dtype, left), converted(dtype, right)


def _checked(value: Any) -> type:
    if not isinstance(value, (int, float, complex)):
        raise refuse(
            f"{value!r} is no number; a kernel computes with numbers, and with elements of arrays"
        )
    return _weaker(value)


#: NumPy scalars whose operators match the language's for operands of one type.
_DIRECT = frozenset(
    {np.float16, np.float32, np.float64, np.complex64, np.complex128}
    | {np.dtype(f"{sign}int{width}").type for sign in ("", "u") for width in (8, 16, 32, 64)}
)


def integer(value: Any) -> Any:
    """Turns an int literal into an Integer; other values are unchanged."""
    return (
        Integer(_wrapped(value))
        if isinstance(value, int) and not isinstance(value, bool)
        else value
    )


_Operation = TypeVar("_Operation", bound=Callable[[Any, Any], Any])


def _of_integers(operation: _Operation) -> _Operation:
    """Extends the operation to Integers and literals: computes in int64 and returns an Integer."""

    def apply(left: Any, right: Any) -> Any:
        if not (isinstance(left, Integer) or isinstance(right, Integer)):
            return operation(left, right)
        if not (isinstance(left, int) and isinstance(right, int)):
            return operation(left, right)
        result = operation(np.int64(_wrapped(left)), np.int64(_wrapped(right)))
        return integer(result.item()) if isinstance(result, (np.int64, np.float64)) else result

    return cast_type("_Operation", apply)


def _met(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if type(left) is type(right) and type(left) in _DIRECT:
            return operation(left, right)
        return operation(*meet(left, right))

    return _of_integers(apply)


def _have_no_common_type(natural: Any, integer: Any) -> bool:
    is_natural = (
        isinstance(natural, np.unsignedinteger) and natural.itemsize == 8
    )  # buffers' are of another class than uint64
    return is_natural and isinstance(integer, (np.signedinteger, Integer))


def _compared(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    compare = _met(operation)

    def apply(left: Any, right: Any) -> Any:
        if _have_no_common_type(left, right) or _have_no_common_type(right, left):
            return np.bool_(operation(int(left), int(right)))
        return np.bool_(compare(left, right))

    return apply


add = _met(operator.add)
subtract = _met(operator.sub)
multiply = _met(operator.mul)
less = _compared(operator.lt)
less_equal = _compared(operator.le)
greater = _compared(operator.gt)
greater_equal = _compared(operator.ge)
equal = _compared(operator.eq)
not_equal = _compared(operator.ne)


@_of_integers
def divide(left: Any, right: Any) -> Any:
    """``/``: integers are divided in float64."""
    left, right = meet(left, right)
    if isinstance(left, np.generic) and kind_of(left.dtype) in ("bool", "int", "uint"):
        left, right = np.float64(left), np.float64(right)
    return left / right


def _is_zero_integer(value: Any) -> bool:
    return value == 0 and isinstance(value, (int, np.integer, np.bool_))


@_met
def floor_divide(left: Any, right: Any) -> Any:
    """``//``: rounds down; integers divided by 0 give 0."""
    return right * 0 if _is_zero_integer(right) else left // right


@_met
def modulo(left: Any, right: Any) -> Any:
    """``%``: has the divisor's sign; 0 for integers with divisor 0."""
    return right * 0 if _is_zero_integer(right) else left % right


@_met
def power(left: Any, right: Any) -> Any:
    """``**``: integers stay integers; a negative exponent gives 0 except for bases of 1 and -1."""
    if isinstance(left, (int, np.integer)) and right < 0:
        value = {1: 1, -1: 1 if right % 2 == 0 else -1}.get(int(left), 0)
        return type(left)(value)
    return left**right


def _shift(left: Any, right: Any, name: str) -> tuple[Any, int]:
    if isinstance(left, (bool, np.bool_)):
        left = np.int64(left)
    for side in (left, right):
        if not isinstance(side, (int, np.integer, np.bool_)):
            raise refuse(f"{name} shifts integers, not a {type(side).__name__}")
    return left, int(right)


@_of_integers
def shift_left(left: Any, right: Any) -> Any:
    """``<<`` in the type of the left operand; 0 for shifts by its width or more."""
    left, right = _meet_shift(left, right, "<<")
    if not isinstance(left, np.integer):
        return left << right
    return left << type(left)(right) if 0 <= right < 8 * left.itemsize else type(left)(0)


@_of_integers
def shift_right(left: Any, right: Any) -> Any:
    """``>>`` in the type of the left operand; shifts by its width or more give 0, or -1 for
    negative numbers.
    """
    left, right = _meet_shift(left, right, ">>")
    if not isinstance(left, np.integer):
        return left >> right
    if 0 <= right < 8 * left.itemsize:
        return left >> type(left)(right)
    return type(left)(-1 if left < 0 else 0)


def _meet_shift(left: Any, right: Any, name: str) -> tuple[Any, int]:
    if isinstance(left, (np.integer, int)) and isinstance(right, (np.integer, int)):
        left, right = meet(left, right)
    return _shift(left, right, name)


def _of_bits(operation: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        for side in (left, right):
            if not isinstance(side, (int, np.integer, np.bool_)):
                raise refuse(f"{name} is of integers and bools, not of a {type(side).__name__}")
        if isinstance(left, (bool, np.bool_)) and isinstance(right, (bool, np.bool_)):
            return operation(left, right)
        return operation(*meet(left, right))

    return _of_integers(apply)


bit_and = _of_bits(operator.and_, "&")
bit_or = _of_bits(operator.or_, "|")
bit_xor = _of_bits(operator.xor, "^")


def _number(value: Any) -> Any:
    return np.int64(value) if isinstance(value, np.bool_) else value


def _unary(operation: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        result = operation(_number(value))
        return integer(result) if isinstance(value, Integer) else result

    return apply


negate = _unary(operator.neg)
plus = _unary(operator.pos)
invert = _unary(operator.invert)
absolute = _unary(abs)


def denied(value: Any) -> Any:
    """``not``."""
    return np.bool_(not value)


def _extreme(pick: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    picked = _met(pick)

    def apply(*values: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], tuple):
            values = values[0]
        return functools.reduce(picked, values)

    return apply


minimum = _extreme(lambda left, right: right if right < left else left)
maximum = _extreme(lambda left, right: right if right > left else left)
#: Minimum and maximum of NumPy and of group functions, which propagate NaN.
numpys_minimum = _extreme(lambda left, right: left if left <= right or left != left else right)
numpys_maximum = _extreme(lambda left, right: left if left >= right or left != left else right)


def _remainder_of_c(left: Any, right: Any) -> Any:
    """C's remainder, which has the dividend's sign; 0 for integers with divisor 0. Bools count as
    integers.
    """
    left, right = _number(left), _number(right)
    if _is_zero_integer(right):
        return right * 0
    if isinstance(left, int) and isinstance(right, int):
        return left - right * (abs(left) // abs(right)) * (1 if (left < 0) == (right < 0) else -1)
    return np.fmod(left, right)


numpys_fmod = _met(_remainder_of_c)


def bit_count(number: Any) -> Any:
    """``np.bitwise_count``, which NumPy has since 2.0."""
    if not isinstance(number, (int, np.integer, np.bool_)):
        raise refuse(f"{number!r} is no integer; bitwise_count counts the bits of integers")
    return np.uint8(int(number).bit_count())


def rounded(number: Any, ndigits: Any = None) -> Any:
    """``round``: ties to even. Returns int64, or with ``ndigits`` the number's type."""
    if ndigits is None:
        if isinstance(number, (np.integer, np.bool_)):
            return np.int64(number)
        return number if isinstance(number, int) else np.int64(np.rint(number))
    kind, digits = type(number), int(ndigits)
    if isinstance(number, (int, np.bool_, np.integer)):  # ml_dtypes' floats are no np.floating
        if digits < -18:
            raise refuse(
                f"round() of an integer takes at least -18 digits, not {digits}: int64 holds no "
                "greater power of ten"
            )
        if digits >= 0 and isinstance(number, int):
            return number
        wrapped = np.int64(_wrapped(round(int(number), digits)))
        return wrapped.astype(number.dtype) if isinstance(number, np.integer) else wrapped
    factor = kind(10.0 ** abs(digits))
    return kind(
        np.rint(number * factor) / factor if digits >= 0 else np.rint(number / factor) * factor
    )


def divided(left: Any, right: Any) -> tuple[Any, Any]:
    return floor_divide(left, right), modulo(left, right)


def chosen(condition: Any, then: Any, otherwise: Any) -> Any:
    """NumPy's ``where`` for numbers."""
    then, otherwise = meet(then, otherwise)
    value = then if condition else otherwise
    return value if type(condition) in (bool, int, float, complex) else integer(value)


def close(left: Any, right: Any, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    """``math.isclose``."""
    return np.bool_(
        math.isclose(float(left), float(right), rel_tol=float(rel_tol), abs_tol=float(abs_tol))
    )


def raised(base: Any, exponent: Any, modulus: Any = None) -> Any:
    if modulus is not None:
        raise refuse("`pow(base, exp)` takes at most 2 arguments; write pow(base, exp) % m")
    return power(base, exponent)


def length(value: Any) -> Any:
    return np.int64(len(value))


def counted(*bounds: Any) -> Iterator[Any]:
    """``range``: yields int64 for bounds of any type."""
    for bound in bounds:
        if not isinstance(bound, (int, np.integer, np.bool_)):
            raise refuse(
                f"range counts integers, not {type(bound).__name__}s; write int(…) around the bound"
            )
    if len(bounds) == 3 and int(bounds[2]) == 0:
        raise refuse("the step of a range is 0; it must move")
    return map(np.int64, range(*(_wrapped(int(bound)) for bound in bounds)))


def mathematical(function: Callable[..., Any]) -> Callable[..., Any]:
    """Extends a function of float64 to all floats: computes in float64 and rounds to the type of
    the arguments.

    Integers give float64. If all arguments are literals, the result is a literal.
    """

    def apply(*values: Any) -> Any:
        for value in values:
            _number_only(value)
        typed = functools.reduce(lambda left, right: meet(left, right)[0], values)
        dtype = typed.dtype if isinstance(typed, np.generic) else dtype_of(_weaker(typed))
        if kind_of(dtype) in ("bool", "int", "uint"):
            dtype = np.dtype("float64")
        wide = np.complex128 if kind_of(dtype) == "complex" else np.float64
        result = function(*[wide(value) for value in values])
        if isinstance(result, (bool, np.bool_)):
            return np.bool_(result)
        if not isinstance(typed, np.generic):
            return result.item() if isinstance(result, np.generic) else result
        return dtype.type(result)

    return apply


def _number_only(value: Any) -> None:
    if not isinstance(value, (int, float, complex, np.generic)):
        raise refuse(f"{value!r} is no number; mathematical functions take numbers")


def whole(function: Callable[[Any], Any], literal: Callable[[float], int]) -> Callable[[Any], Any]:
    """``math.floor`` and similar functions, which return int64; larger values are converted as C
    does.
    """

    def apply(value: Any) -> Any:
        _number_only(value)
        if isinstance(value, Integer):
            return value
        if not isinstance(value, np.generic):
            return literal(value)
        of_float = kind_of(value.dtype) == "float"
        return (function(np.float64(value)) if of_float else value).astype(np.int64)

    return apply


def _gamma(value: float) -> float:
    """C's gamma, which returns an infinity or NaN where Python's raises."""
    try:
        return math.gamma(value)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.copysign(math.inf, value) if value == 0 else math.nan


def _log_gamma(value: float) -> float:
    try:
        return math.lgamma(value)
    except (OverflowError, ValueError):
        return math.inf


_fraction, _whole_part = (mathematical(lambda x, part=part: np.modf(x)[part]) for part in (0, 1))

#: Functions of Python's ``math`` by name; those that NumPy lacks are Python's own.
MATHEMATICAL: dict[str, Callable[..., Any]] = {
    name: mathematical(getattr(np, numpy_name))
    for name, numpy_name in {
        "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log2": "log2",
        "log10": "log10",
        "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin",
        "acos": "arccos", "atan": "arctan",
        "atan2": "arctan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh",
        "acosh": "arccosh",
        "atanh": "arctanh", "pow": "float_power", "fmod": "fmod", "copysign": "copysign",
        "isnan": "isnan",
        "isinf": "isinf", "isfinite": "isfinite", "fabs": "abs", "degrees": "degrees",
        "radians": "radians", "cbrt": "cbrt",
        "fmax": "fmax", "fmin": "fmin", "rint": "rint",
    }.items()
}  # fmt: skip
MATHEMATICAL |= {
    "log": mathematical(
        lambda x, base=math.e: np.log(x) if base == math.e else np.log(x) / np.log(base)
    ),
    "floor": whole(np.floor, math.floor),
    "ceil": whole(np.ceil, math.ceil),
    "trunc": whole(np.trunc, math.trunc),
    "erf": mathematical(math.erf),
    "erfc": mathematical(math.erfc),
    "gamma": mathematical(_gamma),
    "lgamma": mathematical(_log_gamma),
    "fma": mathematical(lambda x, y, z: x * y + z),
    "isclose": close,
    "modf": lambda value: (_fraction(value), _whole_part(value)),
}
