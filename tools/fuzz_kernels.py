"""Random kernels on every backend against the simulator.

    python tools/fuzz_kernels.py [--seconds 60] [--seed N] [--backend host,opencl:cpu] [--out
    FOLDER]

Exits with 1 if a backend differs from the simulator, refuses a program, crashes or hangs, and
writes a minimized script for each such case. A fault of Intel's or GCC's compiler is counted apart
under these conditions:

- Another backend is right, and the fault recurs in another process.
- The fault is absent without the compiler's vectorizer or optimizer, or with another target.
- On the host the program is right with traps for undefined behavior and without the vectorizer.
- A fault of GCC's vectorizer recurs without `restrict`, because UBSan does not check that.

More faults of compilers than `Kernels.most_known` make the exit status 1 as well.
"""

from __future__ import annotations

import ast
import copy
import functools
import importlib.util
import inspect
import itertools
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzzing import VOID, Child, Failure, Fuzzer, drawn, main, parser
from hypothesis import strategies as st

from kernel.programs import INTEGERS, View, arguments, programs, sums

#: Sometimes a program without groups.
MODULES = st.integers(0, 9).flatmap(lambda number: programs() if number else sums())

#: Environments of Intel's compiler. The first with which a case passes names the faulty part.
_INTEL = {
    "Intel's code for AVX-512": {"CL_CONFIG_CPU_TARGET_ARCH": "core-avx2"},
    "Intel's vectorizer": {"CL_CONFIG_CPU_VECTORIZER_MODE": "1"},
    "Intel's optimizer": {"CL_CONFIG_LLVM_OPTIONS": "-opt-bisect-limit=0"},
}

#: Options of the host's compiler: no vectorizer, and undefined behavior ends the process.
_DEFINED = (
    "-fno-tree-vectorize -fno-tree-slp-vectorize -fsanitize=undefined "
    "-fsanitize-undefined-trap-on-error"
)
#: The keyword in the text for the host is removed.
_NO_RESTRICT = "-D__restrict="

_CLOSING = """

def run(launch, place):
    moved = {{name: ep.asarray(whole, copy=True, device=place) for name, whole in WHOLES.items()}}
    passed = [eval(text, {{"WHOLES": moved, "np": np, "slice": slice}}) for text in PASSED]
    launch(*passed)
    return {{name: whole.copy_to_host().numpy() for name, whole in moved.items()}}


if __name__ == "__main__":
    expected = run(lambda *passed: program.simulate[GLOBAL, LOCAL](*passed), "host")
    bad = False
    for place in {backends!r}:
        selector, _, dialect = place.partition("/")
        chosen = program.options(dialect=dialect) if dialect else program
        found = run(lambda *passed: chosen[GLOBAL, LOCAL](*passed).wait(), selector)
        for name in WHOLES:
            if repr(found[name].tolist()) != repr(expected[name].tolist()):
                words = place, name, "is", found[name], "and the simulator has", expected[name]
                print(*words, sep="\\n  ")
                bad = True
    sys.exit(bad)
"""


class Kernels(Fuzzer):
    """A case: the text of a module, the seed of its arguments, if these are laid out plainly,
    and the backends."""

    name = "fuzz_kernels"

    def __init__(self, backends: list[str], command: list[str]) -> None:
        super().__init__(command)
        self.backends = backends
        self._apart: dict[str, Child] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="entrepot-fuzz-")
        self._numbers = itertools.count()
        changes = [_without_statements, _without_heads, _without_parameters, _with_parts]
        self.steps = [
            _with_plain_arguments,
            *(functools.partial(_changed, change) for change in changes),
        ]

    def make(self, seed: int, case: int) -> dict[str, Any] | None:
        text = drawn(MODULES, seed, case)
        if not text:
            return None
        return {"text": text, "arguments": case, "plain": False, "backends": self.backends}

    # In a child -----------------------------------------------------------------------------------

    def run(self, case: dict[str, Any], at: Callable[[str], None]) -> list[Failure]:
        at("simulator")
        module = self._loaded(case["text"])
        try:
            expected = self.launched(module, case, "")
        except Exception as error:
            return [Failure(VOID, "simulator", str(error))]
        failures = []
        for backend in case["backends"]:
            at(backend)
            try:
                found = self.launched(module, case, backend)
            except Exception as error:
                failures.append(Failure(_kind_of(error), backend, str(error)))
                continue
            if found != expected:
                names = [name for name in found if found[name] != expected[name]]
                shown = "\n".join(
                    f"{name}: {found[name]} where the simulator has {expected[name]}"
                    for name in names
                )
                failures.append(Failure("other values", backend, shown))
        return failures

    def _loaded(self, text: str) -> Any:
        path = Path(self._folder.name) / f"program_{next(self._numbers)}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def launched(self, module: Any, case: dict[str, Any], backend: str) -> dict[str, str]:
        """Contents of the arrays after a launch there or in the simulator, as text (one nan)."""
        import entrepot as ep

        selector, _, dialect = backend.partition("/")
        wholes, passed = {}, []
        for name, given in _arguments(case).items():
            if isinstance(given, View):
                wholes[name] = ep.asarray(given.whole, copy=True, device=selector or "host")
                passed.append(given.of(wholes[name]))
            else:
                passed.append(given)
        if not backend:
            module.program.simulate[module.GLOBAL, module.LOCAL](*passed)
        else:
            program = module.program.options(dialect=dialect) if dialect else module.program
            program[module.GLOBAL, module.LOCAL](*passed).wait()
        return {name: repr(whole.copy_to_host().numpy().tolist()) for name, whole in wholes.items()}

    # In the fuzzer --------------------------------------------------------------------------------

    def focus(self, case: dict[str, Any], failure: Failure) -> dict[str, Any]:
        return case | {"backends": [failure.place]} if failure.place in case["backends"] else case

    def known(self, case: dict[str, Any], failures: list[Failure]) -> str | None:
        if not set(case["backends"]) - {failure.place for failure in failures}:
            return None
        names = {self._compiler_at_fault(case, failure) for failure in failures}
        return None if None in names else " and ".join(sorted(map(str, names)))

    def most_known(self, cases: int) -> int:
        """Three, and one of a thousand cases."""
        return 3 + cases // 1000

    def _compiler_at_fault(self, case: dict[str, Any], failure: Failure) -> str | None:
        """Name of the compiler's part without which the case passes; None if the fault may be
        ours."""
        place, kind = failure.place, failure.kind
        on_intel = place.startswith("opencl:cpu") and kind.startswith(
            ("other values", "ended by", "hang")
        )
        if not on_intel and (place, kind) != ("host", "other values"):
            return None

        def recurs(variables: dict[str, str]) -> bool:
            return any(each.key == failure.key for each in self._run_apart(variables, case, place))

        # All dialects are generated from one program, so the host's traps concern Intel's as well.
        if not recurs({}) or self._run_apart(self._compiler("defined", _DEFINED), case, "host"):
            return None
        if on_intel:
            return next(
                (
                    name
                    for name, variables in _INTEL.items()
                    if not self._run_apart(variables, case, place)
                ),
                None,
            )
        return "GCC's vectorizer" if recurs(self._compiler("no_restrict", _NO_RESTRICT)) else None

    def _run_apart(
        self, variables: dict[str, str], case: dict[str, Any], place: str
    ) -> list[Failure]:
        """The failures of a backend in a child with these variables set."""
        key = str(variables)
        if key not in self._apart:
            self._apart[key] = Child(self.command, variables)
            self.children.append(self._apart[key])
        return self._apart[key].run(case | {"backends": [place]}, self.patience)

    def _compiler(self, name: str, options: str) -> dict[str, str]:
        """Variables with which the host's compiler gets further options."""
        path = Path(self._folder.name) / name
        path.write_text(f'#!/bin/sh\nexec {os.environ.get("CXX", "c++")} "$@" {options}\n')
        path.chmod(0o755)
        return {"CXX": str(path)}

    def script(self, case: dict[str, Any], heading: str) -> str:
        text, given = case["text"], _arguments(case)
        wholes = {name: each for name, each in given.items() if isinstance(each, View)}
        lines = [
            f'"""Found by tools/fuzz_kernels.py, {heading}. Exits with 1 while the values '
            'differ."""',
            "",
            "import sys",
            "",
        ]
        lines += ["import numpy as np", "", "import entrepot as ep", text, "", "WHOLES = {"]
        for name, view in wholes.items():
            lines.append(
                f'    "{name}": np.array({_literal(view.whole)}, '
                f'"{view.whole.dtype}").reshape({view.whole.shape}),'
            )
        lines += ["}", "PASSED = ["]
        for name, each in given.items():
            if isinstance(each, View):
                lines.append(
                    f"    {f'WHOLES[{name!r}]' + '.T' * each.transposed + _index(each.slices)!r},"
                )
            else:
                lines.append(f'    "np.{each.dtype}({each})",')
        return "\n".join([*lines, "]"]) + _CLOSING.format(backends=case["backends"])


def _kind_of(error: Exception) -> str:
    """The words of a refusal, without parts that differ between programs."""
    first = str(error).splitlines()[0] if str(error) else ""
    words = re.sub(r"\d+", "N", re.sub(r"^\S+\.py:\d+: ", "", first))
    return f"{type(error).__name__}: {re.sub(r'/[^ ]*/', '', words)[:100]}"


def _arguments(case: dict[str, Any]) -> dict[str, Any]:
    """The program's arguments by name, in its order."""
    tree = ast.parse(case["text"])
    items = next(ast.literal_eval(each.value) for each in tree.body if _assigns(each, "ITEMS"))
    function = next(
        each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "program"
    )
    given = arguments(items, case["arguments"])
    chosen = {argument.arg: given[argument.arg] for argument in function.args.args}
    if case["plain"]:
        for name, view in chosen.items():
            if isinstance(view, View):
                chosen[name] = View(
                    view.of(view.whole).copy(), (slice(None),) * view.whole.ndim, False
                )
    return chosen


def _assigns(statement: ast.stmt, name: str) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id == name
    )


def _literal(values: Any) -> str:
    return repr(values.reshape(-1).tolist())


def _index(slices: tuple[slice, ...]) -> str:
    if all(each == slice(None) for each in slices):
        return ""
    return "[" + ", ".join(map(str, slices)) + "]"


# Smaller programs ---------------------------------------------------------------------------------


def _with_plain_arguments(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if not case["plain"]:
        yield case | {"plain": True}


def _changed(
    changes: Callable[[ast.Module], Iterator[ast.Module]], case: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for tree in changes(ast.parse(case["text"])):
        try:
            text = ast.unparse(ast.fix_missing_locations(tree))
            compile(text, "program", "exec")
        except (SyntaxError, ValueError, AttributeError):
            text = case["text"]
        yield case | {"text": text}


def _bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    """Every list of statements, in the order of ast.walk."""
    found = []
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                found.append(body)
    return found


def _may_go(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Import, ast.ImportFrom)) or (
        isinstance(statement, ast.Assign) and _is_head(statement)
    ):
        return False
    return not (isinstance(statement, ast.FunctionDef) and statement.name == "program")


def _is_head(statement: ast.Assign) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id in ("ITEMS", "GLOBAL")
        for node in ast.walk(statement.targets[0])
    )


def _without_statements(tree: ast.Module) -> Iterator[ast.Module]:
    bodies = _bodies(tree)
    longest = max(map(len, bodies))
    size = 1
    while size < longest:
        size *= 2
    while size:
        for number, body in enumerate(bodies):
            if len(body) < size:
                continue
            for start in reversed(range(0, len(body) - size + 1, size)):
                if not all(_may_go(each) for each in body[start : start + size]):
                    continue
                changed = copy.deepcopy(tree)
                mine = _bodies(changed)[number]
                del mine[start : start + size]
                if not mine and number and body is not bodies[0]:
                    mine.append(ast.Pass())
                _drop_empty_else(changed)
                yield changed
        size //= 2


def _drop_empty_else(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.For, ast.While)) and [
            type(each) for each in node.orelse
        ] == [ast.Pass]:
            node.orelse = []


def _without_heads(tree: ast.Module) -> Iterator[ast.Module]:
    for number, body in enumerate(_bodies(tree)):
        for at, statement in enumerate(body):
            if not isinstance(statement, (ast.If, ast.For, ast.While)):
                continue
            for name in ("body", "orelse"):
                if getattr(statement, name):
                    changed = copy.deepcopy(tree)
                    mine = _bodies(changed)[number]
                    mine[at : at + 1] = getattr(mine[at], name)
                    yield changed


def _without_parameters(tree: ast.Module) -> Iterator[ast.Module]:
    at = next(
        k
        for k, each in enumerate(tree.body)
        if isinstance(each, ast.FunctionDef) and each.name == "program"
    )
    program = tree.body[at]
    assert isinstance(program, ast.FunctionDef)
    used = {node.id for node in ast.walk(program) if isinstance(node, ast.Name)}
    unused = [each.arg for each in program.args.args if each.arg not in used]
    for names in ([unused] if len(unused) > 1 else []) + [[name] for name in unused]:
        changed = copy.deepcopy(tree)
        args = changed.body[at].args  # type: ignore[attr-defined]
        args.args = [each for each in args.args if each.arg not in names]
        if args.args:
            yield changed


def _with_parts(tree: ast.Module) -> Iterator[ast.Module]:
    count = sum(1 for node in ast.walk(tree) if isinstance(node, ast.expr))
    for number in range(count):
        for which in range(8):
            changed = copy.deepcopy(tree)
            replacement = _Replacement(number, which)
            replacement.visit(changed)
            if replacement.done:
                yield changed
            else:
                break


def _parts(node: ast.expr) -> list[ast.expr]:
    """Replacements of an expression that state a type, or keep floats exact, as it does."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Div):
        return [node.left, node.right]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse, node.test]
    if isinstance(node, ast.BoolOp):
        return list(node.values)
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return [ast.Compare(node.left, node.ops[:1], node.comparators[:1])]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in INTEGERS
    ):
        (value,) = node.args
        casts = (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and value.func.attr in INTEGERS
        )
        return [value] * casts + [ast.Call(node.func, [ast.Constant(1)], [])] * (
            not isinstance(value, ast.Constant)
        )
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return [ast.Name("i", ast.Load())]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("min", "max")
    ):
        bounds = [
            each
            for each in node.args
            if isinstance(each, ast.Constant) and isinstance(each.value, float)
        ]
        return [] if bounds else list(node.args)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.startswith(("function", "reader"))
    ):
        return list(node.args)
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) > 9:
        return [ast.Constant(1), ast.Constant(node.value // 2)]
    return []


class _Replacement(ast.NodeTransformer):
    """Replaces the expression of that number by its part ``which``; ``done`` if there is such a
    part."""

    def __init__(self, number: int, which: int) -> None:
        self.left, self.which, self.done = number, which, False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr):
            self.left -= 1
            if self.left == -1:
                parts = _parts(node)
                if self.which < len(parts):
                    self.done = True
                    return parts[self.which]
                return node
        return self.generic_visit(node)


def backends(asked: str) -> list[str]:
    if asked:
        return asked.split(",")
    import entrepot as ep

    found = {device.backend: str(device) for device in reversed(ep.devices())}
    return sorted(each.replace("opencl:cpu:0", "opencl:cpu") for each in found.values())


if __name__ == "__main__":
    options = parser(inspect.cleandoc(__doc__ or "").splitlines()[0])
    options.add_argument(
        "--backend", default="", help="devices, as in host,opencl:cpu/sycl; one of each by default"
    )
    chosen = options.parse_args()
    command = [__file__, "--backend", ",".join(backends(chosen.backend))]
    sys.exit(main(Kernels(backends(chosen.backend), command), chosen))
