"""The page of the matrix on CUDA has a row for each existing way, no other row, and a column for
each check."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.pairs import In, Out, Peer, columns
from interop.table import table_of, ways_of
from interop.test_between_peers import PEERS
from support.places import CUDA

PAGE = Path(__file__).parents[2] / "docs" / "cuda_matrix.md"
COMMAND = "pytest tests/interop --matrix=docs/cuda_matrix.md"
FIRST = ("library", "way", "memory")


def table() -> list[list[str]]:
    return table_of(PAGE.read_text(encoding="utf-8"))


@pytest.mark.host
@pytest.mark.numpy
@pytest.mark.parametrize(
    "peer",
    [
        pytest.param(peer, marks=[mark for mark in marks if mark.name != "cuda"])
        for peer, marks in PEERS.items()
    ],
)
def test_matrix_page_has_a_row_for_each_route(peer: str) -> None:
    try:
        ways = ways_of(peer)
    except pytest.skip.Exception as absent:
        pytest.skip(str(absent))
    here = {(way.name, str(place)) for way in ways for place in way.places if place in CUDA}
    there = {(way, place) for library, way, place, *_ in table()[1:] if library == peer}
    assert there == here, f"print the page again: {COMMAND}"


@pytest.mark.host
@pytest.mark.numpy
def test_matrix_page_has_a_column_for_each_check() -> None:
    asked = {
        name
        for way in (In, Out)
        for name, _ in columns(way("", Peer(), print, CUDA, at_once=True), CUDA[0])
    }
    assert set(table()[0]) == {
        *FIRST,
        *(name for name in asked if not name.startswith("dtype ")),
        "dtypes",
    }


def test_page_lists_known_peers_only() -> None:
    assert {library for library, *_ in table()[1:]} <= set(PEERS)
    assert COMMAND in PAGE.read_text(encoding="utf-8")
