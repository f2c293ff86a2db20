#!/usr/bin/env python3
"""Prints the version of this tree, and tells it to scikit-build-core.

It is the version of pyproject.toml. Between releases (`.dev`) it names the commit and whether files
differ from it: `0.1.0.dev0+g1a2b3c4d`, `0.1.0.dev0+g1a2b3c4d.modified`. In a source archive it is
the archive's own, and without git that of pyproject.toml.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def _first(pattern: str, text: str) -> str:
    """The group of the pattern in the first line that it matches."""
    found = re.search(pattern, text, re.MULTILINE)
    assert found, pattern
    return found[1]


def written(root: Path = ROOT) -> str:
    """The version in pyproject.toml."""
    return _first(r'^base = "(.*)"$', (root / "pyproject.toml").read_text(encoding="utf-8"))


def _git(root: Path, *arguments: str) -> str | None:
    """The output of git; None if it fails or is not installed."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _commit(root: Path) -> str | None:
    """The commit as a local version; None if the tree is not the root of a git repository."""
    top = _git(root, "rev-parse", "--show-toplevel")
    commit = _git(root, "rev-parse", "--short=8", "HEAD")
    if top is None or commit is None or Path(top).resolve() != root.resolve():
        return None
    is_modified = _git(root, "status", "--porcelain", "--untracked-files=no") != ""
    return f"g{commit}.modified" if is_modified else f"g{commit}"


def version(root: Path = ROOT) -> str:
    """The version of the tree at ``root``."""
    archive = root / "PKG-INFO"
    if archive.is_file():
        return _first(r"^Version: (.*)$", archive.read_text(encoding="utf-8"))
    base = written(root)
    commit = _commit(root) if ".dev" in base else None
    return f"{base}+{commit}" if commit else base


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, str]:
    """Called by scikit-build-core, as pyproject.toml asks for."""
    return {"version": version()}


if __name__ == "__main__":
    print(version())
