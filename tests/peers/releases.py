"""Programs of another project's releases, written to a folder from a clone with its tags, and run.

Nothing of the other project is here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def git(repository: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(repository), *arguments], check=True, capture_output=True, text=True
    ).stdout


def written(
    repository: Path,
    release: str,
    source: str,
    folder: Path,
    changed: Callable[[str], str],
    imports: str,
) -> list[str]:
    """Writes the release's Python files below ``source`` to the folder, each changed.

    Returns the paths of those that import the module ``imports``.
    """
    chosen = []
    for path in git(repository, "ls-tree", "-r", "--name-only", release, source).split():
        if not path.endswith(".py"):
            continue
        text = git(repository, "show", f"{release}:{path}")
        name = path.removeprefix(source)
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(changed(text))
        if re.search(rf"^\s*(import|from) {imports}\b", text, re.MULTILINE):
            chosen.append(name)
    return chosen


def failure_of(prelude: str, program: Path, timeout: float, arguments: Sequence[str] = ()) -> str:
    """Runs the program after the prelude, in its folder.

    Returns the last line of its error, or nothing if it succeeds.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", prelude, program.name, *arguments],
            cwd=program.parent,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return f"took more than {timeout} s"
    if done.returncode == 0:
        return ""
    errors = [
        line for line in done.stderr.splitlines() if re.match(r"[\w.]+(Error|Exception)\b", line)
    ]
    return errors[-1] if errors else f"exit status {done.returncode}"
