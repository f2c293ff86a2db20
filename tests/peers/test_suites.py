"""The peers' own test suites with Entrepot's drop-in, each in a process of its own: it replaces
a module of the peer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from peers.numba_dpex_suite import changed, reason_for
from peers.releases import failure_of


@pytest.mark.dpctl
@pytest.mark.sycl
def test_dpctl_memory() -> None:
    script = Path(__file__).with_name("dpctl_suite.py")
    run = subprocess.run(
        [sys.executable, script, "-q"], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_programs_of_numba_dpex_import_entrepot() -> None:
    text = "import numba_dpex as dpex\nfrom numba_dpex.tests._helper import has_cpu\n"
    assert changed(text) == (
        "import entrepot.numba_dpex as dpex\nfrom originals.tests._helper import has_cpu\n"
    )


def test_reason_for_a_failure_may_be_of_some_releases() -> None:
    assert reason_for("0.22.1", "kernel/scan.py") is not None
    assert reason_for("0.23.0", "kernel/scan.py") is None
    assert reason_for("0.23.0", "dpjit/vector_sum.py") == "uses dpjit, which is refused"


def test_failure_of_a_program_is_its_error(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("raise ValueError('no such thing')\n")
    run = "import runpy, sys; runpy.run_path(sys.argv[1])"
    assert failure_of(run, program, 60) == "ValueError: no such thing"
    program.write_text("import sys; sys.exit(3)\n")
    assert failure_of(run, program, 60) == "exit status 3"
    program.write_text("pass\n")
    assert failure_of(run, program, 60) == ""
