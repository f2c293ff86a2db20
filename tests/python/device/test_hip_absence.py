"""Reasons for the absence of HIP: runtimes that are missing, do not load, see no device or are
too old."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import entrepot._core as core
from support.processes import output_of

REASON = (
    "import entrepot._core as core; "
    "print(dict((name, reason) for name, _, reason in core.backends())['hip'])"
)
RUNTIME = """
int hipInit(unsigned flags) {{ return {code}; }}
const char *hipGetErrorName(int code) {{ return "hipError{name}"; }}
const char *hipGetErrorString(int code) {{ return "{text}"; }}
"""

if "not part of this build" in {name: reason for name, _, reason in core.backends()}["hip"]:
    pytest.skip("this build has no HIP backend", allow_module_level=True)


def reason_with(library, code=REASON):
    variables = {**os.environ, "ENTREPOT_HIP_LIBRARY": str(library)}
    command = [sys.executable, "-c", code]
    return output_of(command, env=variables, timeout=60)


@pytest.fixture
def runtime(tmp_path):
    """Makes a runtime of the given source."""

    def make(source):
        (tmp_path / "hip.c").write_text(source)
        library = tmp_path / "libamdhip64.so.6"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "hip.c"], check=True)
        return library

    return make


@pytest.mark.parametrize(("code", "name"), [(100, "NoDevice"), (101, "InvalidDevice")])
def test_runtime_without_a_device_names_hip_visible_devices(runtime, code, name):
    library = runtime(RUNTIME.format(code=code, name=name, text="what the runtime says"))
    reason = reason_with(library)
    assert f"hipInit of {library} failed with hipError{name} (what the runtime says)" in reason
    assert "HIP_VISIBLE_DEVICES" in reason


def test_error_text_equal_to_its_name_is_not_repeated(runtime):
    reason = reason_with(runtime(RUNTIME.format(code=999, name="Unknown", text="hipErrorUnknown")))
    assert reason.count("hipErrorUnknown") == 1


def test_old_runtime_error_asks_for_an_update(runtime):
    reason = reason_with(runtime(RUNTIME.format(code=0, name="Success", text="no error")))
    assert "has no function hip" in reason
    assert "older than HIP 5.2" in reason


def test_unloadable_library_error_names_the_variable(tmp_path):
    reason = reason_with(tmp_path / "nothing.so")
    assert reason.startswith(f"ENTREPOT_HIP_LIBRARY is {tmp_path}/nothing.so, which does not load:")


def test_missing_hip_device_error_has_the_reason(runtime):
    library = runtime(RUNTIME.format(code=100, name="NoDevice", text="no device"))
    code = (
        "import entrepot as ep\n"
        "try: ep.device('hip:0')\n"
        "except ep.DeviceError as error: print(error)"
    )
    assert "hipErrorNoDevice" in reason_with(library, code)


def test_debians_runtime_without_a_device_is_an_ordinary_absence():
    reason = {name: reason for name, _, reason in core.backends()}["hip"]
    if "libamdhip64" not in reason or "failed" not in reason:
        pytest.skip(f"no runtime without a device is here: {reason}")
    assert "the runtime sees no device" in reason
