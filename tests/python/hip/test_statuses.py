"""Every function of the HIP runtime, called once here and once through HIP Python, on AMD's library without a device."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from entrepot import hip

ROOT = Path(__file__).resolve().parents[3]

# What HIP Python answers where we have a status; each a defect of its own.
THEIRS = {
    "ValueError": "it makes an enum of what it has not set and C has not written",
    "TypeError": "it takes an array whose length is another argument for one value, and has C write any number of them",
    "RuntimeError: failed to dlsym": "it knows HIP 5's functions by HIP 6's names alone",
    "AttributeError": "it has no such function",
}


def calls() -> list[tuple[str, list[str]]]:
    """(name in HIP Python, what each argument is)."""
    described = json.loads((ROOT / "tools/bindgen/libraries/hip.json").read_text())["functions"]
    found = []
    for each in described:
        function = getattr(hip, each["name"])
        types = {parameter["name"].replace("from", "from_"): parameter["type"] for parameter in each["parameters"]}
        kinds = [
            {"scalar": "number", "enum": types[name].get("name"), "record": types[name].get("name")}.get(
                types[name]["kind"], "null"
            )
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is not parameter.KEYWORD_ONLY
        ]
        found.append((each["name"].replace("R0600", ""), kinds))
    return found


def outcomes(module: str) -> dict[str, str]:
    worker = Path(__file__).with_name("statuses.py")
    done = subprocess.run(
        [sys.executable, worker, module], input=json.dumps(calls()), capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_missing(outcome: str) -> bool:
    return outcome.startswith(("LibraryError", "RuntimeError: failed to dlsym"))


@pytest.fixture(scope="module")
def ours():
    return outcomes("entrepot.hip")


@pytest.mark.hip_library
def test_no_call_ends_but_with_a_status(ours):
    """Where C itself does not bear NULL, the process dies of it; nothing of ours does."""
    odd = {
        name: outcome
        for name, outcome in ours.items()
        if not outcome.startswith(("status", "signal")) and not is_missing(outcome)
    }
    assert odd == {}
    assert sum(outcome.startswith("status") for outcome in ours.values()) > 300


@pytest.mark.hip_library
@pytest.mark.hip_python
def test_the_same_as_hip_python(ours):
    theirs = outcomes("rocm.bindings.hip")
    different = {
        name: (mine, theirs[name])
        for name, mine in ours.items()
        if mine != theirs[name]
        and not (is_missing(mine) and is_missing(theirs[name]))
        and not any(theirs[name].startswith(reason) for reason in THEIRS)
    }
    assert different == {}
