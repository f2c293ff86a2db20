"""tools/system_packages.sh: what it says of missing packages, and when it installs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools/system_packages.sh"


def run(tmp_path: Path, thing: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs the script where no program is installed but an apt-get that only notes its calls."""
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    apt.chmod(0o755)
    return subprocess.run(
        ["/bin/bash", SCRIPT, thing],
        env={"PATH": str(tmp_path), **environment},
        capture_output=True,
        text=True,
    )


def test_missing_package_is_named_and_not_installed(tmp_path: Path) -> None:
    done = run(tmp_path, "doxygen")
    assert done.returncode == 1
    assert "apt-get install doxygen" in done.stderr
    assert not (tmp_path / "calls").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs packages")
def test_installed_package_is_named_first(tmp_path: Path) -> None:
    done = run(tmp_path, "doxygen", SYSTEM_PACKAGES="install")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Installing Debian packages: doxygen")
    assert "doxygen" in (tmp_path / "calls").read_text().splitlines()[-1]


def test_unknown_thing_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, "fortran").returncode == 2
