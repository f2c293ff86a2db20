"""Tables for the terminal, with rich and without."""

from __future__ import annotations

import sys

import pytest

from entrepot import _table

HEADERS, ROWS = ["name", "what"], [["[bold]", "a much longer cell"], ["b", ""]]


def test_piped_table_is_aligned_and_markup_is_literal(capsys):
    _table.show(HEADERS, ROWS)
    assert capsys.readouterr().out == (
        "name    what\n------  ------------------\n[bold]  a much longer cell\nb\n"
    )  # fmt: skip


def test_table_without_rich_is_plain_text(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    _table.show(HEADERS, ROWS)
    assert capsys.readouterr().out.startswith("name    what\n------")


def test_narrow_terminal_folds_cells(capsys, monkeypatch):
    pytest.importorskip("rich")
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "20"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERM", "xterm")
    _table.show(HEADERS, ROWS)
    out = capsys.readouterr().out
    assert "[bold]" in out
    assert "…" not in out
    assert (
        "".join(line[8:].strip() for line in out.splitlines()[2:4]).replace(" ", "")
        == "amuchlongercell"
    )
