"""Loads and stores with hints for caches, which have no effect: compilers choose the instructions.

A hint does not change the numbers that a kernel computes.
"""

from __future__ import annotations

import ast
from typing import Any

from ..kernel.functions import func
from ..kernel.macros import Macro
from .expressions import call, function, refused


@func
def store(array, i, value):  # type: ignore[no-untyped-def]
    """Stores the value: an assignment is not an expression."""
    array[i] = value


def _load(name: str) -> Macro:
    return function(
        name,
        "array, i",
        lambda given: ast.Subscript(given["array"], given["i"], ast.Load()),
        "``array[i]``.",
    )


def _store(name: str) -> Macro:
    return function(
        name,
        "array, i, value",
        lambda given: call(store, given["array"], given["i"], given["value"]),
        "``array[i] = value``.",
    )


ldca: Any = _load("ldca")
ldcg: Any = _load("ldcg")
ldcs: Any = _load("ldcs")
ldlu: Any = _load("ldlu")
stcg: Any = _store("stcg")
stcs: Any = _store("stcs")
stwb: Any = _store("stwb")
stwt: Any = _store("stwt")
ldcv = refused("ldcv", "threads see each other's writes by cuda.atomic, or after syncthreads()")
