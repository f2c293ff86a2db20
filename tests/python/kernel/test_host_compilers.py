"""The host's C++ compilers: the one that is not `c++` takes the suite, too, and a report says which loops became vectors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.numpy, pytest.mark.host]

FOLDER = Path(__file__).parent
#: Of the contract suite: arithmetic of all dtypes, control flow, groups with barriers, atomics.
OF_THE_SUITE = ["test_arithmetic.py", "test_control_flow.py", "test_groups.py", "test_atomics.py", "test_synchronisation.py"]


def the_other_one() -> str | None:
    """Clang where `c++`, which all other tests compile by, is GCC; else GCC."""
    said = subprocess.run(["c++", "--version"], capture_output=True, text=True).stdout
    return shutil.which("g++" if "clang" in said else "clang++")


def test_the_suite_holds_by_the_other_compiler(tmp_path):
    path = the_other_one()
    if path is None:
        pytest.skip("there is one C++ compiler only")
    used = tmp_path / "used"
    wrapper = tmp_path / "compiler"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{used}\nexec {path} "$@"\n')
    wrapper.chmod(0o755)
    environment = os.environ | {"CXX": str(wrapper), "ENTREPOT_CACHE_DIR": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "host and not simulator"]
    done = subprocess.run(
        [*command, *(str(FOLDER / name) for name in OF_THE_SUITE)], env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert re.search(r"\d\d+ passed", done.stdout)
    assert len(used.read_text().splitlines()) > 50


PROGRAM = """
import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def of_a_range(out, x, y):
    i = dppy.get_global_id(0)
    out[i] = x[i] * y[i] + 1


@dppy.kernel
def of_two_dimensions(out, x):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    out[i, j] = x[i, j] * 2


@dppy.kernel
def before_and_behind_a_barrier(out, x):
    i, lid = dppy.get_global_id(0), dppy.get_local_id(0)
    tile = dppy.local.array(64, dppy.float32)
    tile[lid] = x[i] * 3
    dppy.barrier()
    out[i] = tile[lid] + 1


x, y, out = (ep.zeros(256, "float32", device="host") for _ in range(3))
of_a_range[256](out, x, y).wait()
rows, doubled = (ep.zeros((16, 64), "float32", device="host") for _ in range(2))
of_two_dimensions[(16, 64), None](doubled, rows).wait()
before_and_behind_a_barrier[256, 64](out, x).wait()
"""


def test_inner_loops_are_vectorised(tmp_path):
    """GCC reports the loops that it has made vectors of: one of work-items each, and one on each side of a barrier."""
    path = shutil.which("g++")
    if path is None:
        pytest.skip("there is no g++")
    report, wrapper, script = tmp_path / "report", tmp_path / "compiler", tmp_path / "program.py"
    wrapper.write_text(f'#!/bin/sh\necho compiled >>{report}\nexec {path} "$@" -fopt-info-vec-optimized 2>>{report}\n')
    wrapper.chmod(0o755)
    script.write_text(PROGRAM)
    environment = os.environ | {"CXX": str(wrapper), "ENTREPOT_CACHE_DIR": ""}
    subprocess.run([sys.executable, script], env=environment, check=True, timeout=120)
    loops = [
        set(re.findall(r"^(\S+): .*loop vectorized", each, re.MULTILINE)) for each in report.read_text().split("compiled\n")[1:]
    ]
    assert [len(each) for each in loops] == [1, 1, 2], report.read_text()
