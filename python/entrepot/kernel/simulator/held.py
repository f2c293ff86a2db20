"""Types of variables, which come from the compiler because Python's objects do not have them.

A variable that is assigned ``0``, and later elements of uint8, is uint8 from the beginning. A
variable that is assigned only literals stays weak, but is not a literal. If the compiler refuses a
kernel, types are unknown and values are not converted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._core import Dtype
from .arithmetic import converted, dtype_of, integer
from .structs import returned, value_of

#: Key of a function: its file, the first line of its text, its name.
Place = tuple[str, int, str]
#: First line and column of an expression, last line and column.
Span = tuple[int, int, int, int]

_WEAK: dict[Any, Callable[[Any], Any]] = {
    bool: np.bool_,
    int: lambda value: integer(int(value)),
    float: float,
    complex: complex,
}


@dataclass
class Types:
    """Types in a function: NumPy dtypes, Python classes for weak numbers, tuples of these, None if
    unknown.
    """

    names: dict[str, Any] = field(default_factory=dict)  # "": the result
    choices: dict[Span, Any] = field(default_factory=dict)

    def kept(self, names: Any, value: Any) -> Any:
        """The value in the type of the variable of that name; for a tuple of names, item by
        item.
        """
        if isinstance(names, str):
            value = value_of(value) if names else returned(value)
            return _held(self.names.get(names), value)
        if names is None or not isinstance(value, tuple) or len(names) != len(value):
            return value
        return tuple(map(self.kept, names, value))

    def chosen(self, span: Span, value: Any) -> Any:
        """The value of a choosing expression, in the common type of its choices."""
        return _held(self.choices.get(span), value)


def types_of(functions: list[tuple[Place, dict[str, Any], dict[Span, Any]]]) -> dict[Place, Types]:
    """The compiler's types by function. Types that differ between calls of a function are
    unknown.
    """
    found: dict[Place, Types] = {}
    for place, names, choices in functions:
        types = found.setdefault(place, Types())
        _join(types.names, names)
        _join(types.choices, choices)
    return found


def _join(known: dict[Any, Any], others: dict[Any, Any]) -> None:
    for key, spelling in others.items():
        named = _named(spelling)
        known[key] = named if known.get(key, named) == named else None


def _named(spelling: Any) -> Any:
    if isinstance(spelling, tuple):
        return tuple(map(_named, spelling))
    return dtype_of(spelling) if isinstance(spelling, Dtype) else spelling


def _held(kind: Any, value: Any) -> Any:
    if isinstance(kind, tuple) and isinstance(value, tuple) and len(kind) == len(value):
        return tuple(map(_held, kind, value))
    if (
        not isinstance(value, (int, float, complex, np.generic))
        or kind is None
        or isinstance(kind, tuple)
    ):
        return value
    return _WEAK[kind](value) if kind in _WEAK else converted(kind, value)
