"""What variables hold: the compiler knows the type of each, of which Python's own objects tell nothing.

A variable that is assigned ``0``, and elements of uint8 later, is uint8 from the beginning; one that is assigned literals alone
is of literals, but none. Where the compiler refuses a kernel, nothing is known, and values stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entrepot import Dtype

from .arithmetic import converted, dtype_of, integer

#: What a function is known by: its file, the first line of its text, its name.
Place = tuple[str, int, str]
#: Lines and columns of an expression, from and to.
Span = tuple[int, int, int, int]

_WEAK: dict[Any, Callable[[Any], Any]] = {bool: np.bool_, int: lambda value: integer(int(value)), float: float, complex: complex}


@dataclass
class Types:
    """Of a function: NumPy's dtypes, Python's own classes for what is of literals, tuples of such, None for what is not known."""

    names: dict[str, Any] = field(default_factory=dict)  # "": what it returns
    choices: dict[Span, Any] = field(default_factory=dict)

    def kept(self, names: Any, value: Any) -> Any:
        """The value as the variable of that name holds it; of several names, each its item."""
        if isinstance(names, str):
            return _held(self.names.get(names), value)
        if names is None or not isinstance(value, tuple) or len(names) != len(value):
            return value
        return tuple(map(self.kept, names, value))

    def chosen(self, span: Span, value: Any) -> Any:
        """The value of an expression that chooses, in the type of all its choices."""
        return _held(self.choices.get(span), value)


def types_of(functions: list[tuple[Place, dict[str, Any], dict[Span, Any]]]) -> dict[Place, Types]:
    """What the compiler found, by function. What differs between the calls of one is not known."""
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
    if not isinstance(value, (int, float, complex, np.generic)) or kind is None or isinstance(kind, tuple):
        return value
    return _WEAK[kind](value) if kind in _WEAK else converted(kind, value)
