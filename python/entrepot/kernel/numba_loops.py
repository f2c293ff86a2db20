"""Loops of Numba's languages over tuples, arrays, ``enumerate`` and ``zip``.

Each is written as a loop over ``range``, the only one of the kernel language. An element is
assigned at the begin of a round: ``for v in a`` is ``for place in range(len(a))`` with ``v =
a[place]``.
"""

from __future__ import annotations

import ast
import builtins
import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from . import source
from .simulator.rewrite import names_of


def change_loops(function: FunctionType) -> None:
    """Lets the function loop over more than ``range``, each time that it is read."""
    source.change(function, functools.partial(_with_ranges, weakref.ref(function)))


def _with_ranges(
    reference: weakref.ref[FunctionType], node: source.Definition
) -> source.Definition:
    function = reference()
    assert function is not None  # its node is being read
    if not any(isinstance(each, ast.For) for each in ast.walk(node)):
        return node
    changed = _Loops(names_of(function, node)).visit(node)
    assert isinstance(changed, ast.FunctionDef)
    return ast.fix_missing_locations(changed)


@dataclass(frozen=True)
class _Items:
    """The number of elements that a loop goes over, and the element at a place."""

    count: ast.expr
    element: Callable[[ast.expr], ast.expr]


class _Loops(ast.NodeTransformer):
    def __init__(self, value: Callable[[ast.expr], Any]) -> None:
        self._value = value
        self._loops = 0
        self._before: list[ast.stmt] = []  # assignments before the current loop

    def visit_For(self, loop: ast.For) -> Any:
        self.generic_visit(loop)
        if isinstance(loop.iter, ast.Call) and self._value(loop.iter.func) is builtins.range:
            return loop
        self._loops, self._before = self._loops + 1, []
        items = self._items(loop.iter)
        if items is None:
            return loop
        place = f"place_in_loop_{self._loops}"
        loop.body[:0] = [
            ast.copy_location(each, loop.target)
            for each in _assigned(loop.target, items.element(ast.Name(place, ast.Load())))
        ]
        loop.target = ast.copy_location(ast.Name(place, ast.Store()), loop.target)
        counted = ast.Call(ast.Name("range", ast.Load()), [items.count], [])
        loop.iter = ast.copy_location(counted, loop.iter)
        return [*(ast.copy_location(each, loop) for each in self._before), loop]

    def _items(self, node: ast.expr) -> _Items | None:
        known = self._value(node)
        if isinstance(known, tuple) and known:
            return self._of_tuple([_literal(each) for each in known])
        if isinstance(node, ast.Tuple | ast.List) and node.elts:
            return self._of_tuple(node.elts)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Name | ast.Subscript):
            array = node if isinstance(node, ast.Name) else self._held(node)
            return _Items(
                _call(builtins.len, array),
                lambda place: ast.Subscript(array, place, ast.Load()),
            )
        return None

    def _of_tuple(self, elements: list[ast.expr]) -> _Items:
        held = [each if _is_literal(each) else self._held(each) for each in elements]

        def element(place: ast.expr) -> ast.expr:
            rows = [each.elts for each in held if isinstance(each, ast.Tuple)]
            if len(rows) == len(held) and len({len(each) for each in rows}) == 1:
                columns = [list(column) for column in zip(*rows, strict=True)]
                return ast.Tuple([_chosen(column, place) for column in columns], ast.Load())
            return _chosen(held, place)

        return _Items(ast.Constant(len(held)), element)

    def _of_call(self, call: ast.Call) -> _Items | None:
        function, given = self._value(call.func), call.args
        if call.keywords or not given or any(isinstance(each, ast.Starred) for each in given):
            return None
        if function is builtins.enumerate and len(given) <= 2:
            items = self._items(given[0])
            start = self._held(given[1]) if len(given) == 2 else ast.Constant(0)
            return items and _Items(
                items.count,
                lambda place: ast.Tuple(
                    [ast.BinOp(place, ast.Add(), start), items.element(place)], ast.Load()
                ),
            )
        if function is builtins.zip:
            parts = [each for each in map(self._items, given) if each is not None]
            counts = [each.count for each in parts]
            count = _call(builtins.min, *counts)
            return (
                _Items(
                    counts[0] if len(counts) == 1 else count,
                    lambda place: ast.Tuple([each.element(place) for each in parts], ast.Load()),
                )
                if len(parts) == len(given)
                else None
            )
        return None

    def _held(self, node: ast.expr) -> ast.expr:
        """A variable with the value of the expression, which is evaluated before the loop."""
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._held(each) for each in node.elts], ast.Load())
        if _is_literal(node):
            return node
        name = f"item_{len(self._before)}_of_loop_{self._loops}"
        self._before.append(ast.Assign([ast.Name(name, ast.Store())], node))
        return ast.Name(name, ast.Load())


def _call(function: Any, *arguments: ast.expr) -> ast.expr:
    """A call of the function itself: a kernel may have another value under its name."""
    return ast.Call(ast.Constant(function), list(arguments), [])


def _literal(value: Any) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple([_literal(each) for each in value], ast.Load())
    return ast.Constant(value)


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(map(_is_literal, node.elts))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_literal(node.operand)
    return isinstance(node, ast.Constant)


def _chosen(elements: list[ast.expr], place: ast.expr) -> ast.expr:
    """The element at the place: a choice for each of them but the last."""
    found = elements[-1]
    for number, each in reversed(list(enumerate(elements[:-1]))):
        found = ast.IfExp(ast.Compare(place, [ast.Eq()], [ast.Constant(number)]), each, found)
    return found


def _assigned(target: ast.expr, element: ast.expr) -> list[ast.stmt]:
    if isinstance(target, ast.Tuple) and isinstance(element, ast.Tuple):
        if len(target.elts) == len(element.elts):
            pairs = zip(target.elts, element.elts, strict=True)
            return [each for pair in pairs for each in _assigned(*pair)]
    return [ast.Assign([target], element)]
