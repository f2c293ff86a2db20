"""cmake/unity.cmake: targets that ENTREPOT_UNITY_BUILD compiles as one unit, and unknown names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.processes import completed

ROOT = Path(__file__).resolve().parents[2]

PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(two LANGUAGES CXX)
include("{ROOT}/cmake/unity.cmake")
foreach(name one other)
    add_library(${{name}} OBJECT source.cpp)
    entrepot_unity_build(${{name}})
    get_target_property(is_unity ${{name}} UNITY_BUILD)
    message(STATUS "${{name}} ${{is_unity}}")
endforeach()
entrepot_check_unity(absent)
"""


def configured(folder: Path, unity: str) -> subprocess.CompletedProcess[str]:
    (folder / "CMakeLists.txt").write_text(PROJECT)
    (folder / "source.cpp").write_text("")
    command = [
        "cmake",
        "-S",
        folder,
        "-B",
        folder / "build",
        "-G",
        "Ninja",
        f"-DENTREPOT_UNITY_BUILD={unity}",
    ]
    return completed(command)


@pytest.mark.parametrize(
    ("unity", "ones"),
    [
        *((true, {"one", "other"}) for true in ("ON", "on", "TRUE", "1", "YES")),
        *((false, set()) for false in ("OFF", "0", "no", "")),
        ("other", {"other"}),
        ("other;absent", {"other"}),
        ("one;other", {"one", "other"}),
    ],
)
def test_unity_option_selects_targets(tmp_path, unity, ones):
    done = configured(tmp_path, unity)
    assert done.returncode == 0, done.stderr
    assert {name for name in ("one", "other") if f"-- {name} ON" in done.stdout} == ones


def test_unknown_target_error_lists_targets(tmp_path):
    done = configured(tmp_path, "one;ohter")
    assert done.returncode != 0
    assert "no target of this tree is called 'ohter'" in " ".join(done.stderr.split())
    assert "some of one, other" in " ".join(done.stderr.split())
