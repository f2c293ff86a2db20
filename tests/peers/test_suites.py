"""The peers' own test suites with Entrepot's drop-in, each in a process of its own: it replaces
a module of the peer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.dpctl
@pytest.mark.sycl
def test_dpctl_memory() -> None:
    script = Path(__file__).with_name("dpctl_suite.py")
    run = subprocess.run(
        [sys.executable, script, "-q"], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
