"""Builds expressions of Python's ast, which stand for the names of numba.cuda in a kernel."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..kernel.macros import Macro, Values
from .errors import unsupported

#: The arguments of a call by the names of its parameters.
Given = dict[str, ast.expr]


def constant(value: Any) -> ast.expr:
    """A literal, or a function, dtype or type that the kernel uses."""
    return ast.Constant(value)


def call(function: Any, *arguments: Any) -> ast.expr:
    """A call of a function of the language, of NumPy or math, or of a device function."""
    given = [each if isinstance(each, ast.expr) else constant(each) for each in arguments]
    return ast.Call(constant(function), given, [])


def binary(left: ast.expr, operator: ast.operator, right: ast.expr) -> ast.expr:
    """``left operator right``."""
    return ast.BinOp(left, operator, right)


def compared(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.expr:
    """``left operator right``, a bool."""
    return ast.Compare(left, [operator], [right])


def chosen(condition: ast.expr, then: ast.expr, otherwise: ast.expr) -> ast.expr:
    """``then if condition else otherwise``."""
    return ast.IfExp(condition, then, otherwise)


def literal(node: ast.expr | None, values: Values, key: Any) -> Any:
    """The value of an argument that is a literal or a captured number; None if it is neither."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand, values, None)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant):
        return node.value
    return values.get(key)


def function(
    name: str,
    parameters: str,
    build: Callable[[Given], ast.expr | str],
    doc: str = "",
) -> Macro:
    """A macro that is called with these parameters, ``"a, b=, *"``: ``=`` marks those that may be
    left out.

    Requires: ``build`` uses each argument at most once, since it may be an expression with effects,
    such as a random number. A device function can use its parameter more often.
    """
    names = [each.strip() for each in parameters.split(",") if each.strip()]
    shown = f"`{name}({parameters.replace('=', '=…')})`"

    def expansion(node: ast.expr, values: Values) -> ast.expr | str:
        if not isinstance(node, ast.Call):
            return f"{shown} is a function: call it"
        given = _by_name(node, [each.rstrip("=") for each in names], shown)
        if isinstance(given, str):
            return given
        missing = [each for each in names if not each.endswith("=") and each not in given]
        if missing:
            return f"{shown} is not given `{missing[0]}`"
        made = build(given)
        assert isinstance(made, str) or _uses_each_once(made, given), name
        return made

    return Macro(name, expansion, doc)


def _uses_each_once(made: ast.expr, given: Given) -> bool:
    """True if no argument is in the expression more than once."""
    places = [id(each) for each in ast.walk(made)]
    return all(places.count(id(each)) <= 1 for each in given.values())


def _by_name(node: ast.Call, names: list[str], shown: str) -> Given | str:
    if len(node.args) > len(names):
        return f"{shown} takes at most {len(names)} arguments"
    given = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in names:
            return f"{shown} has no argument `{keyword.arg}`"
        if keyword.arg in given:
            return f"{shown} is given `{keyword.arg}` twice"
        given[keyword.arg] = keyword.value
    return given


def value(name: str, build: Callable[[], ast.expr], doc: str = "") -> Macro:
    """A macro that stands for a value, without a call."""

    def expansion(node: ast.expr, values: Values) -> ast.expr | str:
        if isinstance(node, ast.Call):
            return f"`{name}` is a number, not a function: leave the parentheses out"
        return build()

    return Macro(name, expansion, doc)


def refused(name: str, instead: str) -> Macro:
    """A macro that no kernel can use."""
    return Macro(name, lambda node, values: f"`{name}` is not served: {instead}", instead)


class Names:
    """Names of a group: ``threadIdx``, ``atomic``, ``shared`` …"""

    def __init__(self, name: str, members: dict[str, Any]) -> None:
        self.__name__ = name
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        members = ", ".join(each for each in vars(self) if not each.startswith("_"))
        raise unsupported(f"{self.__name__}.{name}", f"{self.__name__} has {members}")

    def __repr__(self) -> str:
        return f"<numba_cuda {self.__name__}>"
