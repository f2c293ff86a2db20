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
    #: True if the function also takes keywords, which its docstring describes one by one.
    takes_options: bool = False


def stubs(owner: str | None, name: str) -> list[ast.FunctionDef]:
    """The overloads of a function of the extension, or of a method of its class ``owner``."""
    classes = {each.name: each for each in STUB.body if isinstance(each, ast.ClassDef)}
    if owner is not None and owner not in classes:
        return []
    body = STUB.body if owner is None else classes[owner].body
    return [each for each in body if isinstance(each, ast.FunctionDef) and each.name == name]


def of_function(name: str, function: Any, owner: type | None) -> Documented:
    """A function or a method, with its parameters except ``self``."""
    takes_options = False
    if inspect.isfunction(function) or inspect.ismethod(function):
        parameters = inspect.signature(function).parameters.values()
        takes_options = any(each.kind is each.VAR_KEYWORD for each in parameters)
        names = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    else:
        overloads = stubs(owner.__name__ if owner else None, function.__name__)
        assert overloads, f"the stub does not have {name}"
        arguments = [each.args for each in overloads]
        names = [
            argument.arg
            for each in arguments
            for argument in (*each.posonlyargs, *each.args, each.vararg, *each.kwonlyargs)
            if argument is not None
        ]
    names = [each for each in dict.fromkeys(names) if each not in ("self", "cls")]
    return Documented(name, inspect.getdoc(function) or "", names, takes_options)


def parameters_of_builtin(builtin: Builtin) -> list[str]:
    """Names of the parameters of a function of the kernel language, which its docstring states."""
    call = re.search(r"Called as\s+``\S*?(\(.*?\))``", inspect.getdoc(builtin) or "", re.DOTALL)
    assert call, f"the docstring of {builtin.name} does not say how it is called"
    (function,) = ast.parse(f"def builtin{call[1]}: ...").body
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def public_objects() -> Iterator[tuple[str, Any]]:
    """Each public object with its full name, and the members of the kernel language's groups."""
    for full in public_names():
        module, _, name = full.rpartition(".")
        found = getattr(import_module(module), name)
        yield full, found
        if isinstance(found, Namespace):
            members = vars(found).items()
            yield from ((f"{full}.{each}", value) for each, value in members if each[0] != "_")


def methods_of(name: str, owner: type) -> Iterator[Documented]:
    """The public methods of a class."""
    for member, value in vars(owner).items():
        method = getattr(owner, member)
        is_public = not member.startswith("_") and not isinstance(value, property)
        if is_public and inspect.isroutine(method):
            yield of_function(f"{name}.{member}", method, owner)


def documented_objects() -> Iterator[Documented]:
    for name, found in public_objects():
        if isinstance(found, Builtin):
            yield Documented(name, inspect.getdoc(found) or "", parameters_of_builtin(found))
        elif inspect.isroutine(found) or type(found).__name__ == "nb_func":
            yield of_function(name, found, None)
        else:
            yield Documented(name, inspect.getdoc(found) or "", None)
            if inspect.isclass(found) and not issubclass(found, BaseException | enum.Enum):
                yield from methods_of(name, found)


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
    assert function.parameters is not None
    found = sections(function.docstring)
    assert ">>> " in found.get("Examples", ""), f"no example:\n{function.docstring}"
    names, parameters = described(found.get("Parameters", "")), set(function.parameters)
    assert parameters <= names, f"{parameters - names} are not described:\n{function.docstring}"
    assert names <= parameters or function.takes_options, f"{names - parameters} do not exist"


def failures_of(documented: Documented) -> str:
    """The text that doctest prints for examples that fail."""
    import numpy as np

    # Programs that run all docstrings skip the examples of SYCL devices. This test has the device.
    text = documented.docstring
    if "opencl:cpu" in text:
        text = text.replace("  # doctest: +SKIP", "")
    examples = doctest.DocTestParser().get_doctest(
        text, {"ep": ep, "np": np}, documented.name, None, 0
    )
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    return "".join(printed) if runner.run(examples, out=printed.append).failed else ""


def examples() -> Iterator[Any]:
    """Docstrings with examples that can run, marked with what they need."""
    for each in OBJECTS:
        statements = re.findall(r"^ *>>> .*", each.docstring, re.MULTILINE)
        is_skipped = all("# doctest: +SKIP" in statement for statement in statements)
        needs = [pytest.mark.sycl] if "opencl:cpu" in each.docstring else []
        if statements and (needs or not is_skipped):
            yield pytest.param(each, id=each.name, marks=needs)


@pytest.mark.parametrize("documented", list(examples()))
def test_examples_run(documented: Documented) -> None:
    assert not failures_of(documented)


#: Modules whose names the reference does not list one by one.
MODULES = [
    "entrepot.kernel.tile",
    "entrepot.numba_cuda",
    *(
        f"entrepot.numba_cuda.{name}"
        for name in ("arrays", "devices", "dispatcher", "random", "reduction", "streams", "ufuncs")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_module_run(name: str) -> None:
    module = import_module(name)
    found = {name: module} | {f"{name}.{each}": value for each, value in vars(module).items()}
    documented = [
        Documented(each, inspect.getdoc(value) or "", None) for each, value in found.items()
    ]
    with_examples = [each for each in documented if ">>> " in each.docstring]
    assert with_examples
    assert "".join(map(failures_of, with_examples)) == ""


def test_wrong_example_is_reported() -> None:
    assert "Expected:" in failures_of(Documented("wrong", ">>> 1 + 1\n3", None))


def test_names_of_parameters_are_found() -> None:
    docstring = "Copy.\n\nParameters\n----------\nsrc, dst : array_like\n    Both.\n*args\n    All."
    assert described(sections(docstring)["Parameters"]) == {"src", "dst", "args"}


@pytest.mark.parametrize(
    ("names", "message"),
    [(["dst", "src", "queue", "wait"], "are not described"), (["dst", "src"], "do not exist")],
)
def test_wrong_parameters_are_reported(names: list[str], message: str) -> None:
    function = of_function("entrepot.copy", ep.copy, None)._replace(parameters=names)
    with pytest.raises(AssertionError, match=message):
        test_function_has_parameters_and_an_example(function)
