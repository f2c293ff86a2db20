"""Runs a peer's own tests with Entrepot in place of one side: the producer or the consumer."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import pytest

SIDES = ("producer", "consumer")


class Replaced:
    """Stands for a module, with some names replaced."""

    def __init__(self, module: Any, **names: Any) -> None:
        self.__dict__.update(names)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class Judge:
    """Replaces names in each module of the suite, skips tests with a known reason, and counts
    the rest."""

    def __init__(self, replace: Callable[[ModuleType], None], left_out: Mapping[str, str]) -> None:
        self._replace = replace
        self._left_out = left_out
        self.passed = self.exchanged = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        modules = {item.getparent(pytest.Module).obj for item in items}  # type: ignore[union-attr]
        for module in modules:
            self._replace(module)
        for item in items:
            for name, reason in self._left_out.items():
                if name in item.nodeid:
                    item.add_marker(pytest.mark.skip(reason=reason))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed

    def counting(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **keywords: Any) -> Any:
            self.exchanged += 1
            return call(*arguments, **keywords)

        return counted


def main(
    script: str,
    arguments: Sequence[str],
    run: Callable[[str, Sequence[str]], tuple[int, Judge]],
    description: str,
) -> int:
    """Runs both sides, each in a process of its own, or the requested one."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "folder",
        help="where the peer's test files are: of the version that is installed, if they are to "
        "pass",
    )
    parser.add_argument(
        "--side",
        choices=SIDES,
        help="which side is Entrepot's; both, one after the other, by default",
    )
    known, others = parser.parse_known_args(arguments)
    if known.side is None:
        commands = [
            [sys.executable, script, known.folder, "--side", side, *others] for side in SIDES
        ]
        return max(subprocess.run(command, check=False).returncode for command in commands)
    print(f"{script}: Entrepot is the {known.side}", flush=True)
    status, judge = run(known.side, [known.folder, *others])
    print(f"{judge.exchanged} objects went through Entrepot")
    if status == 0 and (judge.passed == 0 or judge.exchanged == 0):
        print("no test that Entrepot has a part in ran to its end", file=sys.stderr)
        return 1
    return status


def pytest_run(judge: Judge, folder: str, files: Sequence[str], arguments: Sequence[str]) -> int:
    own = ["-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:xdist", "-rs", "--rootdir", folder]
    return int(
        pytest.main(
            [*own, *(os.path.join(folder, file) for file in files), *arguments], plugins=[judge]
        )
    )
