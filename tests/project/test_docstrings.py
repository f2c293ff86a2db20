"""Docstrings of public functions have the sections of numpydoc, and their examples run."""

from __future__ import annotations

import ast
import doctest
import enum
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import entrepot as ep
from entrepot.kernel.language import Builtin, Namespace
from support.reference import public_names

pytestmark = [pytest.mark.host, pytest.mark.numpy]

STUB = ast.parse(
    (Path(__file__).resolve().parents[2] / "python/entrepot/_core.pyi").read_text(encoding="utf-8")
)


class Documented(NamedTuple):
    name: str
    docstring: str
    #: Names of a function's parameters; None for classes and constants.
    parameters: list[str] | None


def stubs(owner: str | None, name: str) -> list[ast.FunctionDef]:
    """The overloads of a function of the extension, or of a method of its class ``owner``."""
    classes = {each.name: each for each in STUB.body if isinstance(each, ast.ClassDef)}
    body = STUB.body if owner is None else classes[owner].body
    return [each for each in body if isinstance(each, ast.FunctionDef) and each.name == name]


def parameters_of(function: Any, owner: type | None) -> list[str]:
    """Names of the parameters, without ``self``."""
    try:
        parameters = inspect.signature(function).parameters.values()
        # The keywords of **options are described one by one.
        names = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    except ValueError:  # nanobind's functions
        overloads = stubs(owner.__name__ if owner else None, function.__name__)
        assert overloads, f"the stub does not have {function.__name__}"
        every = [each.args for each in overloads]
        names = [
            argument.arg
            for arguments in every
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        ]
    return [name for name in dict.fromkeys(names) if name not in ("self", "cls")]


def parameters_of_builtin(builtin: Builtin) -> list[str]:
    """Names of the parameters of a function of the kernel language, which its docstring states."""
    call = re.search(r"Called as\s+``\S*?(\(.*?\))``", inspect.getdoc(builtin) or "", re.DOTALL)
    assert call, f"the docstring of {builtin.name} does not say how it is called"
    (function,) = ast.parse(f"def builtin{call[1]}: ...").body
    assert isinstance(function, ast.FunctionDef)
    return [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]


def documented_objects() -> Iterator[Documented]:
    for full in public_names():
        module, _, name = full.rpartition(".")
        found = getattr(import_module(module), name)
        docstring = inspect.getdoc(found) or ""
        if isinstance(found, Namespace):
            members = {f"{full}.{each}": value for each, value in vars(found).items()}
        else:
            members = {full: found}
        for builtin_name, value in members.items():
            if isinstance(value, Builtin):
                text = inspect.getdoc(value) or ""
                yield Documented(builtin_name, text, parameters_of_builtin(value))
        if isinstance(found, Builtin):
            continue
        if not inspect.isclass(found):
            is_function = inspect.isroutine(found) or type(found).__name__ == "nb_func"
            yield Documented(full, docstring, parameters_of(found, None) if is_function else None)
            continue
        yield Documented(full, docstring, None)
        if issubclass(found, BaseException | enum.Enum):
            continue
        for member, value in vars(found).items():
            is_method = inspect.isroutine(getattr(found, member)) and not member.startswith("_")
            if is_method and not isinstance(value, property):
                method = getattr(found, member)
                yield Documented(
                    f"{full}.{member}", inspect.getdoc(method) or "", parameters_of(method, found)
                )


def sections(docstring: str) -> dict[str, str]:
    """The text below each heading of numpydoc."""
    parts = re.split(r"^(\w+)\n-{3,}\n", docstring, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(section: str) -> set[str]:
    """The names that a section "Parameters" describes."""
    heads = re.findall(r"^\*{0,2}(\w[^:\n]*?)(?: :.*)?$", section, re.MULTILINE)
    return {name.strip("* ") for head in heads for name in head.split(",")}


OBJECTS = list(documented_objects())
FUNCTIONS = [each for each in OBJECTS if each.parameters is not None]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.name)
def test_function_has_parameters_and_an_example(function: Documented) -> None:
    found = sections(function.docstring)
    assert ">>> " in found.get("Examples", ""), f"no example:\n{function.docstring}"
    missing = set(function.parameters or ()) - described(found.get("Parameters", ""))
    assert not missing, f"{missing} are not described:\n{function.docstring}"


@pytest.mark.parametrize(
    "documented", [each for each in OBJECTS if ">>>" in each.docstring], ids=lambda each: each.name
)
def test_examples_run(documented: Documented) -> None:
    import numpy as np

    examples = doctest.DocTestParser().get_doctest(
        documented.docstring, {"ep": ep, "np": np}, documented.name, None, 0
    )
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert not runner.run(examples, out=printed.append).failed, "".join(printed)


def test_wrong_example_is_reported() -> None:
    runner = doctest.DocTestRunner()
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3", {}, "wrong", None, 0)
    assert runner.run(wrong, out=lambda printed: None).failed


def test_missing_parameter_is_reported() -> None:
    docstring = "Copy.\n\nParameters\n----------\nsrc, dst : array_like\n    Both.\n*args\n    All."
    assert described(sections(docstring)["Parameters"]) == {"src", "dst", "args"}
