"""Finds the source of functions: their nodes in Python's ast, with the file's lines and columns."""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Literal

from .._core import KernelError

Definition = ast.FunctionDef | ast.Lambda

# Text and first line of each function as read when it was decorated, because the file may change
# before the launch. The key is file and code. Code alone is not enough: functions in two files with
# the same text have equal code objects.
_read: dict[tuple[str, CodeType], tuple[str, int]] = {}


@dataclass(frozen=True)
class SourceLanguage:
    """A kernel language: its rules for types, and its words.

    ``typing`` is "numpy" for the rules of docs/kernels/types.md, and "numba" for Numba's. Messages
    name functions of ``entrepot.kernel``; ``spellings`` maps these names to the language's own.
    ``terms`` maps other words, such as "work-item". The first term that fits is replaced. With
    ``x_first`` tuples of the index space begin with the fastest dimension.
    """

    name: str
    typing: Literal["numpy", "numba"] = "numpy"
    spellings: dict[str, str] = field(default_factory=dict)
    terms: dict[str, str] = field(default_factory=dict)
    x_first: bool = False


_OWN = SourceLanguage("entrepot.kernel")
# Languages of functions that are written in another one.
_languages: weakref.WeakKeyDictionary[FunctionType, SourceLanguage] = weakref.WeakKeyDictionary()


def set_language(function: FunctionType, language: SourceLanguage) -> None:
    """Declares the language of a function, before the function is read."""
    _languages[function] = language


def language_of(function: FunctionType) -> SourceLanguage:
    """The language of a function, by default that of ``entrepot.kernel``."""
    return _languages.get(function, _OWN)


_Change = Callable[[Definition], Definition]
# Changes of the node of a function that is written in another kernel language, in their order.
_changes: weakref.WeakKeyDictionary[FunctionType, tuple[_Change, ...]] = weakref.WeakKeyDictionary()


def change(function: FunctionType, by: _Change) -> None:
    """Lets ``by`` change the function's node each time that it is found, after earlier changes."""
    _changes[function] = (*_changes.get(function, ()), by)


def remember(function: FunctionType) -> None:
    """Reads and stores the function's source. If it is not available, a launch reports it."""
    code = function.__code__
    file, first = code.co_filename, code.co_firstlineno
    if (file, code) in _read:
        return
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if not lines:
        # From Python 3.13 on, inspect knows what was typed at the prompt or given to -c.
        with contextlib.suppress(OSError, TypeError):
            lines = inspect.findsource(function)[0]
    if first > len(lines):
        return
    if code.co_name == "<lambda>":
        _read[file, code] = "".join(lines), 1
    else:
        _read[file, code] = "".join(inspect.getblock(lines[first - 1 :])), first


def find(function: FunctionType) -> tuple[Definition, str, str, int]:
    """The function's node, its file, the text of its lines and the number of the first of them.

    Raises KernelError if the source is not available, as in some shells.
    """
    code = function.__code__
    file = code.co_filename
    remember(function)
    if (file, code) not in _read:
        raise KernelError(
            f"the source of {function.__name__} was not found at {shown_path(file)}, line "
            f"{code.co_firstlineno}: kernels are compiled from their source, so define them in a "
            "file or a notebook's cell"
        )
    text, first = _read[file, code]
    node = _node_in(_parsed(file, text, first), code)
    for by in _changes.get(function, ()):
        node = by(node)
    return node, shown_path(file), text, first


def shown_path(file: str) -> str:
    """The path in valid UTF-8: surrogates, which Python uses for other bytes, are escaped."""
    return file.encode("utf-8", "backslashreplace").decode()


def make(name: str, text: str, namespace: dict[str, object]) -> FunctionType:
    """Defines the function from its text in ``namespace``."""
    file = f"<entrepot.kernel {name}>"
    exec(compile(text, file, "exec"), namespace)
    function = namespace[name]
    assert isinstance(function, FunctionType)
    _read[file, function.__code__] = text, 1
    return function


def _parsed(file: str, text: str, first: int) -> ast.Module:
    """Parses the text as a module, with the line numbers of the file."""
    # An indented function needs an enclosing block, which is added on the line above it.
    above = (
        "\n" * (first - 2) + "if True:\n"
        if first > 1 and text[:1].isspace()
        else "\n" * (first - 1)
    )
    try:
        return ast.parse(above + text)
    except SyntaxError as error:
        raise KernelError(
            f"{shown_path(file)}:{first}: the source of the function cannot be read ({error}); "
            "has the file changed?"
        ) from None


def _node_in(tree: ast.Module, code: CodeType) -> Definition:
    """The node of the function with that code."""
    if code.co_name != "<lambda>":
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                return node
            if isinstance(node, ast.AsyncFunctionDef) and node.name == code.co_name:
                raise KernelError(
                    f"{_place(code)}: kernels do not wait for others: write def, not async def"
                )
        raise KernelError(f"{_place(code)}: there is no function {code.co_name} any more")
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno
    ]
    if len(found) > 1:
        found = [node for node in found if _code_of(node) == _comparable(code)]
    if len(found) != 1 and len({ast.dump(node) for node in found}) != 1:
        raise KernelError(
            f"{_place(code)}: several lambdas stand on the line, and it is not clear which is "
            "meant: give each a line of its own"
        )
    return found[0]


def _place(code: CodeType) -> str:
    return f"{shown_path(code.co_filename)}:{code.co_firstlineno}"


def _code_of(node: ast.Lambda) -> tuple[object, ...]:
    compiled = compile(ast.fix_missing_locations(ast.Expression(node)), "<lambda>", "eval")
    return _comparable(next(each for each in compiled.co_consts if isinstance(each, CodeType)))


def _comparable(code: CodeType) -> tuple[object, ...]:
    """Key that distinguishes lambdas on one line. Excludes bytecode, which differs between closure
    and global names.
    """
    return code.co_varnames, code.co_consts, tuple(sorted(code.co_names + code.co_freevars))
