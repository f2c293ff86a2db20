"""Reasons for the absence of CUDA: drivers that are missing, see no device, are too old, or are
stubs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import entrepot as ep
import entrepot._core as core
from support.processes import output_of

REASON = (
    "import entrepot._core as core; "
    "print(dict((name, reason) for name, _, reason in core.backends())['cuda'])"
)
STUB = """
int cuInit(unsigned flags) {{ return {code}; }}
int cuGetErrorName(int code, const char **name) {{ *name = "CUDA_ERROR_{name}"; return 0; }}
int cuGetErrorString(int code, const char **text) {{ *text = "what the driver says"; return 0; }}
"""

if "not part of this build" in {name: reason for name, _, reason in core.backends()}["cuda"]:
    pytest.skip("this build has no CUDA backend", allow_module_level=True)


def reason_with(library: Path | None, code: str = REASON) -> str:
    variables = dict(os.environ)
    if library:
        variables["LD_LIBRARY_PATH"] = str(library.parent)
    command = [sys.executable, "-c", code]
    return output_of(command, env=variables, timeout=60)


@pytest.fixture
def driver(tmp_path):
    """Makes a driver of the source, which the loader finds first."""

    def make(source: str) -> Path:
        (tmp_path / "cuda.c").write_text(source)
        library = tmp_path / "libcuda.so.1"
        command = [
            "cc",
            "-shared",
            "-fPIC",
            "-Wl,-soname,libcuda.so.1",
            "-o",
            library,
            tmp_path / "cuda.c",
        ]
        subprocess.run(command, check=True)
        return library

    return make


@pytest.mark.parametrize(
    ("code", "name", "advice"),
    [
        (100, "NO_DEVICE", "CUDA_VISIBLE_DEVICES"),
        (3, "NOT_INITIALIZED", "forked.*'spawn' or 'forkserver'"),
        (34, "STUB_LIBRARY", "stub to link with"),
        (803, "SYSTEM_DRIVER_MISMATCH", "restart the machine"),
        (999, "UNKNOWN", "what the driver says"),
    ],
)
def test_driver_initialization_error_is_quoted(driver, code, name, advice):
    library = driver(STUB.format(code=code, name=name))
    reason = reason_with(library)
    assert f"cuInit of {library} failed with CUDA_ERROR_{name} (what the driver says)" in reason
    assert re.search(advice, reason)


def test_old_driver_error_names_the_missing_function(driver):
    reason = reason_with(driver(STUB.format(code=0, name="NONE")))
    assert "has no function" in reason and "older than CUDA 12.0" in reason
    assert "has no function cuInit" in reason_with(driver("int nothing;"))


def test_missing_device_error_has_the_reason(driver):
    library = driver(STUB.format(code=100, name="NO_DEVICE"))
    code = (
        "import entrepot as ep\n"
        "try: ep.device('cuda:0')\n"
        "except ep.DeviceError as error: print(error)"
    )
    assert "no device matches 'cuda:0'" in (said := reason_with(library, code))
    assert "cuda: cuInit of" in said


def test_host_works_without_cuda(driver):
    library = driver(STUB.format(code=100, name="NO_DEVICE"))
    assert "host" in reason_with(
        library, "import entrepot as ep; print(*ep.devices()); ep.zeros(3, 'int8', device='host')"
    )


@pytest.mark.skipif(
    any(str(device).startswith("cuda") for device in ep.devices()), reason="there is a CUDA device"
)
def test_missing_driver_is_named():
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("there is a driver, and its reason is its own")
    assert "NVIDIA's driver is not installed (libcuda.so.1:" in reason_with(None)
