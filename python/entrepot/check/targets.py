"""What is checked: ``module:attribute`` or ``module:expression``, an object, a factory of objects, or an importer."""

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
    """There is nothing to check under this name."""


@dataclass(frozen=True)
class Target:
    """Either side of a protocol: ``make`` gives an exporter's object, ``take`` is an importer; ``call`` is whichever it is."""

    name: str
    side: str
    call: Callable[..., Any]
    repeatable: bool = True


def resolve(name: str, side: str | None = None) -> Target:
    """The target of this name. Its side, if it is not said, is seen by whether it can be called without arguments."""
    module_name, colon, expression = name.partition(":")
    if not colon or not expression:
        raise TargetError(f"{name!r} is no target: write module:attribute or module:expression, such as numpy:zeros(3)")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise TargetError(f"module {module_name!r} cannot be imported: {words_of(error)}") from error
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


def target_of(name: str, found: Any, side: str | None = None, again: Callable[[], Any] | None = None) -> Target:
    """Of something at hand; ``again`` makes another one, where it came from an expression."""
    is_object = not callable(found) or (not isinstance(found, type) and bool(spoken(found)))
    if is_object:
        if side == IMPORT:
            raise TargetError(f"{name} cannot be called, so it is no importer: it is of type {type(found).__name__}")
        return Target(name, EXPORT, again or (lambda: found), repeatable=again is not None)
    if side is None:
        side = EXPORT if makes_exporters(found) else IMPORT
    return Target(name, side, found)


def makes_exporters(function: Callable[..., Any]) -> bool:
    """Whether it can be called without arguments, and gives something that speaks a protocol."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # of C, without a signature: calling it tells
        pass
    try:
        return bool(spoken(function()))
    except Exception:
        return False


def versions_of(name: str) -> dict[str, str]:
    """Distribution → version, of the module that a target is in and of those that its expression imports; empty for modules of
    nobody's."""
    module, _, expression = name.partition(":")
    found = importlib.metadata.packages_distributions()
    modules = [module, *re.findall(r"__import__\(['\"]([\w.]+)['\"]", expression)]
    distributions = {dist for each in modules for dist in found.get(each.partition(".")[0], ())}
    return {dist: importlib.metadata.version(dist) for dist in sorted(distributions)}
