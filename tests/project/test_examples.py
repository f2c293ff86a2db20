"""The examples do what they say: scripts run, the four extensions are built against the installed package and run.

What a script needs stands in it as `# needs: sycl, dpnp`, with the markers of tests/conftest.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(*command: object, **environment: object) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def scripts() -> list:
    found = []
    for file in sorted(EXAMPLES.glob("*.py")):
        needs = re.search(r"^# needs: (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        marks = [getattr(pytest.mark, need.strip()) for need in needs[1].split(",")] if needs else []
        found.append(pytest.param(file, id=file.name, marks=marks))
    return found


@pytest.mark.parametrize("script", scripts())
def test_script_runs(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(sys.executable, script)


@pytest.mark.numpy
def test_extensions_scale_every_array_in_place(tmp_path):
    cmake_dir = run(sys.executable, "-m", "entrepot", "--cmake-dir").strip()
    run("cmake", "-S", EXAMPLES / "extensions", "-B", tmp_path, "-G", "Ninja", f"-Dentrepot_ROOT={cmake_dir}",
        f"-DPython_EXECUTABLE={sys.executable}")  # fmt: skip
    run("cmake", "--build", tmp_path)
    said = run(sys.executable, EXAMPLES / "extensions" / "use.py", PYTHONPATH=tmp_path)
    scaled = "[2.0, 4.0, 6.0, 8.0] [2.0, 4.0, 6.0, 8.0] [[3.0, 3.0], [3.0, 3.0]]"
    ways = ("scale_c", "scale_nanobind", "scale_pybind11", "scale_cython")
    assert said.splitlines() == [f"{way}: {scaled}" for way in ways]
