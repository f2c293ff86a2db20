"""tools/gpu.sh without a GPU: the commands that it would run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import MODULES
from support.processes import completed

GPU = Path(__file__).resolve().parents[2] / "tools/gpu.sh"

# CMake's output for tests/cpp/backends/cuda/CMakeLists.txt.
TESTS = """
add_test(test_backends_cuda "{program}" "--test-suite-exclude=two devices")
set_tests_properties(test_backends_cuda PROPERTIES ENVIRONMENT "LD_LIBRARY_PATH=/of/nvrtc")
add_test(test_backends_cuda_two_devices "{program}" "--test-suite=two devices")
set_tests_properties(test_backends_cuda_two_devices PROPERTIES
    ENVIRONMENT "LD_LIBRARY_PATH=/of/nvrtc")
"""

SANITIZER = """#!/bin/sh
printf '%s|' "$LD_LIBRARY_PATH" "$ENTREPOT_REQUIRE" "$@"
echo
"""


@pytest.fixture
def run(tmp_path):
    """Runs a part in a folder of its own, with a compute-sanitizer that prints its environment
    and its command."""
    (tmp_path / "tools").mkdir()
    shutil.copy(GPU, tmp_path / "tools")
    (tmp_path / "compute-sanitizer").write_text(SANITIZER)
    (tmp_path / "compute-sanitizer").chmod(0o755)

    def run(part: str, python: Path | str = sys.executable) -> subprocess.CompletedProcess:
        path = f"{tmp_path}:{os.environ['PATH']}"
        return completed(
            ["bash", tmp_path / "tools/gpu.sh", part],
            env={**os.environ, "PATH": path, "PYTHON": str(python)},
            timeout=100,
        )

    return run


@pytest.mark.skipif(shutil.which("ctest") is None, reason="CMake is not installed")
def test_sanitized_tests_have_ctest_arguments(run, tmp_path):
    build = tmp_path / "build/gpu"
    build.mkdir(parents=True)
    (build / "CTestTestfile.cmake").write_text(TESTS.format(program=tmp_path / "compute-sanitizer"))
    done = run("sanitize")
    assert done.returncode == 0, done.stdout + done.stderr
    runs = [line.split("|") for line in done.stdout.splitlines() if "--tool" in line]
    assert [each[each.index("--tool") + 1] for each in runs] == [
        "memcheck",
        "racecheck",
        "synccheck",
    ]
    assert all(each[:2] == ["/of/nvrtc", "cuda"] for each in runs)
    assert all(str(tmp_path / "compute-sanitizer") in each for each in runs)
    assert "--test-suite-exclude=two devices" in runs[0]


TRANSPORTS = {"distributed", "joblib", "ray", "ucxx", "nixl"}  # images with CUDA lack them


def test_peers_with_cuda_are_all_required():
    """A peer that is not named would be skipped silently."""
    peers = re.search(r"^peers=(.*)$", GPU.read_text(), re.MULTILINE)
    assert peers is not None
    assert set(MODULES) | {"cupy", "numba_cuda"} == set(peers[1].split(",")) | {
        "dpctl",
        "dpnp",
        "hip_python",
        *TRANSPORTS,
    }


def test_sanitize_before_build_fails(run):
    done = run("sanitize")
    assert done.returncode == 1
    assert "failed: sanitize" in done.stdout and "--tool" not in done.stdout


def test_order_runs_each_file_in_one_process(run, tmp_path):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$ENTREPOT_REPETITIONS,$ENTREPOT_SOAK_SECONDS" "$@"\n')
    python.chmod(0o755)
    done = run("order", python)
    assert done.returncode == 0, done.stdout + done.stderr
    order, soak = (line for line in done.stdout.splitlines() if "pytest" in line)
    assert order.startswith("200, ") and "test_stream_order.py" in order
    assert soak.startswith(",60 ") and "test_stream_soak.py" in soak
    assert all("-p no:xdist" in each for each in (order, soak))


@pytest.mark.parametrize("require", ["", "host,cuda,numpy"])
def test_pages_are_written_only_with_every_library(run, tmp_path, monkeypatch, require):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "ran $@"\n')
    python.chmod(0o755)
    for page in ("cuda_matrix.md", "conformance_cuda.md"):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / page).touch()
    monkeypatch.setenv("ENTREPOT_REQUIRE", require)
    interop, conformance = run("interop", python), run("conformance", python)
    for done in (interop, conformance):
        assert done.returncode == 0, done.stdout + done.stderr
    assert ("--matrix=" in interop.stdout) == (not require)
    assert ("conformance.py cuda" in conformance.stdout) == (not require)


def test_parts_are_documented():
    text = GPU.read_text()
    (parts,) = re.findall(r"parts=\((\w.*)\)$", text, re.MULTILINE)
    head = re.search(r"^# Parts: (.*?)\.", text, re.MULTILINE | re.DOTALL)
    table = (
        (GPU.parents[1] / "CONTRIBUTING.md")
        .read_text()
        .partition("| part | does |")[2]
        .partition("\n\n")[0]
    )
    rows = [
        name
        for line in table.splitlines()[2:]
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    assert head is not None
    assert parts.split() == re.findall(r"\w+", head[1].replace(" and", "").replace("#", "")) == rows
