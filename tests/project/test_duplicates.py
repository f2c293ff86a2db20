"""Test helpers stand once: shared ones in tests/support."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SMALLEST = 3  # statements


def body_of(function: ast.FunctionDef | ast.ClassDef) -> str | None:
    """Text of the body without its docstring; None for one of fewer statements."""
    statements = function.body[ast.get_docstring(function) is not None :]
    if sum(isinstance(node, ast.stmt) for each in statements for node in ast.walk(each)) < SMALLEST:
        return None
    return "\n".join(map(ast.unparse, statements))


def test_function_bodies_stand_in_one_file() -> None:
    places: defaultdict[str, set[str]] = defaultdict(set)
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and (body := body_of(node)):
                places[body].add(str(path.relative_to(TESTS)))
    assert [(body, files) for body, files in places.items() if len(files) > 1] == []
