"""The command ``entrepot``: what it prints, where to, and with which status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import entrepot as ep
from entrepot import cli


def run(*arguments: str, **keywords) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "entrepot", *arguments], capture_output=True, text=True, timeout=300, check=False, **keywords
    )


def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"entrepot {ep.__version__}\n")


def test_cmake_dir_is_one_unbroken_line_and_exists():
    done = run("--cmake-dir", env={"COLUMNS": "20", "PATH": ""})
    assert done.returncode == 0
    assert (Path(done.stdout.rstrip("\n")) / "entrepotConfig.cmake").is_file()


def test_help_names_every_command_and_the_statuses():
    done = run("--help")
    assert done.returncode == 0
    assert all(f"\n    {name} " in done.stdout for name in cli.COMMANDS)
    assert "Exit status" in done.stdout


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help(command):
    done = run(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: entrepot {command}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "required: COMMAND"), (("harbour",), "choose from"), (("devices", "--fast"), "unrecognized arguments: --fast")],
    ids=["none", "unknown", "option"],
)
def test_a_wrong_command_line_says_why_on_stderr(arguments, words):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.startswith("usage: entrepot")


def test_devices_lists_each_device_and_every_backend():
    done = run("devices")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for device in ep.devices():
        assert any(line.startswith(str(device)) for line in lines)
    for backend in ("sycl", "cuda", "hip", "host"):
        row = next(line for line in lines if line.startswith(backend + " ") and (" present " in line or " absent " in line))
        assert len(row.split()) > 2, "a backend is absent or present for a reason"


def test_a_reader_that_stops_reading_is_no_error():
    with subprocess.Popen(
        [sys.executable, "-m", "entrepot", "devices"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + 13


def test_the_installed_script_is_the_same():
    script = Path(sys.executable).with_name("entrepot")
    if not script.exists():
        pytest.skip("entrepot was not installed by pip into this environment")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"entrepot {ep.__version__}\n"
