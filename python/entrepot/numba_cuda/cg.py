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
from .errors import refusing
from .expressions import call, constant, refused

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
    grids = _grids_in(node, value)
    changed = _Change(value, grids).visit(node)
    changed = _Refuse(value, _only_grids(changed, grids)).visit(changed)
    assert isinstance(changed, ast.FunctionDef | ast.Lambda)
    return ast.fix_missing_locations(changed)


def _is_grid(node: ast.expr, value: Callable[[ast.expr], Any]) -> bool:
    return isinstance(node, ast.Call) and value(node.func) is this_grid


def _is_name_in(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _pairs(assignment: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Targets with their values, item by item for tuples of equal length."""
    target, given = assignment.targets[0], assignment.value
    if len(assignment.targets) == 1 and isinstance(target, ast.Tuple):
        if isinstance(given, ast.Tuple) and len(given.elts) == len(target.elts):
            return list(zip(target.elts, given.elts, strict=True))
    return [(each, given) for each in assignment.targets]


def _grids_in(node: ast.AST, value: Callable[[ast.expr], Any]) -> set[str]:
    """Names of the variables that are grids, also by ``h = g``."""
    named = [
        (target.id, given)
        for each in ast.walk(node)
        if isinstance(each, ast.Assign)
        for target, given in _pairs(each)
        if isinstance(target, ast.Name)
    ]
    grids: set[str] = set()
    while True:
        found = {
            name for name, given in named if _is_grid(given, value) or _is_name_in(given, grids)
        }
        if found == grids:
            return grids
        grids = found


def _only_grids(node: ast.AST, grids: set[str]) -> set[str]:
    """Those of the names that have no other value."""
    # Assignments of grids are gone: the others store another value.
    others = {
        each.arg if isinstance(each, ast.arg) else each.id
        for each in ast.walk(node)
        if isinstance(each, ast.arg)
        or (isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    }
    return grids - others


class _Change(ast.NodeTransformer):
    """Leaves out assignments of grids, which do not exist at run time, and replaces ``sync()``."""

    def __init__(self, value: Callable[[ast.expr], Any], grids: set[str]) -> None:
        self._value, self._grids = value, grids

    def _is_grid(self, node: ast.expr) -> bool:
        return _is_grid(node, self._value) or _is_name_in(node, self._grids)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        kept = [
            (target, given)
            for target, given in _pairs(node)
            if not (isinstance(target, ast.Name) and self._is_grid(given))
        ]
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
        is_grid = self._is_grid(callee.value)
        return ast.copy_location(call(grid_barrier), node) if is_grid else node


class _Refuse(ast.NodeTransformer):
    """Gives other uses of a grid their reason, after the assignments are gone."""

    def __init__(self, value: Callable[[ast.expr], Any], grids: set[str]) -> None:
        self._value, self._grids = value, grids

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if _is_grid(node.value, self._value) or _is_name_in(node.value, self._grids):
            return ast.copy_location(constant(_attribute(node.attr)), node)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not _is_name_in(node, self._grids):
            return node
        return ast.copy_location(constant(this_grid), node)


_NUMBER_OF_THREADS = "the number of threads of a launch is cuda.gridsize(1)"


def _attribute(name: str) -> Macro:
    is_number = name in ("size", "num_threads")
    return refused(
        f"cg.this_grid().{name}",
        _NUMBER_OF_THREADS if is_number else f"of a grid, only {_USE}",
    )


__getattr__ = refusing("cg", otherwise="cg has this_grid(), whose sync() waits for all threads")
