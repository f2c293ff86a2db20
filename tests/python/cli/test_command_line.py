"""The command ``entrepot``: its output, its streams and its exit status."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

import entrepot as ep
from entrepot import cli
from support.processes import completed, entrepot


def test_version_option_prints_package_version():
    done = entrepot("--version")
    assert (done.returncode, done.stdout) == (0, f"entrepot {ep.__version__}\n")


@pytest.mark.parametrize(
    ("option", "file"),
    [
        ("--include-dir", "entrepot/python/c_api.h"),
        ("--cmake-dir", "entrepotConfig.cmake"),
        ("--pkg-config", "entrepot.pc"),
    ],
)
def test_folder_option_prints_one_unbroken_line(option, file):
    done = entrepot(option, env={"COLUMNS": "20", "PATH": ""})
    assert done.returncode == 0
    assert (Path(done.stdout.rstrip("\n")) / file).is_file()


def test_get_include_is_the_printed_folder():
    assert entrepot("--include-dir").stdout == f"{ep.get_include()}\n"


def test_help_names_every_command_and_the_statuses():
    done = entrepot("--help")
    assert done.returncode == 0
    assert all(f"\n    {name} " in done.stdout for name in cli.COMMANDS)
    assert "Exit status" in done.stdout


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_command_has_help(command):
    done = entrepot(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: entrepot {command}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "required: COMMAND"),
        (("harbour",), "choose from"),
        (("devices", "--fast"), "unrecognized arguments: --fast"),
    ],
    ids=["none", "unknown", "option"],
)
def test_wrong_command_line_prints_the_reason_on_stderr(arguments, words):
    done = entrepot(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.startswith("usage: entrepot")


def test_devices_lists_each_device_and_every_backend():
    done = entrepot("devices")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for device in ep.devices():
        assert any(line.startswith(str(device)) for line in lines)
    for backend in ("sycl", "cuda", "hip", "host"):
        row = next(
            line
            for line in lines
            if line.startswith(backend + " ") and (" present " in line or " absent " in line)
        )
        assert len(row.split()) > 2, "a backend is absent or present for a reason"


UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def bytes_of(cell: str) -> float:
    number, unit = cell.split()
    return float(number) * UNITS[unit]


def rows_of(text: str) -> list[dict[str, str]]:
    """Cells of the first table by column name. A name's underline has the column's width."""
    headers, underline, *lines = text.split("\n\n")[0].splitlines()
    columns = [slice(*found.span()) for found in re.finditer("-+", underline)]
    return [{headers[column].strip(): line[column].strip() for column in columns} for line in lines]


def test_devices_lists_properties():
    rows = rows_of(entrepot("devices").stdout)
    assert [row["device"] for row in rows] == [str(device) for device in ep.devices()]
    for row, device in zip(rows, ep.devices(), strict=True):
        assert (row["type"], row["name"], row["driver"]) == (
            device.device_type,
            device.name,
            device.driver_version,
        )
        assert bytes_of(row["memory"]) == pytest.approx(device.global_mem_size, rel=0.006), (
            "three digits are shown"
        )
        assert bytes_of(row["local memory"]) == pytest.approx(device.local_mem_size, rel=0.006)
        assert int(row["units"]) == device.max_compute_units
        for column, words in (("kinds", "usm_{}_allocations"), ("floats", "{}")):
            known = ("host", "device", "shared") if column == "kinds" else ("fp64", "fp16")
            has = [word for word in known if getattr(device, "has_aspect_" + words.format(word))]
            assert row[column].split() == (has or ["-"])
        if device.partitions and device.partition_max_sub_devices > 1:
            number, _, ways = row["sub-devices"].partition(", by ")
            assert (int(number), ways.split(" or ")) == (
                device.partition_max_sub_devices,
                device.partitions,
            )
        else:
            assert row["sub-devices"] == "-"


def test_closed_output_pipe_is_no_error():
    with subprocess.Popen(
        [sys.executable, "-m", "entrepot", "devices"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + 13


def test_installed_script_prints_version():
    script = Path(sys.executable).with_name("entrepot")
    if not script.exists():
        pytest.skip("entrepot was not installed by pip into this environment")
    done = completed([script, "--version"], timeout=60)
    assert done.stdout == f"entrepot {ep.__version__}\n"


def test_info_has_what_a_bug_report_needs():
    done = entrepot(
        "info",
        env={
            **os.environ,
            "ENTREPOT_LOG": "",
            "NVIDIA_API_KEY": "secret",
            "ENTREPOT_KEY": "secret",
        },
    )
    assert (done.returncode, done.stderr) == (0, "")
    sections = done.stdout.split("\n\n")
    assert len(sections) == 5
    versions, devices, backends, variables, packages = sections
    assert f"entrepot  {ep.__version__} in " in versions
    assert re.search(r"^built by +\S+ \d", versions, re.MULTILINE)
    assert platform.python_version() in versions
    assert re.search(r"^host +cpu ", devices, re.MULTILINE)
    assert re.search(r"^host +present", backends, re.MULTILINE)
    assert re.search(r"^ENTREPOT_LOG\b", variables, re.MULTILINE)
    assert re.search(rf"^rich +{importlib.metadata.version('rich')}$", packages, re.MULTILINE)
    assert re.search(r"^ENTREPOT_KEY +\(hidden\)$", variables, re.MULTILINE)
    assert "secret" not in done.stdout


def test_info_imports_no_array_library():
    program = (
        "import sys; from entrepot.cli import main; main(['info']); "
        "print(*sys.modules, file=sys.stderr)"
    )
    loaded = completed([sys.executable, "-c", program]).stderr.split()
    assert "entrepot.info" in loaded
    assert not {"numpy", "dpctl", "torch", "jax", "cupy"} & set(loaded)
