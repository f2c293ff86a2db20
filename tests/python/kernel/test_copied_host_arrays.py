"""Repeats the tests of host arrays with OpenCL's CPU device treated as unable to read host
memory.

Devices are listed once a process, so the tests run in another one, with
ENTREPOT_SYCL_HIDDEN_ASPECTS.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import completed

FOLDER = Path(__file__).resolve().parent
SUITES = [
    "test_arguments.py",
    "test_dpex_api.py",
    "test_elementwise.py",
    "test_host_arrays.py",
    "test_launches.py",
    "test_order.py",
    "test_structs.py",
    "test_transfer.py",
    "test_vectors.py",
]

pytestmark = [pytest.mark.sycl, pytest.mark.numpy]


def run(*command: str, hidden: str = "usm_system_allocations") -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    environment["ENTREPOT_SYCL_HIDDEN_ASPECTS"] = hidden
    return completed([sys.executable, *command], env=environment, timeout=500)


@pytest.mark.parametrize(
    "chosen", ["sycl and not alone", pytest.param("sycl and alone", marks=pytest.mark.alone)]
)
def test_suites_pass_without_access_to_host_memory(chosen):
    files = [str(FOLDER / name) for name in SUITES]
    done = run("-m", "pytest", "-q", "-m", chosen, "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_hidden_aspect_is_absent():
    code = (
        "import entrepot as ep; d = ep.device('opencl:cpu'); "
        "print(d.has_aspect_usm_system_allocations, d.has_aspect_fp64)"
    )
    assert run("-c", code).stdout.split() == ["False", "True"]
    assert run("-c", code, hidden="usm_system_allocations,fp64").stdout.split() == [
        "False",
        "False",
    ]
    assert run("-c", code, hidden="").stdout.split() == ["True", "True"]


def test_unknown_hidden_aspect_is_named():
    done = run("-c", "import entrepot as ep; ep.device('opencl:cpu')", hidden="fp64,nonsense")
    assert "ENTREPOT_SYCL_HIDDEN_ASPECTS names the aspect 'nonsense'" in done.stderr
    assert "usm_system_allocations" in done.stderr
