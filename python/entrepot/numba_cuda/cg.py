"""Cooperative groups, ``cuda.cg``: the grid, whose ``sync()`` waits for all threads of a launch."""

from __future__ import annotations

import ast
import functools
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..kernel import source
from ..kernel.language import grid_barrier
from ..kernel.macros import Macro
from ..kernel.simulator.rewrite import names_of
from .expressions import call

_USE = "its method sync() is called, as in g = cg.this_grid(); g.sync()"

this_grid = Macro(
    "cg.this_grid",
    lambda node, values: f"`cg.this_grid()` is all threads of a launch, and only {_USE}",
    f"""All threads of a launch. In a kernel {_USE}.

All threads of the launch must reach the call of ``sync``, or none. The kernel is launched
cooperatively. A launch of more blocks than the device runs at once raises KernelError with both
numbers; ``kernel.overloads[signature].max_cooperative_grid_blocks(blockdim)`` is the limit.

Examples
--------
>>> from entrepot import numba_cuda as cuda
>>> @cuda.jit
... def count_rows(rows):
...     column, grid = cuda.grid(1), cuda.cg.this_grid()
...     for row in range(1, rows.shape[0]):
...         rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1
...         grid.sync()
>>> rows = np.zeros((4, 8), "int32")
>>> count_rows[2, 4](rows)
>>> rows[:, 0].tolist()
[0, 1, 2, 3]
""",
)


def change_syncs(function: FunctionType) -> None:
    """Writes the calls of ``sync`` of a grid as barriers of the language."""
    if "sync" in function.__code__.co_names:
        source.change(function, functools.partial(_synchronized, weakref.ref(function)))


def _synchronized(
    reference: weakref.ref[FunctionType], node: source.Definition
) -> source.Definition:
    function = reference()
    assert function is not None  # its node is being read
    value = names_of(function, node)
    changed = _Change(value, _grids_in(node, value)).visit(node)
    assert isinstance(changed, ast.FunctionDef | ast.Lambda)
    return ast.fix_missing_locations(changed)


def _is_grid(node: ast.expr, value: Callable[[ast.expr], Any]) -> bool:
    return isinstance(node, ast.Call) and value(node.func) is this_grid


def _pairs(assignment: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Targets with their values, item by item for tuples of equal length."""
    target, given = assignment.targets[0], assignment.value
    if len(assignment.targets) == 1 and isinstance(target, ast.Tuple):
        if isinstance(given, ast.Tuple) and len(given.elts) == len(target.elts):
            return list(zip(target.elts, given.elts, strict=True))
    return [(each, given) for each in assignment.targets]


def _grids_in(node: ast.AST, value: Callable[[ast.expr], Any]) -> set[str]:
    """Names of the variables that are grids."""
    return {
        target.id
        for each in ast.walk(node)
        if isinstance(each, ast.Assign)
        for target, given in _pairs(each)
        if isinstance(target, ast.Name) and _is_grid(given, value)
    }


class _Change(ast.NodeTransformer):
    """Leaves out assignments of grids, which do not exist at run time, and replaces ``sync()``."""

    def __init__(self, value: Callable[[ast.expr], Any], grids: set[str]) -> None:
        self._value, self._grids = value, grids

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        kept = [pair for pair in _pairs(node) if not _is_grid(pair[1], self._value)]
        self.generic_visit(node)
        if len(kept) == len(_pairs(node)):
            return node
        if not kept:
            return ast.copy_location(ast.Pass(), node)
        targets, given = (list(each) for each in zip(*kept, strict=True))
        if len(kept) > 1:
            targets = [ast.Tuple(targets, ast.Store())]
            given = [ast.Tuple(given, ast.Load())]
        return ast.copy_location(ast.Assign(targets, given[0]), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        callee = node.func
        if not isinstance(callee, ast.Attribute) or callee.attr != "sync" or node.args:
            return node
        owner = callee.value
        is_grid = _is_grid(owner, self._value) or (
            isinstance(owner, ast.Name) and owner.id in self._grids
        )
        return ast.copy_location(call(grid_barrier), node) if is_grid else node
