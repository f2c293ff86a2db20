#!/usr/bin/env python3
"""Adds the docstrings of the extension's plain CPython types to its stub.

    tools/stub_docstrings.py STUB

tools/stubs.pat has the signatures of these types, because nanobind's generator cannot see them.
Their docstrings are written once, in python/bind. This script copies them into the stub.
"""

from __future__ import annotations

import ast
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path

import entrepot._core

LONGEST_LINE = 100

# nanobind writes the docstrings of its own functions and properties. Slot wrappers such as __len__
# have CPython's standard docstrings, which the stub leaves out.
DOCUMENTED = (
    type,
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
)


def docstring_of(owner: object, name: str) -> str | None:
    """The docstring of a member that is written in C++, or None."""
    mro = owner.__mro__ if isinstance(owner, type) else (owner,)
    member = next((vars(each)[name] for each in mro if name in vars(each)), None)
    if name == "__new__" or not isinstance(member, DOCUMENTED):
        return None
    text = member.__dict__.get("__doc__") if isinstance(member, type) else member.__doc__
    return textwrap.dedent(text).strip() if isinstance(text, str) else None


def formatted(text: str, indent: str) -> list[str]:
    text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if "\n" not in text and len(indent) + len(text) + 6 <= LONGEST_LINE:
        return [f'{indent}"""{text}"""']
    return [f'{indent}"""', *textwrap.indent(text, indent).split("\n"), f'{indent}"""']


def edits(nodes: list[ast.stmt], owner: object) -> Iterator[tuple[ast.stmt, str]]:
    """The definitions without a docstring, each with the text of its member in the extension."""
    for node, following in zip(nodes, [*nodes[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            has_text = isinstance(following, ast.Expr) or not isinstance(owner, type)
            text = None if has_text else docstring_of(owner, node.target.id)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            text = None if ast.get_docstring(node) else docstring_of(owner, node.name)
        else:
            continue
        if text:
            yield node, text
        if isinstance(node, ast.ClassDef):
            yield from edits(node.body, getattr(owner, node.name))


def with_docstrings(source: str) -> str:
    lines = source.split("\n")
    found = list(edits(ast.parse(source).body, entrepot._core))
    for node, text in sorted(found, key=lambda each: each[0].lineno, reverse=True):
        indent = " " * node.col_offset
        if isinstance(node, ast.AnnAssign):
            lines[node.lineno : node.lineno] = formatted(text, indent)
            continue
        body = node.body[0]  # type: ignore[attr-defined]
        is_empty = isinstance(body, ast.Expr) and body.lineno == body.end_lineno
        docstring = formatted(text, indent + "    ")
        if is_empty and lines[body.lineno - 1].endswith(": ..."):
            lines[body.lineno - 1] = lines[body.lineno - 1].removesuffix(" ...")
            lines[body.lineno : body.lineno] = docstring
        else:  # a class with members
            lines[node.lineno : node.lineno] = [*docstring, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    stub = Path(sys.argv[1])
    stub.write_text(with_docstrings(stub.read_text(encoding="utf-8")), encoding="utf-8")
