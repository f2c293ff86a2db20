"""Entrepot passes every clause, known defects of libraries are found by one, and the page lists
them all."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from entrepot.check import Result
from entrepot.check.clauses import FAILED, PASSED
from entrepot.check.protocols import every_clause
from peers.conformance import (
    CUDA_TARGETS,
    DEFECTS,
    PAGES,
    TARGETS,
    Defect,
    Page,
    Target,
    main,
    named,
    table,
    target,
)


@functools.cache
def result_of(row: Target) -> Result:
    return row.check()


def case(row: Target, *values: object, id: str) -> object:
    return pytest.param(*values, id=id, marks=[getattr(pytest.mark, need) for need in row.needs])


ALL = (*TARGETS, *CUDA_TARGETS)
OURS = [row for row in ALL if row.library == "Entrepot"]


@pytest.mark.parametrize("row", [case(row, row, id=row.text) for row in OURS])
def test_entrepot_keeps_every_clause(row: Target) -> None:
    result = result_of(row)
    assert {outcome.clause: outcome.found for outcome in result.failed} == {}
    assert sum(outcome.status == PASSED for outcome in result.outcomes) > 30


@pytest.mark.parametrize(
    "defect", [case(named(d.target), d, id=f"{d.target} {d.what}") for d in DEFECTS]
)
def test_known_defect_is_found(defect: Defect) -> None:
    found = {outcome.clause: outcome for outcome in result_of(named(defect.target)).outcomes}[
        defect.clause
    ]
    if defect.is_fixed:
        assert found.status != FAILED, "the version that fixes it is wrong"
    else:
        assert found.status in (defect.status, FAILED), (
            found
        )  # older versions may do worse than refuse


@pytest.mark.parametrize(
    "row", [case(row, row, id=row.text) for row in ALL if row.library != "Entrepot"]
)
def test_target_passes_at_least_one_clause(row: Target) -> None:
    assert any(outcome.status == PASSED for outcome in result_of(row).outcomes)


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES.values()])
def test_page_lists_targets_and_defects(page: Page) -> None:
    text = page.path.read_text(encoding="utf-8")
    for row in page.targets:
        assert f"`{row.text}`" in text, f"run `{page.command}`"
    assert f"{len(every_clause())} clauses:" in text, f"run `{page.command}`"
    for defect in DEFECTS:
        if defect.status == FAILED and named(defect.target) in page.targets:
            assert f"| `{defect.clause}` |" in text, f"run `{page.command}`"


def test_tables_escape_cell_separators() -> None:
    assert table(["a"], [["x|y at 0x7f00"]]) == "| a |\n| --- |\n| x\\|y at an address |"


def test_page_without_a_library_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    absent = Page("absent", "Absent", "none", (target("absent", "absent:x"),), lambda: "")
    monkeypatch.setattr(Page, "path", tmp_path / "absent.md")
    monkeypatch.setitem(PAGES, "host", absent)
    assert main(["host"]) == 1
    error = capsys.readouterr().err
    assert "No module named 'absent'" in error and "stays as it is" in error
    assert not (tmp_path / "absent.md").exists()


def test_unknown_page_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cude"])
    assert "invalid choice: 'cude'" in capsys.readouterr().err
