"""Imports between the modules of ``python/entrepot`` have no circle.

Imports in functions and for type checkers count as well. An import of a submodule also imports its
packages; that is ignored, because a package imports the modules that it consists of.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def modules_of(package: Path) -> dict[str, Path]:
    """The files of a package by the names of their modules, extension modules by their stubs."""
    found = {}
    for path in sorted([*package.rglob("*.pyi"), *package.rglob("*.py")]):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported_by(name: str, path: Path) -> Iterator[str]:
    """Full names of the imported modules, and of the imported names as if they were modules."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = package.split(".")[: len(package.split(".")) + 1 - node.level]
            source = ".".join([*(parent if node.level else []), *filter(None, [node.module])])
            yield from (f"{source}.{each.name}" for each in node.names)


def circle_in(package: Path) -> list[str]:
    """The modules of an import circle, each of which imports the one before; empty if there is no
    circle.
    """
    modules = modules_of(package)
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        targets = (
            each if each in modules else each.rpartition(".")[0] for each in imported_by(name, path)
        )
        graph[name] = {each for each in targets if each in modules}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_imports_of_package_have_no_circle():
    circle = circle_in(ROOT / "python/entrepot")
    assert not circle, "circle of imports: " + ", imported by ".join(circle)


@pytest.mark.parametrize(
    "text",
    [
        "from . import high",
        "from .high import name",
        "import package.high",
        "from package import high",
        "from package.high import *",
        "def late():\n    from .high import name",
        "if TYPE_CHECKING:\n    from .high import name",
    ],
)
def test_circle_of_imports_is_found(tmp_path, text):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from .high import name\n")
    (package / "high.py").write_text("from .low import name\n")
    (package / "low.py").write_text("import os\n")
    assert circle_in(package) == []
    (package / "low.py").write_text(text + "\n")
    assert set(circle_in(package)) == {"package.high", "package.low"}
