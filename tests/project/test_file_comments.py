"""Checks that C++ files open with a comment that says what they are for (CONTRIBUTING.md)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "examples", "include", "python", "src", "tests", "tools")
#: Expected output of other programs, and inputs of the compiler.
EXCLUDED = ("tests/python/kernel/refused/", "examples/bindings/")


def cpp_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *FOLDERS], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [
        Path(name)
        for name in listed.stdout.splitlines()
        if name.endswith((".cpp", ".hpp")) and not name.startswith(EXCLUDED)
    ]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository")
def test_cpp_files_open_with_a_comment() -> None:
    files = cpp_files()
    headers = {file.stem for file in files if file.suffix == ".hpp"}
    without = [
        str(file)
        for file in files
        if not (ROOT / file).read_text(encoding="utf-8").startswith(("//", "/*"))
        and (file.suffix == ".hpp" or file.stem not in headers)
    ]
    assert files
    assert not without
