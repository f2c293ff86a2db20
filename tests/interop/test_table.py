"""Rows that are put into a page of the matrix, and rows that are refused.

The ways of the builtins stand for all ways, the host for a GPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import entrepot as ep
from interop.pairs import columns
from interop.table import BEGIN, CANNOT, END, FAILS, HOLDS, Matrix, Refused, Row, rows_of, ways_of
from support.places import HOST
from support.processes import completed

pytestmark = [pytest.mark.host, pytest.mark.numpy]

ROOT = Path(__file__).parents[2]
LIBRARY, DEVICE = "builtin_buffers", "host"
ROW: Row = (LIBRARY, "memoryview(a)", "host-host")
GONE: Row = (LIBRARY, "asarray(a way of yesterday)", "host-host")


def full() -> Matrix:
    """All checks of all rows, as if every one had passed."""
    matrix = Matrix()
    for way in ways_of(LIBRARY):
        for check, _ in columns(way, HOST):
            cannot = way.cannot.get(check)
            matrix.add(
                (LIBRARY, way.name, str(HOST)),
                check,
                CANNOT if cannot else HOLDS,
                cannot.reason if cannot else None,
            )
    return matrix


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """With a row of an existing way, and one of a former way."""
    page = tmp_path / "page.md"
    rows = [
        "| library | way | memory |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in (ROW, GONE)),
    ]
    page.write_text(
        "\n".join(["before", BEGIN, *rows, "", "- of yesterday", END, "- after", ""]),
        encoding="utf-8",
    )
    return page


def test_table_is_written_between_the_markers(page: Path) -> None:
    matrix = full()
    matrix.put_into(page, DEVICE)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\nPrinted on {ep.device(DEVICE).name} (driver ")
    assert text.endswith(f"\n\n{END}\n- after\n")
    assert "of yesterday" not in text
    assert (
        rows_of(text)
        == matrix.rows()
        == sorted((LIBRARY, way.name, str(HOST)) for way in ways_of(LIBRARY))
    )
    matrix.put_into(page, DEVICE)
    assert page.read_text(encoding="utf-8") == text


def test_reasons_belong_to_the_rows_shown() -> None:
    matrix = full()
    matrix.add((LIBRARY, "a way", "cuda:0-host"), "whole", HOLDS)
    matrix.add((LIBRARY, "a way", "cuda:0-host"), "offset", CANNOT, "it has no offsets")
    matrix.add((LIBRARY, "no way", "cuda:0-host"), "whole", CANNOT, "it has nothing")
    assert [line for line in matrix.lines("cuda:0-") if line.startswith("- ")] == [
        f"- {LIBRARY}: it has no offsets"
    ]


def of_another_device(matrix: Matrix) -> None:
    matrix.cells = {
        (library, way, "opencl:cpu-host"): cells
        for (library, way, _), cells in matrix.cells.items()
    }


def only_what_cannot_be(matrix: Matrix) -> None:
    """A machine without the device: only ways that cannot be tried are known."""
    matrix.cells = {ROW: {"read-only": [CANNOT]}}


def with_a_red_cell(matrix: Matrix) -> None:
    matrix.add(ROW, "dtype int32", FAILS)


def without_a_row(matrix: Matrix) -> None:
    del matrix.cells[ROW]


def without_a_check(matrix: Matrix) -> None:
    del matrix.cells[ROW]["offset"]


def without_a_dtype(matrix: Matrix) -> None:
    matrix.cells[ROW]["dtypes"].pop()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (of_another_device, "no check of memory of host has run"),
        (only_what_cannot_be, "no check of memory of host has run"),
        (with_a_red_cell, "a check fails of builtin_buffers's memoryview"),
        (without_a_row, "not all checks have run of builtin_buffers's memoryview"),
        (without_a_check, "not all checks have run of builtin_buffers's memoryview"),
        (without_a_dtype, "not all checks have run of builtin_buffers's memoryview"),
    ],
)
def test_incomplete_table_leaves_page_unchanged(
    page: Path, spoil: Callable[[Matrix], None], says: str
) -> None:
    matrix, text = full(), page.read_text(encoding="utf-8")
    spoil(matrix)
    with pytest.raises(Refused, match=says):
        matrix.put_into(page, DEVICE)
    assert page.read_text(encoding="utf-8") == text


def test_page_without_markers_is_refused(page: Path) -> None:
    page.write_text(f"| library |\n{BEGIN}\n", encoding="utf-8")
    with pytest.raises(Refused, match=f"it has no {BEGIN} and {END}"):
        full().put_into(page, DEVICE)
    assert page.read_text(encoding="utf-8") == f"| library |\n{BEGIN}\n"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-o",
        "minversion=7",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    return completed(command, cwd=ROOT)


def test_refused_run_fails_with_the_reason(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    done = run("tests/interop/test_builtin_buffers.py", "-k", "bytearray", f"--matrix={page}")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert f"{page} stays as it is: no check of memory of cuda:0 has run" in done.stdout
    assert page.read_text(encoding="utf-8") == text


def test_folder_as_page_is_a_usage_error() -> None:
    done = run(
        "tests/interop/test_builtin_buffers.py", "-k", "bytearray", "--matrix", "tests/interop"
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout
    assert "--matrix=tests/interop: that is no page" in done.stderr
