"""The host's other C++ compiler runs a part of the suite, too: arithmetic, groups, atomics."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from support.processes import completed, output_of

pytestmark = [pytest.mark.numpy, pytest.mark.host]

FOLDER = Path(__file__).parent
#: Files of the contract suite: arithmetic of all dtypes, control flow, barriers, atomics.
OF_THE_SUITE = [
    "test_arithmetic.py",
    "test_control_flow.py",
    "test_groups.py",
    "test_atomics.py",
    "test_synchronization.py",
]


def the_other_one() -> str | None:
    """Clang if `c++`, which all other tests use, is GCC; else GCC."""
    said = completed(["c++", "--version"]).stdout
    return shutil.which("g++" if "clang" in said else "clang++")


def test_suite_passes_with_other_compiler(tmp_path):
    path = the_other_one()
    if path is None:
        pytest.skip("there is one C++ compiler only")
    used = tmp_path / "used"
    wrapper = tmp_path / "compiler"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{used}\nexec {path} "$@"\n')
    wrapper.chmod(0o755)
    environment = os.environ | {"CXX": str(wrapper), "ENTREPOT_CACHE_DIR": ""}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-k",
        # Loads are the same builtin for every dtype and place.
        "host and not simulator and not test_load",
    ]
    output = output_of(
        [*command, *(str(FOLDER / name) for name in OF_THE_SUITE)], env=environment, timeout=900
    )
    assert re.search(r"\d\d+ passed", output)
    assert len(used.read_text().splitlines()) > 50
