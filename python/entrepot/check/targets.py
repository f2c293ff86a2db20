"""Targets of checks: ``module:attribute`` or ``module:expression``, an object, a factory, or an
importer.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .clauses import EXPORT, IMPORT, words_of
from .protocols import spoken

DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class TargetError(Exception):
    """The name denotes nothing that can be checked.

    Examples
    --------
    >>> from entrepot.check import Request, TargetError, check
    >>> try:
    ...     check(Request("builtins:byte_array(8)"))
    ... except TargetError as error:
    ...     print(error)
    'byte_array(8)' in builtins raised NameError: name 'byte_array' is not defined
    """


@dataclass(frozen=True)
class Target:
    """An exporter or importer: ``call`` makes an exporter's object, or imports one, by ``side``."""

    name: str
    side: str
    call: Callable[..., Any]
    repeatable: bool = True


def resolve(name: str, side: str | None = None) -> Target:
    """The target of this name. If no side is given, a target callable without arguments is an
    exporter.
    """
    module_name, colon, expression = name.partition(":")
    if not colon or not expression:
        raise TargetError(
            f"{name!r} is no target: write module:attribute or module:expression, such as "
            "numpy:zeros(3)"
        )
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise TargetError(
            f"module {module_name!r} cannot be imported: {words_of(error)}"
        ) from error
    code = compile_expression(name, expression)

    def evaluate() -> Any:
        return eval(code, vars(module))

    try:
        found = evaluate()
    except Exception as error:
        raise TargetError(f"{expression!r} in {module_name} raised {words_of(error)}") from error
    return target_of(name, found, side, None if DOTTED.fullmatch(expression) else evaluate)


def compile_expression(name: str, expression: str) -> Any:
    try:
        return compile(expression.strip(), name, "eval")
    except SyntaxError as error:
        raise TargetError(f"{expression!r} is no expression: {error.msg}") from None


def target_of(
    name: str, found: Any, side: str | None = None, again: Callable[[], Any] | None = None
) -> Target:
    """The target for an object; ``again`` makes another one if it came from an expression."""
    is_object = not callable(found) or (not isinstance(found, type) and bool(spoken(found)))
    if is_object:
        if side == IMPORT:
            raise TargetError(
                f"{name} cannot be called, so it is no importer: it is of type "
                f"{type(found).__name__}"
            )
        return Target(name, EXPORT, again or (lambda: found), repeatable=again is not None)
    if side is None:
        side = EXPORT if makes_exporters(found) else IMPORT
    return Target(name, side, found)


def makes_exporters(function: Callable[..., Any]) -> bool:
    """True if it can be called without arguments and returns an object that supports a protocol."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # a C function without a signature: try to call it
        pass
    try:
        return bool(spoken(function()))
    except Exception:
        return False


def versions_of(name: str) -> dict[str, str]:
    """Distribution → version, for the target's module and those that its expression imports.

    Empty for modules that belong to no distribution.
    """
    module, _, expression = name.partition(":")
    found = importlib.metadata.packages_distributions()
    modules = [module, *re.findall(r"__import__\(['\"]([\w.]+)['\"]", expression)]
    distributions = {dist for each in modules for dist in found.get(each.partition(".")[0], ())}
    return {dist: importlib.metadata.version(dist) for dist in sorted(distributions)}
