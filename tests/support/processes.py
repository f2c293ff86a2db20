"""Runs commands and Python programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]


def completed(
    command: Sequence[object], *, timeout: float = 300, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end, whatever its exit status, and captures its output as text."""
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=timeout,
        **options,
    )


def output_of(command: Sequence[object], *, timeout: float = 300, **options: Any) -> str:
    """Standard output of the command, which must exit with status 0."""
    done = completed(command, timeout=timeout, **options)
    assert done.returncode == 0, f"status {done.returncode}, after\n{done.stdout}\n{done.stderr}"
    return done.stdout


def entrepot(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the ``entrepot`` command to its end, whatever its exit status."""
    return completed([sys.executable, "-m", "entrepot", *arguments], **options)


def run(source: str, *, timeout: float = 60) -> str:
    """Standard output of the Python program. It must exit with status 0 within ``timeout`` seconds
    and write nothing to standard error."""
    return _run(["-c", textwrap.dedent(source)], timeout)


def run_script(script: Path, *arguments: str, timeout: float = 60) -> str:
    """Like ``run`` for a program in a file, where kernels have to be defined."""
    return _run([str(script), *arguments], timeout)


def _run(command: list[str], timeout: float) -> str:
    found = os.pathsep.join([str(TESTS), str(TESTS / "python"), os.environ.get("PYTHONPATH", "")])
    done = completed(
        [sys.executable, *command], timeout=timeout, env={**os.environ, "PYTHONPATH": found}
    )
    assert (done.returncode, done.stderr) == (0, ""), (
        f"status {done.returncode}, after\n{done.stdout}\n{done.stderr}"
    )
    return done.stdout.strip()
