"""Programs in an interpreter of their own, which must exit soon, successfully, and without
output of errors."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

TESTS = Path(__file__).parents[1]


def run(source: str, *, timeout: float = 60) -> str:
    """Standard output of the program. It must exit with status 0 within ``timeout`` seconds and
    write nothing to standard error."""
    return _run(["-c", textwrap.dedent(source)], timeout)


def run_script(script: Path, *arguments: str, timeout: float = 60) -> str:
    """Like ``run`` for a program in a file, where kernels have to be defined."""
    return _run([str(script), *arguments], timeout)


def _run(command: list[str], timeout: float) -> str:
    found = os.pathsep.join([str(TESTS), str(TESTS / "python"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": found},
    )
    assert (done.returncode, done.stderr) == (0, ""), (
        f"status {done.returncode}, after\n{done.stdout}\n{done.stderr}"
    )
    return done.stdout.strip()
