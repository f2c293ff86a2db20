#!/usr/bin/env python3
"""Checks what a release needs, and publishes nothing: prints a line for each check.

    python tools/release.py [FOLDER]

FOLDER has the source archive and the wheel that `make release` built; without it, they are not
checked. The exit status is 1 if a check does not hold. docs/versions.md describes the checks.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import version

ROOT = Path(__file__).resolve().parents[1]

#: A check returns what is wrong; nothing if it holds.
Check = Callable[[], Iterator[str]]


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.rstrip()


def checks(root: Path, built: Path | None) -> dict[str, Check]:
    """The checks by their subjects."""
    here = version.written(root)

    def text(path: str) -> str:
        file = root / path
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    def number() -> Iterator[str]:
        if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", here):
            yield f"pyproject.toml has {here}, a version between releases"

    def citation() -> Iterator[str]:
        if f"\nversion: {here}\n" not in text("CITATION.cff"):
            yield f"CITATION.cff does not have version {here}"

    def changes() -> Iterator[str]:
        if not re.search(
            rf"^## {re.escape(here)} \(\d{{4}}-\d\d-\d\d\)$", text("CHANGELOG.md"), re.M
        ):
            yield f"CHANGELOG.md has no entry '## {here} (YYYY-MM-DD)'"

    def tag() -> Iterator[str]:
        if f"v{here}" not in git(root, "tag", "--points-at", "HEAD").split():
            yield f"the commit has no tag v{here}"

    def tree() -> Iterator[str]:
        if changed := git(root, "status", "--porcelain"):
            lines = changed.splitlines()
            yield f"{len(lines)} files differ from the commit, the first is {lines[0][3:]}"

    def urls() -> Iterator[str]:
        if not re.search(r"^\[project\.urls\]\n\w", text("pyproject.toml"), re.MULTILINE):
            yield "pyproject.toml has no [project.urls]: state the address of the public repository"

    def archives() -> Iterator[str]:
        if built is None:
            yield "not built: make release builds them"
            return
        yield from wrong_archives(root, built, here)

    return {
        "version": number,
        "citation": citation,
        "changes": changes,
        "tag": tag,
        "tree": tree,
        "addresses": urls,
        "archives": archives,
    }


def wrong_archives(root: Path, built: Path, here: str) -> Iterator[str]:
    """Faults of the source archive and the wheel in the folder."""
    sources, wheels = list(built.glob("*.tar.gz")), list(built.glob("*.whl"))
    if len(sources) != 1 or not wheels:
        yield f"{built} has {len(sources)} source archives and {len(wheels)} wheels"
        return
    with tarfile.open(sources[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in ("CMakeLists.txt", "PKG-INFO", "LICENSE", "include/entrepot/array/array.hpp"):
        if needed not in names:
            yield f"{sources[0].name} lacks {needed}"
    for wheel in wheels:
        if f"-{here}-" not in wheel.name:
            yield f"{wheel.name} is not of version {here}"
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
        for needed in ("entrepot/__init__.py", "entrepot/include/entrepot/array/array.hpp"):
            if needed not in names:
                yield f"{wheel.name} lacks {needed}"


def main(arguments: list[str]) -> int:
    failed = False
    for name, check in checks(ROOT, Path(arguments[0]) if arguments else None).items():
        wrong = list(check())
        failed = failed or bool(wrong)
        print(f"{name:<10}", "; ".join(wrong) if wrong else "ok")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
